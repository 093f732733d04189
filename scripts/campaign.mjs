#!/usr/bin/env node
// Before a release, by hand: what takes hours. Prints one table; a row that failed is printed with its last lines.
//   npm run campaign [-- --kills 500 --seed 1 --only redteam,kills]
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const { kills, seed } = values;
const vitest = (...files) => ['npx', 'vitest', 'run', '--reporter=dot', ...files];
const chaos = (...flags) => ['node', 'scripts/chaos.mjs', '--runs', kills, '--seed', seed, ...flags];

const ROWS = [
  { name: 'redteam', what: 'each attack at every level', command: vitest('test/redteam') },
  { name: 'properties', what: 'five times the examples', command: vitest('--project', 'units') },
  {
    name: 'fuzz',
    what: 'damaged run folders',
    command: vitest('test/scenarios/fuzz.test.ts', 'test/bundle'),
  },
  { name: 'kills', what: `${kills} kills`, command: chaos() },
  { name: 'signals', what: `${kills} signals`, command: chaos('--signals', 'TERM,INT,HUP,KILL') },
  { name: 'lanes', what: `${kills} kills of parallel runs`, command: chaos('--parallel') },
  { name: 'forge', what: 'killed at requests to a forge', command: chaos('--forge') },
  { name: 'steps', what: 'killed at many events and in git', command: chaos('--every', '3') },
  { name: 'workers', what: `${kills} kills of workers of a fleet`, command: chaos('--fleet') },
  { name: 'fleet', what: '1,000 units over 4 workers', command: ['node', 'bench/run.mjs', 'fleet'] },
];

const wanted = values.only?.split(',');
const table = [];
spawnSync('npm', ['run', 'build'], { stdio: 'ignore' });
for (const { name, what, command } of ROWS) {
  if (wanted && !wanted.includes(name)) continue;
  const began = Date.now();
  const [program, ...args] = command;
  const { status, stdout } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    env: { ...process.env, RALPH_THOROUGH: 'campaign' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const minutes = ((Date.now() - began) / 60_000).toFixed(0);
  const counts = /Tests\s+(.*)/.exec(stdout.replaceAll(/\u001b\[[\d;]*m/g, ''))?.[1] ?? '';
  table.push(`| ${name} | ${what} | ${status === 0 ? 'green' : 'RED'} | ${counts} | ${minutes} min |`);
  console.log(table.at(-1));
  if (status === 0) continue;
  process.exitCode = 1;
  console.log(stdout.split('\n').slice(-60).join('\n'));
}
console.log(`\n| row | what | result | tests | time |\n|---|---|---|---|---|\n${table.join('\n')}`);
