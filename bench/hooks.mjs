// P4 to P6: what a hook costs, with no loop and with one, however long the transcript and the input.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { servedCalls } from './hook-server.mjs';
import { env, here, interleaved, many, ms, node, script } from './measure.mjs';

const bin = join(here, '../plugins/claude/bin');
const gate = join(bin, 'gate.sh');

// What a hook in Python does at least: read the input, look for the state, leave.
const PYTHON = `import json, os, sys
data = json.load(sys.stdin)
if not os.path.exists(os.path.join(data["cwd"], ".ralph-active")): sys.exit(0)
`;

// Not a shim of a version manager.
const PYTHON_BIN = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

// A stop hook in bash and jq, as they are usually written: the last of all the assistant's lines, a counter in a file.
const BASH_AND_JQ = `#!/bin/bash
set -euo pipefail
input=$(cat)
[ -f "$CLAUDE_PROJECT_DIR/loop.md" ] || exit 0
round=$(sed -n 's/^iteration: //p' "$CLAUDE_PROJECT_DIR/loop.md")
transcript=$(jq -r .transcript_path <<< "$input")
last=$(grep '"type":"assistant"' "$transcript" | tail -n 1)
words=$(jq -r '[.message.content[] | select(.type == "text") | .text] | join("\\n")' <<< "$last")
case $words in *'<promise>DONE</promise>'*) exit 0 ;; esac
sed -i "s/^iteration: .*/iteration: $((round + 1))/" "$CLAUDE_PROJECT_DIR/loop.md"
jq -n --arg reason "$(tail -n 1 "$CLAUDE_PROJECT_DIR/loop.md")" '{decision: "block", $reason}'
`;

export async function hooks(folder, quick) {
  const rounds = quick ? 3 : 9;
  const world = makeWorld(folder, quick ? 20 : 25);
  return [
    ...idleRows(world, rounds),
    ...stopRows(world, rounds, quick ? [0.1, 100] : [0.1, 10, 100]),
    ...toolRows(world, rounds),
    ...(await runRows(world, quick ? 100 : 300)),
  ];
}

/** A project, inputs as Claude Code gives them, and a way to call a hook many times. */
function makeWorld(folder, calls) {
  const path = name => join(folder, name);
  const own = { ...env, CLAUDE_PROJECT_DIR: folder, CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0' };
  const base = { session_id: 's', transcript_path: path('transcript.jsonl'), cwd: folder, prompt_id: 'p' };
  const input = (name, more) => {
    writeFileSync(path(name), JSON.stringify({ ...base, ...more }));
    return path(name);
  };
  writeFileSync(path('hook.py'), PYTHON);
  script(path('hook.bash'), BASH_AND_JQ);
  return {
    path,
    base,
    input,
    python: `'${PYTHON_BIN}' '${path('hook.py')}'`,
    bash: `'${path('hook.bash')}'`,
    hasJq: spawnSync('jq', ['--version']).status === 0,
    small: input('small.json', { tool_calls: [{ tool_response: 'x'.repeat(3_800) }] }),
    big: input('big.json', { tool_calls: [{ tool_response: 'x'.repeat(1e6) }] }),
    call: (command, file) => () =>
      many(calls, ['sh', '-c', `${command} < '${file}'`], { env: own, cwd: folder }),
    begin(session) {
      const command = { command_name: 'ralph:ralph-loop', command_args: 'Do it --completion-promise DONE' };
      const options = { env: own, cwd: folder, input: JSON.stringify({ ...base, ...session, ...command }) };
      execFileSync(node, [join(bin, 'ralph-hook.cjs'), 'claude', 'UserPromptExpansion'], options);
    },
  };
}

/** The least of the milliseconds counts. The outer shell of the measurement is not the hook's. */
const ownTime = results => hook => hook.least - results.shell.least / 2;

/** Beside an empty program of Node it is CPU that counts, which a busy machine changes less. */
const ownCpu = results => hook => hook.cpu - results.shell.cpu / 2;

function idleRows({ call, small, python, bash, hasJq }, rounds) {
  const results = interleaved(rounds, {
    shell: call('sh -c :', small),
    python: call(python, small),
    bash: call(bash, small),
    tool: call(`sh '${gate}' auto PreToolUse`, small),
    stop: call(`sh '${gate}' auto Stop`, small),
  });
  const own = ownTime(results);
  return [
    inMilliseconds('P4', 'no loop: a tool call', own(results.tool), 1),
    inMilliseconds('P4', 'no loop: a stop', own(results.stop), 1),
    ...(hasJq
      ? [against('P4', 'no loop: a stop', 'one in bash', own(results.bash), own(results.stop), 0.4)]
      : []),
    against('P4', 'no loop: a tool call', 'one in Python', own(results.python), own(results.tool), 0.12),
  ];
}

/** A loop runs, a session for each length of the transcript; in one of them a claim is judged, which is not quite right. */
function stopRows({ call, begin, path, input, small, bash, hasJq }, rounds, sizes) {
  writeFileSync(path('loop.md'), 'iteration: 1\nMake it work');
  const stopIn = (name, megabytes, said) => {
    const session = { session_id: name, transcript_path: path(`${name}.jsonl`) };
    writeFileSync(session.transcript_path, transcriptOf(megabytes, said));
    begin(session);
    const words = { last_assistant_message: said, background_tasks: [], session_crons: [] };
    return input(`${name}.json`, { ...session, ...words });
  };
  const files = sizes.map((megabytes, at) => stopIn(`s${at}`, megabytes, 'Still working.'));
  const claiming = stopIn('claiming', 0.1, '<promise>done</promise>');
  const stop = file => call(`sh '${gate}' auto Stop`, file);
  const results = interleaved(rounds, {
    shell: call('sh -c :', small),
    node: call(`'${node}' -e 0`, small),
    claim: stop(claiming),
    ...Object.fromEntries(files.map((file, at) => [`stop${at}`, stop(file)])),
  });
  const own = ownCpu(results);
  const empty = own(results.node);
  const times = files.map((_, at) => own(results[`stop${at}`]));
  return [
    ...sizes.map((megabytes, at) => {
      const what = `a stop without a claim, transcript of ${megabytes} MB`;
      return against('P5', what, 'an empty node', empty, times[at], 1.5);
    }),
    against('P5', 'a claim is judged', 'an empty node', empty, own(results.claim), 1.5),
    against('P5', 'a stop without a claim, 100 MB', 'with 0.1 MB', times.at(0), times.at(-1), 1.1),
    ...(hasJq ? [usualRow({ call, bash }, files.at(-2), rounds)] : []),
  ];
}

/** Beside a hook in bash and jq; with 10 MB, where that is measured. */
function usualRow({ call, bash }, file, rounds) {
  const results = interleaved(Math.min(rounds, 3), {
    shell: call('sh -c :', file),
    bash: call(bash, file),
    stop: call(`sh '${gate}' auto Stop`, file),
  });
  const own = ownTime(results);
  return against(
    'P5',
    'a stop without a claim',
    'one in bash and jq',
    own(results.bash),
    own(results.stop),
    1,
  );
}

/** Records of a kilobyte, a tool call in every tenth of them, and the last message as the host leaves it. */
function transcriptOf(megabytes, said) {
  const line = record => `${JSON.stringify(record)}\n`;
  const tool = [{ type: 'tool_use', id: 't', input: 'x'.repeat(830) }];
  const result = line({ type: 'user', message: { role: 'user', content: 'x'.repeat(960) } });
  const records = line({ type: 'assistant', message: { id: 'm0', content: tool } }) + result.repeat(9);
  const usage = { input_tokens: 1_000 };
  const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: said }], usage };
  return records.repeat((megabytes * 1e6) / records.length) + line({ message, type: 'assistant' });
}

/** Tools run in a loop: the guard before them, the context monitor after them where it is on. */
function toolRows({ call, small, big, input, path, base }, rounds) {
  const written = content => ({ tool_name: 'Write', tool_input: { file_path: path('a.ts'), content } });
  const command = input('command.json', COMMAND);
  const write = input('write.json', written('x'.repeat(3_800)));
  const bigWrite = input('big-write.json', written('x'.repeat(1e6)));
  writeFileSync(base.transcript_path, transcriptOf(10, 'Still working.'));
  const hook = event => `sh '${gate}' auto ${event}`;
  const off = interleaved(rounds, {
    shell: call('sh -c :', small),
    after: call(hook('PostToolBatch'), small),
  });
  mkdirSync(path('.ralph'), { recursive: true });
  writeFileSync(path('.ralph/settings.json'), '{"guard":{"enabled":true},"contextMonitor":{"enabled":true}}');
  const results = interleaved(rounds, {
    shell: call('sh -c :', small),
    node: call(`'${node}' -e 0`, small),
    command: call(hook('PreToolUse'), command),
    write: call(hook('PreToolUse'), write),
    bigWrite: call(hook('PreToolUse'), bigWrite),
    monitor: call(hook('PostToolBatch'), small),
    bigMonitor: call(hook('PostToolBatch'), big),
  });
  rmSync(path('.ralph/settings.json'));
  const own = ownCpu(results);
  const empty = own(results.node);
  return [
    inMilliseconds('P6', 'a loop: tools have run', ownTime(off)(off.after), 1),
    against('P6', 'a loop: the guard judges a command', 'an empty node', empty, own(results.command), 1.4),
    against('P6', 'a loop: the guard judges a file', 'an empty node', empty, own(results.write), 1.4),
    against('P6', 'the same, input of 1 MB', 'of 4 kB', own(results.write), own(results.bigWrite), 1.2),
    against('P6', 'the context monitor looks', 'an empty node', empty, own(results.monitor), 1.4),
    against('P6', 'the same, input of 1 MB', 'of 4 kB', own(results.monitor), own(results.bigMonitor), 1.2),
  ];
}

const COMMAND = { tool_name: 'Bash', tool_input: { command: 'npm test && git status' } };

/** The agent of a run asks the run. */
async function runRows({ small, path, base }, calls) {
  const { before, after } = await servedCalls(
    path('served'),
    {
      before: ['PreToolUse', JSON.stringify({ ...base, ...COMMAND })],
      after: ['PostToolBatch', readFileSync(small, 'utf8')],
    },
    calls,
  );
  return [
    inMilliseconds('P6', 'a run: the guard judges a command', before, 3),
    inMilliseconds('P6', 'a run: tools have run', after, 3),
  ];
}

function inMilliseconds(id, what, seconds, limit) {
  return { id, what, floor: `${limit} ms`, ours: ms(seconds), value: seconds * 1000, unit: 'ms', limit };
}

function against(id, what, floor, theirs, ours, limit) {
  return { id, what, floor: `${floor} ${ms(theirs)}`, ours: ms(ours), value: ours / theirs, limit };
}
