/** Ralph's loop with a real agent: the real bin in the session's place, and everything that it left to look at. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunEvent } from '../../../src/domain/run/event.ts';
import type { TurnOutcome } from '../../../src/domain/run/evidence.ts';
import type { LoopResult } from '../../../src/domain/run/result.ts';
import type { AgentEvent } from '../../../src/domain/turn/agent-event.ts';
import { type Running, startRalph } from '../ralph.ts';
import { hostCommand } from './host.ts';
import type { HostSession } from './session.ts';

export interface LoopOptions {
  readonly args?: readonly string[];
  /** Into settings.json, beside the agent. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly prompt?: string;
  /** Instead of the session's own. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Loop extends Omit<Running, 'finished'> {
  readonly finished: Promise<LoopEnd>;
}

export interface LoopEnd {
  readonly code: number | null;
  /** What --json printed. */
  readonly result: LoopResult;
  readonly stderr: string;
  readonly ledger: readonly RunEvent[];
  /** What the agent printed, an iteration each. */
  readonly raw: readonly string[];
}

/** The prompt names the tag, as every prompt of a loop does: an echo of it must not count. */
export const PROMPT = 'Do the scripted task. When it is done, say <response>DONE</response>';

export function startLoop(session: HostSession, options: LoopOptions = {}): Loop {
  const { place } = session;
  const folder = join(place.repo, '.ralph');
  mkdirSync(folder);
  const { flags = session.flags } = options;
  const agent = { command: hostCommand(session.host.name), flags };
  writeFileSync(join(folder, 'settings.json'), JSON.stringify({ agent, ...options.settings }));
  writeFileSync(join(folder, 'PROMPT.md'), options.prompt ?? PROMPT);
  const args = ['run', '-f', '.ralph/PROMPT.md', '--permissions', 'skip', '--json', ...(options.args ?? [])];
  const env = { ...place.env, ...session.env, ...options.env };
  const running = startRalph(args, { cwd: place.repo, env });
  const finished = running.finished.then(({ code, stdout, stderr }) => ({
    code,
    result: parsed(stdout, stderr),
    stderr,
    ...kept(join(folder, 'runs')),
  }));
  finished.catch(() => {}); // told to whoever awaits it
  return { ...running, finished };
}

export function runLoop(session: HostSession, options: LoopOptions = {}): Promise<LoopEnd> {
  return startLoop(session, options).finished;
}

/** What the agent's stream said, as the adapter read it. */
export function agentEvents(ledger: readonly RunEvent[]): readonly AgentEvent[] {
  return ledger.flatMap(event => (event.type === 'agent' ? [event.event] : []));
}

/** How each turn ended. */
export function outcomes(ledger: readonly RunEvent[]): readonly TurnOutcome[] {
  return ledger.flatMap(event =>
    event.type === 'agent-ended' && event.purpose === 'work' ? [event.outcome] : [],
  );
}

function parsed(stdout: string, stderr: string): LoopResult {
  try {
    return JSON.parse(stdout) as LoopResult;
  } catch {
    throw new Error(`--json printed no result: ${stdout}\n${stderr}`);
  }
}

function kept(runs: string): Pick<LoopEnd, 'ledger' | 'raw'> {
  const run = names(runs)[0];
  if (run === undefined) return { ledger: [], raw: [] }; // refused before anything was written
  const lines = readFileSync(join(runs, run, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean);
  const iterations = join(runs, run, 'iterations');
  return {
    ledger: lines.map(line => JSON.parse(line) as RunEvent),
    raw: names(iterations).map(each => readFileSync(join(iterations, each, 'agent.jsonl'), 'utf8')),
  };
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
