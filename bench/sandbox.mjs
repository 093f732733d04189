// P12: what a sandbox costs. The turn and the check do nothing, so what is left is the sandbox; a turn of two seconds shows what is felt.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, interleaved, measure, ms, node, script } from './measure.mjs';

export function sandbox(folder, quick) {
  const turns = 10;
  const agent = script(join(folder, 'agent'), '#!/bin/sh\ncat >/dev/null\necho working\n');
  const slow = script(join(folder, 'slow'), '#!/bin/sh\ncat >/dev/null\nsleep 2\n');
  mkdirSync(join(folder, '.ralph'));
  writeFileSync(
    join(folder, '.ralph/settings.json'),
    JSON.stringify({ guardrails: [{ command: 'true' }], maxFailures: 100 }),
  );
  const run = (command, flag, iterations) => () =>
    measure([node, bin, 'run', '-p', 'go', '--agent', command, '-m', String(iterations), flag], {
      cwd: folder,
    });
  if (run(agent, '--sandbox=srt', 1)().status === 2) {
    console.log('       P12 srt does not work here: ralph doctor says why');
    return [];
  }
  const result = interleaved(quick ? 1 : 5, {
    plainOne: run(agent, '--no-sandbox', 1),
    plainMany: run(agent, '--no-sandbox', 1 + turns),
    srtOne: run(agent, '--sandbox=srt', 1),
    srtMany: run(agent, '--sandbox=srt', 1 + turns),
    plainSlow: run(slow, '--no-sandbox', 1),
    plainSlower: run(slow, '--no-sandbox', 2),
    srtSlow: run(slow, '--sandbox=srt', 1),
    srtSlower: run(slow, '--sandbox=srt', 2),
  });
  const each = name => (result[`${name}Many`].wall - result[`${name}One`].wall) / turns;
  const felt = name => result[`${name}Slower`].wall - result[`${name}Slow`].wall;
  const opening = result.srtOne.wall - result.plainOne.wall - (each('srt') - each('plain'));
  return [
    {
      id: 'P12',
      what: 'a command in srt, wall',
      floor: `a turn and a check outside ${ms(each('plain'))}`,
      ours: `inside ${ms(each('srt'))}`,
      value: ((each('srt') - each('plain')) / 2) * 1000,
      unit: 'ms',
      limit: 250,
    },
    {
      id: 'P12',
      what: 'a turn of two seconds in srt, wall',
      floor: `outside ${ms(felt('plain'))}`,
      ours: `inside ${ms(felt('srt'))}`,
      value: felt('srt') / felt('plain'),
      limit: 1.25,
    },
    {
      id: 'P12',
      what: 'once for a run: looking whether srt works, opening it',
      floor: `a run outside ${ms(result.plainOne.wall)}`,
      ours: `inside ${ms(result.srtOne.wall)}`,
      value: opening,
      unit: 's',
      limit: 2,
    },
  ];
}
