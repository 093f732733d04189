// P1: what it takes until something happens.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, interleaved, many, measure, median, ms, node, script } from './measure.mjs';

export function start(folder, quick) {
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
    firstSpawn(folder, quick ? 9 : 25),
  ];
}

/** CPU of the process up to the moment at which its first child runs: the child reads its parent's account. */
function firstSpawn(folder, rounds) {
  const log = join(folder, 'cpu.log');
  const account = script(
    join(folder, 'account'),
    `#!/bin/sh\ncat /proc/$PPID/task/*/schedstat >> '${log}'\necho -- >> '${log}'\ncat >/dev/null\necho '<response>DONE</response>'\n`,
  );
  const floor = join(folder, 'floor.cjs');
  writeFileSync(
    floor,
    `const fs = require('node:fs');
     const all = fs.readdirSync('/proc/self/task').map(id => fs.readFileSync('/proc/self/task/' + id + '/schedstat', 'utf8')).join('');
     fs.appendFileSync(process.argv[2], all + '--\\n');`,
  );
  const read = () => {
    const last = readFileSync(log, 'utf8').split('--\n').at(-2) ?? '';
    return (
      last
        .trim()
        .split('\n')
        .reduce((sum, line) => sum + Number(line.split(' ')[0]), 0) / 1e9
    );
  };
  appendFileSync(log, '');
  const samples = { floor: [], ours: [] };
  for (let round = 0; round < rounds; round++) {
    measure([node, floor, log], { cwd: folder });
    samples.floor.push(read());
    measure([node, bin, 'run', '-p', 'go', '--agent', account, '-m', '1'], { cwd: folder });
    samples.ours.push(read());
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
