// P13: what containment costs an iteration and a check. Turn and check do nothing, so what is left is the wall; the least of all rounds, because a busy machine starts programs slowly.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, interleaved, measure, ms, node, script } from './measure.mjs';

export function containment(folder, quick) {
  const turns = 20;
  const checks = 40;
  const agent = script(join(folder, 'agent'), '#!/bin/sh\ncat >/dev/null\necho working\n');
  const project = (name, count) => {
    const cwd = join(folder, name);
    mkdirSync(join(cwd, '.ralph'), { recursive: true });
    const guardrails = Array.from({ length: count }, (_, at) => ({ command: `: ${at}` }));
    writeFileSync(join(cwd, '.ralph/settings.json'), JSON.stringify({ guardrails, maxFailures: 100 }));
    return cwd;
  };
  const few = project('few', 0);
  const many = project('many', checks);
  const run = (cwd, containment, iterations) => () =>
    measure(
      [
        node,
        bin,
        'run',
        '-p',
        'go',
        '--agent',
        agent,
        '-m',
        String(iterations),
        '--containment',
        containment,
      ],
      { cwd },
    );
  const at = containment => ({
    [`${containment}One`]: run(few, containment, 1),
    [`${containment}Turns`]: run(few, containment, 1 + turns),
    [`${containment}Checks`]: run(many, containment, 1),
  });
  const result = interleaved(quick ? 3 : 9, { ...at('off'), ...at('auto') });
  const turn = name => (result[`${name}Turns`].least - result[`${name}One`].least) / turns;
  const check = name => (result[`${name}Checks`].least - result[`${name}One`].least) / checks;
  const row = (what, each) => ({
    id: 'P13',
    what: `containment of ${what}, wall`,
    floor: `plain ${ms(each('off'))}`,
    ours: `contained ${ms(each('auto'))}`,
    value: (each('auto') - each('off')) * 1000,
    unit: 'ms',
    limit: 15,
  });
  return [
    row('an iteration', turn),
    row('a check', check),
    {
      id: 'P13',
      what: 'once for a run: looking whether containment works, wall',
      floor: `a run of one turn, plain ${ms(result.offOne.least)}`,
      ours: `contained ${ms(result.autoOne.least)}`,
      value: (result.autoOne.least - result.offOne.least) * 1000,
      unit: 'ms',
      limit: 50,
    },
  ];
}
