// CPU seconds (user + system, children included) and wall seconds of a command, by the shell's own accounting.
import { spawnSync } from 'node:child_process';

export function measure(argv, options = {}) {
  const began = process.hrtime.bigint();
  const { stdout, status } = spawnSync(
    'sh',
    ['-c', '"$@" >/dev/null 2>&1; code=$?; times; exit $code', 'sh', ...argv],
    {
      encoding: 'utf8',
      ...options,
    },
  );
  const wall = Number(process.hrtime.bigint() - began) / 1e9;
  const [, children = ''] = stdout.trim().split('\n');
  const cpu = [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60 + Number(s),
    0,
  );
  return { cpu, wall, status };
}

/** Runs several commands in turn, round by round, so that a noisy machine is noisy for all of them. Medians. */
export function interleaved(rounds, commands) {
  const results = Object.fromEntries(Object.keys(commands).map(name => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(commands)) results[name].push(run());
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, list]) => [
      name,
      { cpu: median(list.map(r => r.cpu)), wall: median(list.map(r => r.wall)) },
    ]),
  );
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

export const ratio = (a, b) => `${(a / b).toFixed(2)} x`;
