#!/usr/bin/env node
/**
 * An agent without a model: plays a scenario and speaks Claude Code's stream format while it does. It is a process of
 * its own, it really edits files and runs commands, and Ralph cannot tell it from the real thing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { chooseTurn, type Scenario, type Step } from './scenario.ts';

const [scenarioFile = '', pace = '0', ...flags] = process.argv.slice(2);
const scenario = JSON.parse(readFileSync(scenarioFile, 'utf8')) as Scenario;
const prompt = readFileSync(0, 'utf8');
const HOUR = 3_600_000;
/** A megabyte. */
const FLOOD = `${'flood '.repeat(170)}\n`.repeat(1024);
let ids = 0;
let tokens = 0;

const isTextMode = flags.includes('text');
if (isTextMode) writeSync(1, `${scenario.commitMessage}\n`);
else play();

function play(): void {
  const { steps } = chooseTurn(scenario, prompt, scenario.inOrder ? countCall() : 0);
  const cwd = process.cwd();
  print({ type: 'system', subtype: 'init', session_id: 'scripted', model: 'scripted', cwd, tools: [] });
  for (const step of steps) {
    pause(Number(pace));
    tokens += 900;
    act(step);
  }
  end({ is_error: false, num_turns: steps.length, result: '', total_cost_usd: tokens * 0.000004 });
}

function end(how: Record<string, unknown>): void {
  print({ type: 'result', subtype: 'success', ...how, usage: usage(), modelUsage: {} });
}

function act(step: Step): void {
  if ('say' in step) assistant({ type: 'text', text: step.say });
  else if ('todo' in step)
    tool('TodoWrite', { todos: step.todo }, () => ({ text: 'Todos have been modified' }));
  else if ('read' in step)
    tool('Read', { file_path: step.read }, () => ({ text: readFileSync(step.read, 'utf8') }));
  else if ('shell' in step) tool('Bash', { command: step.shell }, () => shell(step.shell));
  else if ('write' in step) tool('Write', { file_path: step.write }, () => write(step));
  else if ('limit' in step) limited(step.limit);
  else if ('hang' in step) pause(HOUR);
  else if ('crash' in step) process.exit(step.crash);
  else if ('flood' in step) tool('Bash', { command: 'yes' }, () => ({ text: FLOOD.repeat(step.flood) }));
  else if ('echo' in step) {
    assistant({ type: 'thinking', thinking: prompt });
    tool('Bash', { command: 'cat PROMPT' }, () => ({ text: prompt }));
  } else
    tool('Edit', { file_path: step.replace, old_string: step.old, new_string: step.new }, () => edit(step));
}

interface ToolResult {
  readonly text: string;
  readonly failed?: boolean;
}

function tool(name: string, input: Record<string, unknown>, run: () => ToolResult): void {
  const id = `toolu_${++ids}`;
  assistant({ type: 'tool_use', id, name, input });
  pause(Number(pace));
  const { text, failed = false } = run();
  const content = [{ type: 'tool_result', tool_use_id: id, content: text, is_error: failed }];
  const message = { role: 'user', content };
  print({ type: 'user', message, parent_tool_use_id: null, session_id: 'scripted' });
}

/** Which call of this agent it is; the count is kept beside the scenario. */
function countCall(): number {
  const file = `${scenarioFile}.calls`;
  const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  writeFileSync(file, String(before + 1));
  return before;
}

function write(step: Extract<Step, { write: string }>): ToolResult {
  mkdirSync(dirname(step.write), { recursive: true });
  writeFileSync(step.write, step.content);
  return { text: `The file ${step.write} has been written.` };
}

function limited(seconds: number): void {
  const resetsAt = Math.ceil(Date.now() / 1000) + seconds;
  const info = { status: 'rejected', resetsAt, rateLimitType: 'five_hour' };
  print({ type: 'rate_limit_event', rate_limit_info: info, session_id: 'scripted' });
  const result = "You've hit your 5-hour limit";
  end({ is_error: true, num_turns: 1, api_error_status: 429, result, total_cost_usd: 0 });
  process.exit(1);
}

function shell(command: string): ToolResult {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  return { text: `${stdout}${stderr}`, failed: status !== 0 };
}

function edit(step: Extract<Step, { replace: string }>): ToolResult {
  const before = readFileSync(step.replace, 'utf8');
  if (!before.includes(step.old))
    return { text: `${step.replace}: the text to replace is not there`, failed: true };
  writeFileSync(
    step.replace,
    before.replace(step.old, () => step.new),
  );
  return { text: `The file ${step.replace} has been updated.` };
}

function assistant(block: Record<string, unknown>): void {
  const message = {
    id: `msg_${++ids}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: [block],
    usage: usage(),
  };
  print({ type: 'assistant', message, parent_tool_use_id: null, session_id: 'scripted' });
}

function usage() {
  const cached = Math.round(tokens * 0.7);
  return {
    input_tokens: tokens - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: Math.round(tokens / 20),
  };
}

function print(record: Record<string, unknown>): void {
  writeSync(1, `${JSON.stringify(record)}\n`);
}

/** So that a person can follow. */
function pause(milliseconds: number): void {
  if (milliseconds > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
