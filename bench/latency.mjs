// P10: how long a line of the agent takes to the screen, and a signal to the end.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, median, node, script } from './measure.mjs';

export async function latency(folder, quick) {
  return [...(await lines(folder, quick ? 200 : 1000)), await signal(folder, quick ? 3 : 9)];
}

/** The agent prints the time at which it speaks; who reads Ralph's output compares. */
async function lines(folder, count) {
  const agent = join(folder, 'talk.mjs');
  writeFileSync(
    agent,
    `import { writeSync } from 'node:fs';
     for await (const _ of process.stdin);
     for (let at = 0; at < ${count}; at++) {
       writeSync(1, 'at ' + (process.hrtime.bigint()) + '\\n');
       await new Promise(done => setTimeout(done, 2));
     }`,
  );
  const talk = script(join(folder, 'talk'), `#!/bin/sh\nexec '${node}' '${agent}'\n`);
  const child = spawn(node, [bin, 'run', '-p', 'go', '--agent', talk, '-m', '1'], { cwd: folder, env });
  const late = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', chunk => {
    const now = process.hrtime.bigint();
    const whole = (rest + chunk).split('\n');
    rest = whole.pop();
    for (const line of whole) {
      const at = /at (\d{8,})/.exec(line)?.[1];
      if (at) late.push(Number(now - BigInt(at)) / 1e6);
    }
  });
  await new Promise(done => child.on('close', done));
  const sorted = late.sort((a, b) => a - b);
  const at = part => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  const row = (what, value, limit) => ({
    id: 'P10',
    what,
    floor: 'the agent',
    ours: `${value.toFixed(2)} ms (${sorted.length} lines)`,
    value,
    unit: 'ms',
    limit,
  });
  return [
    row("an agent's line on the screen, median", at(0.5), 1),
    row("an agent's line on the screen, 95 of 100", at(0.95), 2),
  ];
}

/** Two signals, as an impatient user sends them: the agent's whole tree is gone when Ralph is. */
async function signal(folder, rounds) {
  const samples = [];
  for (let round = 0; round < rounds; round++) {
    const begun = join(folder, `begun-${round}`);
    // The agent has numbers of its own for its processes: this one is known by its arguments.
    const time = `1000.${process.pid}${round}`;
    const agent = script(join(folder, 'sleeper'), `#!/bin/sh\nsleep ${time} & echo yes > '${begun}'; wait\n`);
    const child = spawn(node, [bin, 'run', '-p', 'go', '--agent', agent, '-m', '1'], {
      cwd: folder,
      env,
      stdio: 'ignore',
    });
    while (!read(begun) || !runs(time)) await new Promise(done => setTimeout(done, 5));
    const began = process.hrtime.bigint();
    child.kill('SIGTERM');
    child.kill('SIGINT');
    await new Promise(done => child.on('close', done));
    samples.push(Number(process.hrtime.bigint() - began) / 1e6);
    if (runs(time)) throw new Error('the agent outlived Ralph');
  }
  const value = median(samples);
  return {
    id: 'P10',
    what: 'two signals to the end, nothing left',
    floor: 'the signal',
    ours: `${value.toFixed(0)} ms`,
    value,
    unit: 'ms',
    limit: 300,
  };
}

/** One that has ended has no words left. */
function runs(word) {
  return readdirSync('/proc').some(pid => /^\d+$/.test(pid) && read(`/proc/${pid}/cmdline`).includes(word));
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
