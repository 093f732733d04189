// An agent for fleets: what it does in a turn is a shell script in the folder FLEET_AGENT, `turn-1`, `turn-2` and so on; the last one stays.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env.FLEET_AGENT ?? '';
readFileSync(0, 'utf8');
const isText = !process.argv.includes('stream-json');
if (isText) {
  process.stdout.write('Commit what was done\n');
  process.exit(0);
}
const print = record => process.stdout.write(`${JSON.stringify(record)}\n`);
const model = 'claude-opus-5-5';
const usage = {
  input_tokens: 100,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 20,
};
print({ type: 'system', subtype: 'init', session_id: 'fleet', model });
const log = join(folder, 'turns.log');
appendFileSync(log, `${JSON.stringify({ cwd: process.cwd(), pid: process.pid })}\n`);
let number = readFileSync(log, 'utf8').trim().split('\n').length;
while (number > 1 && !existsSync(join(folder, `turn-${number}`))) number--;
const script = join(folder, `turn-${number}`);
const text = existsSync(script) ? readFileSync(script, 'utf8') : 'echo done > work.txt';
print({
  type: 'assistant',
  message: {
    id: 'm1',
    role: 'assistant',
    model,
    content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: text } }],
    usage,
  },
  parent_tool_use_id: null,
});
execFileSync('sh', ['-c', text], { stdio: ['ignore', 'ignore', 'inherit'] });
print({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] },
  parent_tool_use_id: null,
});
const said = 'It is done.\n<promise>COMPLETE</promise>';
print({
  type: 'assistant',
  message: { id: 'm2', role: 'assistant', model, content: [{ type: 'text', text: said }], usage },
  parent_tool_use_id: null,
});
print({
  type: 'result',
  subtype: 'success',
  is_error: false,
  num_turns: 2,
  result: said,
  total_cost_usd: 0.1,
  usage,
});
