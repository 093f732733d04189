// An agent that prints a great deal: `flood.mjs BYTES KIND`. Ends with a claim.
// Kinds: `lines` and `line` as Claude Code and its relatives print, `codex`, `opencode`, `code` (lines with all that code has in
// it), `text` (plain words).
import { writeSync } from 'node:fs';

const [, , bytes, kind] = process.argv;
/** Encoded each time, as an agent must. */
const print = text => {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};
const record = value => `${JSON.stringify(value)}\n`;
/** The tag that is asked for, where it is not the agent's own word. */
const words = 'lorem ipsum <response>DONE</response> dolor sit amet '.repeat(40);
const code = '  const naïve = lines["<response>DONE</response>"] ?? `${at}\\t`; // c’est ça\n'.repeat(25);

const assistant = content =>
  record({
    type: 'assistant',
    message: { id: 'm', model: 'x', content, usage: { input_tokens: 1, output_tokens: 1 } },
    parent_tool_use_id: null,
  });
const toolResult = content =>
  record({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content, is_error: false }] },
    parent_tool_use_id: null,
  });
const claudeRecords = output =>
  assistant([{ type: 'text', text: 'working on it' }]) +
  assistant([{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls' } }]) +
  toolResult(output) +
  toolResult(output.repeat(50));
const result = {
  ...{ type: 'result', subtype: 'success', is_error: false, num_turns: 1, result: '', total_cost_usd: 0.01 },
  ...{ usage: {}, modelUsage: {} },
};
const claudeEnd = assistant([{ type: 'text', text: 'Finished. <response>DONE</response>' }]) + record(result);

const item = (type, fields) => record({ type, item: { id: 'item_1', ...fields } });
const command = { type: 'command_execution', command: "/bin/bash -lc 'cat a'" };
const codexCommand = output =>
  item('item.started', { ...command, aggregated_output: '', exit_code: null, status: 'in_progress' }) +
  item('item.completed', { ...command, aggregated_output: output, exit_code: 0, status: 'completed' });
const message = text => item('item.completed', { type: 'agent_message', text });

const part = (type, fields) => record({ type, timestamp: 1, sessionID: 's', part: fields });
const opencodeTool = output =>
  part('tool_use', {
    ...{ type: 'tool', tool: 'bash', callID: 'c' },
    state: { status: 'completed', input: { command: 'cat a' }, output, metadata: { output, exit: 0 } },
  });

/** What is printed over and over, and what is printed last. */
const KINDS = {
  lines: [claudeRecords(words).repeat(5), claudeEnd],
  code: [claudeRecords(code).repeat(5), claudeEnd],
  line: [toolResult('x'.repeat(kind === 'line' ? Number(bytes) : 0)), claudeEnd],
  codex: [
    (message('working on it') + codexCommand(words) + codexCommand(words.repeat(50))).repeat(5),
    message('Finished. <response>DONE</response>') + record({ type: 'turn.completed', usage: {} }),
  ],
  opencode: [
    (opencodeTool(words) + opencodeTool(words.repeat(25))).repeat(5),
    part('text', { type: 'text', text: 'Finished. <response>DONE</response>' }) +
      part('step_finish', { type: 'step-finish', reason: 'stop', cost: 0, tokens: {} }),
  ],
  text: [`${words.replaceAll('response', 'promise')}\n`.repeat(250), '<response>DONE</response>\n'],
};

const [over, last] = KINDS[kind];
for (let done = 0; done < Number(bytes); done += over.length) print(over);
print(last);
