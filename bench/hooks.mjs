// P4 to P6: what a hook costs, with no loop and with one, however long the transcript and the input.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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
    ...decisionRows(world, rounds),
    ...toolRows(world, rounds),
    ...(await runRows(world, rounds, quick ? 100 : 300)),
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
  const stop = (name, said, more) =>
    input(name, { last_assistant_message: said, background_tasks: [], session_crons: [], ...more });
  writeFileSync(path('hook.py'), PYTHON);
  script(path('hook.bash'), BASH_AND_JQ);
  return {
    path,
    base,
    stop,
    python: `'${PYTHON_BIN}' '${path('hook.py')}'`,
    bash: `'${path('hook.bash')}'`,
    hasJq: spawnSync('jq', ['--version']).status === 0,
    small: input('small.json', { tool_calls: [{ tool_response: 'x'.repeat(3_800) }] }),
    big: input('big.json', { tool_calls: [{ tool_response: 'x'.repeat(1e6) }] }),
    search: input('search.json', { tool_name: 'Grep', tool_input: { pattern: 'x' } }),
    working: stop('working.json', 'Still at it.'),
    claiming: stop('claiming.json', '<promise>done</promise>', { transcript_path: path('claim.jsonl') }),
    call: (command, file) => () =>
      many(calls, ['sh', '-c', `${command} < '${file}'`], { env: own, cwd: folder }),
    tell(event, more) {
      const options = { env: own, cwd: folder, input: JSON.stringify({ ...base, ...more }) };
      execFileSync(node, [join(bin, 'ralph-hook.cjs'), 'claude', event], options);
    },
  };
}

/** Of milliseconds the least is told. The outer shell of the measurement is not the hook's. */
const ownTime = results => hook => hook.least - results.shell.least / 2;

function idleRows({ call, small, python, bash, hasJq }, rounds) {
  const results = interleaved(rounds, {
    shell: call('sh -c :', small),
    python: call(python, small),
    bash: call(bash, small),
    tool: call(`sh '${gate}' auto PostToolBatch`, small),
    stop: call(`sh '${gate}' auto Stop`, small),
  });
  const own = ownTime(results);
  return [
    inMilliseconds('P4', 'no loop: a tool call', own(results.tool), 1),
    inMilliseconds('P4', 'no loop: a stop', own(results.stop), 1),
    ...(hasJq
      ? [against('P4', 'no loop: a stop', 'one in bash', own(results.bash), own(results.stop), 0.4)]
      : []),
    against('P6', 'no loop: a tool call', 'one in Python', own(results.python), own(results.tool), 0.12),
  ];
}

/** A loop goes on: the final message says nothing of being done. */
function stopRows({ call, tell, path, stop, working, bash, hasJq }, rounds, sizes) {
  tell('UserPromptExpansion', {
    command_name: 'ralph:ralph-loop',
    command_args: 'Make it work --completion-promise DONE',
  });
  tell('PostToolBatch', { tool_calls: [{}] });
  writeFileSync(path('loop.md'), 'iteration: 1\nMake it work');
  const hooksAt = sizes.map(megabytes => {
    const transcript = path(`transcript-${megabytes}.jsonl`);
    writeFileSync(transcript, transcriptOf(megabytes, 'Still at it.'));
    return [megabytes, stop(`working-${megabytes}.json`, 'Still at it.', { transcript_path: transcript })];
  });
  const results = interleaved(rounds, {
    shell: call('sh -c :', working),
    ...Object.fromEntries(
      hooksAt.map(([megabytes, file]) => [megabytes, call(`sh '${gate}' auto Stop`, file)]),
    ),
  });
  const own = ownTime(results);
  const [least, most] = [sizes.at(0), sizes.at(-1)].map(megabytes => own(results[megabytes]));
  return [
    ...sizes.map(megabytes =>
      inMilliseconds('P5', `a loop goes on, transcript of ${megabytes} MB`, own(results[megabytes]), 5),
    ),
    against('P5', 'the same, 100 MB', 'with 0.1 MB', least, most, 1.1),
    ...(hasJq ? [usualRow({ call, bash }, hooksAt.at(-2)?.[1], rounds)] : []),
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
  return against('P5', 'a loop goes on', 'one in bash and jq', own(results.bash), own(results.stop), 0.1);
}

/** Records of a kilobyte, and the last message as the host leaves it. */
function transcriptOf(megabytes, said) {
  const record = `${JSON.stringify({ type: 'user', message: { role: 'user', content: 'x'.repeat(960) } })}\n`;
  const usage = { input_tokens: 1_000 };
  const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: said }], usage };
  const end = [{ type: 'api-request' }, { isSidechain: false, message, type: 'assistant' }];
  return `${record.repeat((megabytes * 1e6) / record.length)}${end.map(each => `${JSON.stringify(each)}\n`).join('')}`;
}

/** Something must be judged: a tag that is not quite right. */
function decisionRows({ call, path, claiming }, rounds) {
  writeFileSync(path('claim.jsonl'), transcriptOf(0.1, '<promise>done</promise>'));
  const results = interleaved(rounds, {
    shell: call('sh -c :', claiming),
    node: call(`'${node}' -e 0`, claiming),
    claim: call(`sh '${gate}' auto Stop`, claiming),
  });
  const own = ownTime(results);
  return [against('P5', 'a claim is judged', 'an empty node', own(results.node), own(results.claim), 1.5)];
}

/** Tools run in a loop. */
function toolRows({ call, small, big, search, python }, rounds) {
  const results = interleaved(rounds, {
    shell: call('sh -c :', small),
    python: call(python, small),
    tool: call(`sh '${gate}' auto PostToolBatch`, small),
    big: call(`sh '${gate}' auto PostToolBatch`, big),
    search: call(`sh '${gate}' auto PreToolUse`, search),
  });
  const own = ownTime(results);
  return [
    inMilliseconds('P6', 'a loop: tools have run', own(results.tool), 3),
    inMilliseconds('P6', 'a loop: a search is to run', own(results.search), 3),
    against('P6', 'a loop: tools have run', 'one in Python', own(results.python), own(results.tool), 0.12),
    against('P6', 'the same, input of 1 MB', 'of 4 kB', own(results.tool), own(results.big), 1.2),
  ];
}

/** The agent of a run asks the run. */
async function runRows({ call, small, python, path, base }, rounds, calls) {
  const { shell, python: theirs } = interleaved(rounds, {
    shell: call('sh -c :', small),
    python: call(python, small),
  });
  const tool = { tool_name: 'Bash', tool_input: { command: 'npm test && git status' } };
  const { before, after } = await servedCalls(
    path('served'),
    {
      before: ['PreToolUse', JSON.stringify({ ...base, ...tool })],
      after: ['PostToolBatch', readFileSync(small, 'utf8')],
    },
    calls,
  );
  const inPython = ownTime({ shell })(theirs);
  return [
    inMilliseconds('P6', 'a run: the guard judges a command', before, 3),
    against('P6', 'a run: the guard judges a command', 'one in Python', inPython, before, 0.12),
    inMilliseconds('P6', 'a run: tools have run', after, 3),
  ];
}

function inMilliseconds(id, what, seconds, limit) {
  return { id, what, floor: `${limit} ms`, ours: ms(seconds), value: seconds * 1000, unit: 'ms', limit };
}

function against(id, what, floor, theirs, ours, limit) {
  return { id, what, floor: `${floor} ${ms(theirs)}`, ours: ms(ours), value: ours / theirs, limit };
}
