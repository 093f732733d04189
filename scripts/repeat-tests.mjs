#!/usr/bin/env node
// Runs `npm test` several times in a row, half of them beside busy processes: a test that fails once in many runs is a fault, and this finds it.
//   node scripts/repeat-tests.mjs [--runs 10] [--busy 4]
import { spawn, spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10' }, busy: { type: 'string', default: '4' } },
});
const runs = Number(values.runs);
const rows = [];
for (let run = 1; run <= runs; run++) {
  const isBusy = run > runs / 2;
  const load = isBusy ? Array.from({ length: Number(values.busy) }, startBusy) : [];
  const began = Date.now();
  const { status, stdout } = spawnSync('npm', ['test'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for (const child of load) child.kill('SIGKILL');
  const seconds = Math.round((Date.now() - began) / 1000);
  rows.push(
    `run ${run}: ${status === 0 ? 'green' : 'RED'} in ${seconds} s${isBusy ? `, beside ${values.busy} busy processes` : ''}`,
  );
  console.log(rows.at(-1));
  if (status === 0) continue;
  process.exitCode = 1;
  console.log(stdout.split('\n').slice(-80).join('\n'));
}
console.log(`\n${rows.join('\n')}`);

function startBusy() {
  return spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
}
