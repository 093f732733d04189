// P8: nothing grows with the number of iterations.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, freshRepo, measure, ms, node, script } from './measure.mjs';

export function growth(folder, quick) {
  const iterations = quick ? 300 : 1500;
  const log = join(folder, 'account.log'); // not in the repository: the agent's diff stays empty
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(log, '');
  freshRepo(project);
  // The agent reads its parent's account: CPU of all its threads, and its memory.
  const agent = script(
    join(folder, 'agent'),
    `#!/bin/sh\nn=$(cat | wc -c)\necho "$n $(cat /proc/$PPID/task/*/schedstat | awk '{ s += $1 } END { print s }') $(awk '/VmRSS/ { print $2 }' /proc/$PPID/status)" >> '${log}'\necho working\n`,
  );
  measure(
    [
      node,
      bin,
      'loop',
      'Continue.',
      '--check',
      'false',
      '--agent',
      agent,
      '--max-iterations',
      String(iterations),
      '--stuck-after',
      '0',
      '--quiet',
    ],
    {
      cwd: project,
      env: { PATH: process.env.PATH, HOME: folder, GIT_AUTHOR_NAME: 'b', GIT_COMMITTER_NAME: 'b' },
    },
  );
  const lines = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map(line => line.split(' ').map(Number));
  if (lines.length < iterations)
    throw new Error(`only ${lines.length} of ${iterations} iterations: ${readdirSync(folder)}`);
  const span = Math.min(100, Math.floor(iterations / 4));
  const cpu = at => (lines[at + span - 1][1] - lines[at][1]) / 1e9 / (span - 1);
  const [early, late] = [cpu(span), cpu(iterations - span)];
  const [first, last] = [lines[span], lines.at(-1)];
  return [
    {
      id: 'P8',
      what: `CPU of an iteration, the last of ${iterations}`,
      floor: `an early one ${ms(early)}`,
      ours: ms(late),
      value: late / early,
      limit: 1.1,
    },
    {
      id: 'P8',
      what: `memory after ${iterations} iterations`,
      floor: `after ${span}: ${Math.round(first[2] / 1024)} MB`,
      ours: `${Math.round(last[2] / 1024)} MB`,
      value: last[2] / first[2],
      limit: 1.5,
    },
    {
      id: 'P8',
      what: 'length of the prompt',
      floor: `iteration ${span + 1}: ${first[0]} bytes`,
      ours: `${last[0]} bytes`,
      value: last[0] / first[0],
      limit: 1.05,
    },
  ];
}
