// P4 to P6: what a hook costs, with no loop and with one, however long the transcript and the input.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, here, interleaved, many, ms, node } from './measure.mjs';

// What a hook in Python does at least: read the input, look for the state, leave.
const PYTHON = `import json, os, sys
data = json.load(sys.stdin)
if not os.path.exists(os.path.join(data["cwd"], ".ralph-active")): sys.exit(0)
`;

// Not a shim of a version manager.
const PYTHON_BIN = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

export function hooks(folder, quick) {
  const gate = join(here, '../plugins/claude/bin/gate.sh');
  const rounds = quick ? 3 : 5;
  const calls = quick ? 20 : 40;
  const transcript = join(folder, 'transcript.jsonl');
  const python = join(folder, 'hook.py');
  writeFileSync(python, PYTHON);
  const input = (name, more = {}) => {
    const file = join(folder, name);
    const base = {
      session_id: 's',
      prompt_id: 'p',
      cwd: folder,
      transcript_path: transcript,
      last_assistant_message: 'x',
    };
    writeFileSync(file, JSON.stringify({ ...base, tool_calls: [{}], ...more }));
    return file;
  };
  const small = input('small.json');
  const big = input('big.json', { tool_calls: [{ tool_response: 'x'.repeat(1e6) }] });
  const call =
    (command, file = small) =>
    () =>
      many(calls, ['sh', '-c', `${command} < '${file}'`], {
        env: { ...env, CLAUDE_PROJECT_DIR: folder },
        cwd: folder,
      });
  const idle = interleaved(rounds, {
    shell: call('sh -c :'),
    python: call(`'${PYTHON_BIN}' '${python}'`),
    tool: call(`sh '${gate}' claude PostToolBatch`),
    big: call(`sh '${gate}' claude PostToolBatch`, big),
  });
  const empty = idle.shell.wall;
  const own = hook => hook.wall - empty / 2; // the outer shell of the measurement is not the hook's
  const rows = [
    {
      id: 'P4',
      what: 'no loop: a tool call',
      floor: 'one millisecond',
      ours: ms(own(idle.tool)),
      value: own(idle.tool) * 1000,
      unit: 'ms',
      limit: 1,
    },
    {
      id: 'P6',
      what: 'no loop: a tool call',
      floor: `a hook in Python ${ms(own(idle.python))}`,
      ours: ms(own(idle.tool)),
      value: own(idle.tool) / own(idle.python),
      limit: 0.12,
    },
    {
      id: 'P6',
      what: 'input of 1 MB',
      floor: `of 4 kB ${ms(idle.tool.wall)}`,
      ours: ms(idle.big.wall),
      value: idle.big.wall / idle.tool.wall,
      limit: 1.2,
    },
  ];
  mkdirSync(join(folder, '.claude'));
  const state =
    '---\niteration: 1\nmax_iterations: 0\ncompletion_promise: "DONE"\nsession_id: "s"\nprompt_id: "p"\n---\ntask';
  writeFileSync(join(folder, '.claude/ralph-loop.local.md'), state);
  const line = `${JSON.stringify({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text: 'x' }] } })}\n`;
  const stops = [0.1, 100].map(megabytes => {
    writeFileSync(transcript, `${'\n'.repeat(megabytes * 1e6)}${line}`);
    return interleaved(rounds, { node: call(`'${node}' -e 0`), stop: call(`sh '${gate}' claude Stop`) });
  });
  const [short, long] = stops;
  return [
    ...rows,
    {
      id: 'P5',
      what: 'a loop: Stop, decision',
      floor: `an empty node ${ms(own(long.node))}`,
      ours: ms(own(long.stop)),
      value: own(long.stop) / own(long.node),
      limit: 1.5,
    },
    {
      id: 'P5',
      what: 'a loop: Stop, transcript of 100 MB',
      floor: `of 0.1 MB ${ms(short.stop.wall)}`,
      ours: ms(long.stop.wall),
      value: long.stop.wall / long.node.wall / (short.stop.wall / short.node.wall),
      limit: 1.1,
    },
  ];
}
