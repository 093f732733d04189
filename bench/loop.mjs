// P2: what an iteration costs beside the agent and its check. Not contained: P13 measures that.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, interleaved, measure, ms, node, script } from './measure.mjs';

export function loop(folder, quick) {
  const iterations = quick ? 100 : 200;
  const agent = script(join(folder, 'agent'), '#!/bin/sh\ncat >/dev/null\necho working\n');
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
     (async () => { for (let i = 0; i < Number(process.argv[2]); i++) { await one([${JSON.stringify(agent)}]); await one(['sh', '-c', 'true']); } })();`,
  );
  const shell = 'i=0; while [ $i -lt $2 ]; do echo go | "$1" >/dev/null; sh -c true; i=$((i+1)); done';
  const at = n => ({
    [`shell${n}`]: () => measure(['bash', '-c', shell, 'bash', agent, String(n)], { cwd: folder }),
    [`spawn${n}`]: () => measure([node, spawnLoop, String(n)], { cwd: folder }),
    [`ralph${n}`]: () =>
      measure([node, bin, 'run', '-p', 'go', '-m', String(n), '--stuck-after', '0', '--containment', 'off'], {
        cwd: folder,
      }),
  });
  const result = interleaved(quick ? 3 : 5, { ...at(1), ...at(iterations + 1) });
  // What the first iteration and the start cost is taken off.
  const each = name => (result[`${name}${iterations + 1}`].cpu - result[`${name}1`].cpu) / iterations;
  const row = (what, floor, limit) => ({
    id: 'P2',
    what,
    floor: `${floor} ${ms(each(floor === 'a bash loop' ? 'shell' : 'spawn'))}`,
    ours: ms(each('ralph')),
    value: each('ralph') / each(floor === 'a bash loop' ? 'shell' : 'spawn'),
    limit,
  });
  return [
    row('an iteration, CPU', 'a bash loop', 3),
    row('an iteration, CPU', 'a bare node spawn loop', 1.3),
    processes(folder),
  ];
}

/** How many programs are started in ten iterations with an agent and a check: cat and sh in them are the agent's own. */
function processes(folder) {
  const trace = (n, file) => {
    execFileSync(
      'strace',
      [
        '-f',
        '-qq',
        '-e',
        'trace=execve',
        '-e',
        'status=successful',
        '-o',
        file,
        node,
        bin,
        'run',
        '-p',
        'go',
        '-m',
        String(n),
        '--stuck-after',
        '0',
        '--containment',
        'off',
      ],
      {
        cwd: folder,
        stdio: 'ignore',
        env,
      },
    );
  };
  const count = n => {
    const file = join(folder, `trace-${n}`);
    try {
      trace(n, file);
    } catch (error) {
      if (error.code === 'ENOENT') return undefined; // no strace here
    }
    return Number(execFileSync('grep', ['-c', 'execve(', file], { encoding: 'utf8' }));
  };
  const [one, eleven] = [count(1), count(11)];
  const value = one === undefined ? Number.NaN : (eleven - one) / 10;
  return {
    id: 'P2',
    what: 'programs started in an iteration',
    floor: 'the agent, its cat, and the shell of the check',
    ours: String(value),
    value,
    unit: '',
    limit: 3,
  };
}
