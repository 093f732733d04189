// P1: what it takes until something happens.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  accounts,
  asks,
  bin,
  env,
  interleaved,
  many,
  measure,
  median,
  ms,
  node,
  script,
} from './measure.mjs';

export async function start(folder, quick) {
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  const library = join(folder, 'library.mjs');
  writeFileSync(library, `import ${JSON.stringify(join(bin, '../../lib/index.js'))};`);
  const rounds = quick ? 3 : 5;
  const times = quick ? 20 : 50;
  const ca = { ...env, NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt' };
  const run =
    (argv, environment = env) =>
    () =>
      many(times, [node, ...argv], { env: environment, cwd: folder });
  const result = interleaved(rounds, {
    node: run([empty]),
    version: run([bin, '--version']),
    help: run([bin, '--help']),
    nodeWithCa: run([empty], ca),
    versionWithCa: run([bin, '--version'], ca),
    library: run([library]),
  });
  const row = (what, floor, ours, limit) => ({
    id: 'P1',
    what,
    floor: `an empty node program ${ms(floor.cpu)}`,
    ours: ms(ours.cpu),
    value: ours.cpu / floor.cpu,
    limit,
  });
  return [
    row('--version, CPU', result.node, result.version, 1.1),
    row('--help, CPU', result.node, result.help, 1.2),
    row('--version, NODE_EXTRA_CA_CERTS set for both', result.nodeWithCa, result.versionWithCa, 1.1),
    row('importing the library, CPU', result.node, result.library, 2),
    await firstSpawn(folder, quick ? 9 : 25),
  ];
}

/** CPU of the process up to the moment at which its first agent runs. */
async function firstSpawn(folder, rounds) {
  const ask = join(folder, 'ask');
  const agent = script(
    join(folder, 'account'),
    `#!/bin/sh\n${asks(ask)}\ncat >/dev/null\necho '<response>DONE</response>'\n`,
  );
  const floor = join(folder, 'floor.cjs');
  const log = join(folder, 'cpu.log');
  writeFileSync(
    floor,
    `const fs = require('node:fs');
     const all = fs.readdirSync('/proc/self/task').map(id => Number(fs.readFileSync('/proc/self/task/' + id + '/schedstat', 'utf8').split(' ')[0]));
     fs.writeFileSync(process.argv[2], String(all.reduce((a, b) => a + b, 0) / 1e9));`,
  );
  const samples = { floor: [], ours: [] };
  for (let round = 0; round < rounds; round++) {
    measure([node, floor, log], { cwd: folder });
    samples.floor.push(Number(readFileSync(log, 'utf8')));
    const [first] = await accounts([node, bin, 'run', '-p', 'go', '--agent', agent, '-m', '1'], ask, {
      cwd: folder,
    });
    samples.ours.push(first.cpu);
  }
  const [cpu, base] = [median(samples.ours), median(samples.floor)];
  return {
    id: 'P1',
    what: `run to its first agent, CPU (${readdirSync(join(folder, '.ralph/runs')).length} runs)`,
    floor: `an empty node program ${ms(base)}`,
    ours: ms(cpu),
    value: cpu / base,
    limit: 2,
  };
}
