// P8: nothing grows with the number of iterations.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { accounts, asks, bin, freshRepo, ms, node, script } from './measure.mjs';

export async function growth(folder, quick) {
  const iterations = quick ? 300 : 1500;
  const ask = join(folder, 'ask'); // not in the repository: the agent's diff stays empty
  const project = join(folder, 'project');
  mkdirSync(project);
  freshRepo(project);
  const agent = script(
    join(folder, 'agent'),
    `#!/bin/sh\nn=$(cat | wc -c)\n${asks(ask, '$n')}\necho working\n`,
  );
  const limits = ['--max-iterations', String(iterations), '--stuck-after', '0', '--quiet'];
  const lines = await accounts(
    [node, bin, 'loop', 'Continue.', '--check', 'false', '--agent', agent, ...limits],
    ask,
    {
      cwd: project,
      env: { PATH: process.env.PATH, HOME: folder, GIT_AUTHOR_NAME: 'b', GIT_COMMITTER_NAME: 'b' },
    },
  );
  if (lines.length < iterations)
    throw new Error(`only ${lines.length} of ${iterations} iterations: ${readdirSync(folder)}`);
  const span = Math.min(100, Math.floor(iterations / 4));
  const cpu = at => (lines[at + span - 1].cpu - lines[at].cpu) / (span - 1);
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
      floor: `after ${span}: ${Math.round(first.memory / 1024)} MB`,
      ours: `${Math.round(last.memory / 1024)} MB`,
      value: last.memory / first.memory,
      limit: 1.5,
    },
    {
      id: 'P8',
      what: 'length of the prompt',
      floor: `iteration ${span + 1}: ${first.word} bytes`,
      ours: `${last.word} bytes`,
      value: last.word / first.word,
      limit: 1.05,
    },
  ];
}
