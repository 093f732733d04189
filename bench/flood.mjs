// An agent that prints a great deal: `flood.mjs BYTES lines|line|text PEAKFILE`. Ends with a claim and notes its parent's peak memory.
import { readFileSync, writeFileSync, writeSync } from 'node:fs';

const [, , bytes, kind, peakFile] = process.argv;
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
const words = 'lorem ipsum <promise>DONE</promise> dolor sit amet '.repeat(40);
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

if (kind === 'text') {
  const chunk = `${words}\n`.repeat(500);
  for (let done = 0; done < Number(bytes); done += chunk.length) print(chunk);
  print('<response>DONE</response>\n');
} else if (kind === 'line') {
  print(toolResult('x'.repeat(Number(bytes))));
} else {
  const mixed =
    assistant([{ type: 'text', text: 'working on it' }]) +
    assistant([{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls' } }]) +
    toolResult(words) +
    toolResult(words.repeat(50));
  const chunk = mixed.repeat(5);
  for (let done = 0; done < Number(bytes); done += chunk.length) print(chunk);
}
if (kind !== 'text') {
  print(assistant([{ type: 'text', text: 'Finished. <response>DONE</response>' }]));
  print(
    record({
      type: 'result',
      subtype: 'success',
      is_error: false,
      num_turns: 1,
      result: '',
      total_cost_usd: 0.01,
      usage: {},
      modelUsage: {},
    }),
  );
}
// This process is the agent's shell's successor: its parent is Ralph, or the shell of the comparison.
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${process.ppid}/status`, 'utf8'));
writeFileSync(peakFile, String(Math.round(Number(peak?.[1] ?? 0) / 1024)));
