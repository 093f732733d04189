// Prints what Ralph costs next to the floor it stands on, as ratios taken in one run. `npm run bench [start|loop|stream|repo|hook]`.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { interleaved, measure, ratio } from './measure.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const bin = join(here, '../dist/bin/ralph.cjs');
const node = process.execPath;
const env = { PATH: process.env.PATH, HOME: tmpdir() };
const wanted = process.argv.slice(2);
const benches = { start, loop, stream, repo, hook };

for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const folder = mkdtempSync(join(tmpdir(), 'ralph-bench-'));
  try {
    bench(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function start(folder) {
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  // Fifty starts a sample: the shell counts CPU in hundredths of a second.
  const many = argv => () =>
    measure(['sh', '-c', 'i=0; while [ $i -lt 50 ]; do "$@"; i=$((i+1)); done', 'sh', ...argv], {
      env,
      cwd: folder,
    });
  const result = interleaved(3, {
    node: many([node, empty]),
    version: many([node, bin, '--version']),
    help: many([node, bin, '--help']),
    runHelp: many([node, bin, 'run', '--help']),
    dryRun: many([node, bin, 'run', '-p', 'x', '--agent', 'cat', '--dry-run']),
  });
  console.log('Start, CPU against an empty node program');
  for (const name of ['version', 'help', 'runHelp', 'dryRun'])
    console.log(`  ${name.padEnd(10)}${ratio(result[name].cpu, result.node.cpu)}`);
}

function loop(folder) {
  const iterations = 100;
  const agent = join(folder, 'agent');
  writeFileSync(agent, '#!/bin/sh\ncat >/dev/null\necho working\n');
  chmodSync(agent, 0o755);
  mkdirSync(join(folder, '.ralph'));
  writeFileSync(
    join(folder, '.ralph/settings.json'),
    JSON.stringify({ agent: { command: agent }, guardrails: [{ command: 'true' }] }),
  );
  const spawnLoop = join(folder, 'spawn-loop.cjs');
  writeFileSync(
    spawnLoop,
    `const { spawn } = require('node:child_process');
     const one = argv => new Promise(done => { const c = spawn(argv[0], argv.slice(1), { stdio: ['pipe', 'pipe', 'ignore'] }); c.stdin.on('error', () => {}); c.stdin.end('go'); c.stdout.resume(); c.on('close', done); });
     (async () => { for (let i = 0; i < ${iterations}; i++) { await one([${JSON.stringify(agent)}]); await one(['sh', '-c', 'true']); } })();`,
  );
  const shell = `i=0; while [ $i -lt ${iterations} ]; do echo go | "$1" >/dev/null; sh -c true; i=$((i+1)); done`;
  const result = interleaved(3, {
    shell: () => measure(['bash', '-c', shell, 'bash', agent], { env, cwd: folder }),
    spawnLoop: () => measure([node, spawnLoop], { env, cwd: folder }),
    ralph: () => measure([node, bin, 'run', '-p', 'go', '-m', String(iterations)], { env, cwd: folder }),
  });
  console.log(`Loop, CPU per iteration (${iterations} iterations of one agent and one check)`);
  for (const [name, { cpu, wall }] of Object.entries(result)) {
    console.log(
      `  ${name.padEnd(10)}${((cpu / iterations) * 1000).toFixed(2)} ms, wall ${((wall / iterations) * 1000).toFixed(2)} ms`,
    );
  }
  console.log(
    `  ralph against a bash loop ${ratio(result.ralph.cpu, result.shell.cpu)}, against a bare node spawn loop ${ratio(result.ralph.cpu, result.spawnLoop.cpu)}`,
  );
}

function stream(folder) {
  const agent = join(folder, 'claude');
  writeFileSync(
    agent,
    `#!/bin/sh\nexec '${node}' '${join(here, 'flood.mjs')}' "$RALPH_BENCH_BYTES" "$RALPH_BENCH_KIND" '${join(folder, 'peak')}'\n`,
  );
  chmodSync(agent, 0o755);
  const floor = join(folder, 'parse.cjs');
  writeFileSync(
    floor,
    `let rest = ''; process.stdin.setEncoding('utf8').on('data', c => { const lines = (rest + c).split('\\n'); rest = lines.pop(); for (const l of lines) JSON.parse(l); });`,
  );
  console.log('Stream, an agent that floods');
  const flood = (bytes, kind) => ({ ...env, RALPH_BENCH_BYTES: String(bytes), RALPH_BENCH_KIND: kind });
  for (const [label, bytes, kind] of [
    ['100 MB of lines', 1e8, 'lines'],
    ['1 GB of lines', 1e9, 'lines'],
    ['a line of 50 MB', 5e7, 'line'],
    ['1 GB of plain text', 1e9, 'text'],
  ]) {
    const plain = kind === 'text';
    const argv = [node, bin, 'run', '-p', 'go', '--agent', plain ? 'plain' : agent, '-m', '1', '--quiet'];
    writeFileSync(join(folder, 'plain'), readFileSync(agent));
    chmodSync(join(folder, 'plain'), 0o755);
    const ralph = measure(argv, {
      cwd: folder,
      env: { ...flood(bytes, kind), PATH: `${folder}:${env.PATH}` },
    });
    const peak = Number(readFileSync(join(folder, 'peak'), 'utf8'));
    const parse = plain
      ? undefined
      : measure(['sh', '-c', `'${agent}' | '${node}' '${floor}'`], { cwd: folder, env: flood(bytes, kind) });
    const against = parse ? `, ${ratio(parse.wall, ralph.wall)} the speed of parsing every line` : '';
    console.log(
      `  ${label}: ${(bytes / 1e6 / ralph.wall).toFixed(0)} MB/s${against}, peak memory ${peak} MB, exit ${ralph.status}`,
    );
  }
}

function repo(folder) {
  const files = 100_000;
  const git = (...args) =>
    execFileSync(
      'git',
      ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', '-c', 'core.fsync=none', ...args],
      { cwd: folder, stdio: 'ignore' },
    );
  git('init', '--quiet');
  for (let at = 0; at < files; at++) {
    if (at % 100 === 0) mkdirSync(join(folder, `d${at / 100}`));
    writeFileSync(join(folder, `d${Math.floor(at / 100)}`, `f${at}.txt`), `${at}\n`);
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', 'start');
  const agent = join(folder, 'agent');
  writeFileSync(agent, '#!/bin/sh\ncat >/dev/null\ndate +%N >> d1/f100.txt\necho working\n');
  chmodSync(agent, 0o755);
  const task = 'Change a file.';
  const loopOf = n => () =>
    measure(
      [
        node,
        bin,
        'loop',
        task,
        '--check',
        'true',
        '--agent',
        agent,
        '--max-iterations',
        String(n),
        '--quiet',
      ],
      { env, cwd: folder },
    );
  const result = interleaved(3, {
    status: () => measure(['git', 'status', '--porcelain'], { env, cwd: folder }),
    one: loopOf(1),
    six: loopOf(6),
  });
  const perIteration = (result.six.wall - result.one.wall) / 5;
  console.log(`Repository of ${files} files`);
  console.log(
    `  one iteration of ralph loop ${(perIteration * 1000).toFixed(0)} ms, one git status ${(result.status.wall * 1000).toFixed(0)} ms: ${ratio(perIteration, result.status.wall)}`,
  );
  const prompt = n => readFileSync(join(folder, `.ralph/prompt_00${n}.txt`), 'utf8').length;
  console.log(
    `  characters the harness adds to the task: ${prompt(1) - task.length} in iteration 1, ${prompt(6) - task.length} in iteration 6 (diff, failures and progress included)`,
  );
}

function hook(folder) {
  const gate = join(here, '../plugins/claude/bin/gate.sh');
  const input = join(folder, 'input.json');
  const transcript = join(folder, 'transcript.jsonl');
  writeFileSync(
    input,
    JSON.stringify({
      session_id: 's',
      prompt_id: 'p',
      cwd: folder,
      transcript_path: transcript,
      last_assistant_message: 'x',
      tool_calls: [{}],
    }),
  );
  const calls = 40;
  const many = command => () =>
    measure(['sh', '-c', `i=0; while [ $i -lt ${calls} ]; do ${command} < '${input}'; i=$((i+1)); done`], {
      env: { ...env, CLAUDE_PROJECT_DIR: folder },
      cwd: folder,
    });
  const idle = interleaved(3, {
    shell: many('sh -c :'),
    node: many(`'${node}' -e 0`),
    gate: many(`sh '${gate}' claude PostToolBatch`),
  });
  const ms = ({ wall }) => `${((wall / calls) * 1000).toFixed(1)} ms`;
  console.log('Hooks');
  console.log(
    `  no loop in the project: ${ms(idle.gate)}, an empty shell ${ms(idle.shell)} (${ratio(idle.gate.wall, idle.shell.wall)}), an empty node ${ms(idle.node)}`,
  );
  mkdirSync(join(folder, '.claude'));
  const state =
    '---\niteration: 1\nmax_iterations: 0\ncompletion_promise: "DONE"\nsession_id: "s"\nprompt_id: "p"\n---\ntask';
  writeFileSync(join(folder, '.claude/ralph-loop.local.md'), state);
  const line = `${JSON.stringify({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text: 'x' }] } })}\n`;
  for (const megabytes of [0.1, 10, 100]) {
    writeFileSync(transcript, `${'\n'.repeat(megabytes * 1e6)}${line}`);
    const stop = interleaved(3, { node: many(`'${node}' -e 0`), stop: many(`sh '${gate}' claude Stop`) });
    console.log(
      `  Stop with a transcript of ${megabytes} MB: ${ms(stop.stop)}, ${ratio(stop.stop.wall, stop.node.wall)} an empty node`,
    );
  }
}
