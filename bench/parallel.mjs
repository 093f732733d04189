// P9: many loops in one process, through the library.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, freshRepo, here, measure, ms, node } from './measure.mjs';

export function parallel(folder, quick) {
  const loops = quick ? 16 : 64;
  const iterations = 5;
  for (let at = 0; at < loops; at++) {
    const project = join(folder, `p${at}`);
    mkdirSync(project);
    freshRepo(project);
  }
  const program = join(folder, 'many.mjs');
  writeFileSync(
    program,
    `import { createLoop, defineAgent } from ${JSON.stringify(join(here, '../dist/lib/index.js'))};
     import { readFileSync, writeFileSync } from 'node:fs';
     const agent = defineAgent('still', async ({ say }) => { say?.('working'); return 'working'; });
     const count = Number(process.argv[2]);
     await Promise.all(Array.from({ length: count }, (_, at) =>
       createLoop({ task: 'Continue.', checks: ['true'], maximumIterations: ${iterations}, stuckAfter: 0 }, { agent, cwd: process.argv[3] + '/p' + at }).run()));
     writeFileSync(process.argv[4], /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);`,
  );
  const at = count => {
    const peak = join(folder, `peak-${count}`);
    const { cpu, status } = measure([node, program, String(count), folder, peak], { env, cwd: folder });
    if (status !== 0) throw new Error(`${count} loops in one process ended with ${status}`);
    return { cpu, peak: Number(execFileSync('cat', [peak], { encoding: 'utf8' })) / 1024 };
  };
  const one = at(1);
  const all = at(loops);
  const start = measure([node, '-e', '0']).cpu;
  const each = ({ cpu }, count) => (cpu - start) / count / iterations;
  return [
    {
      id: 'P9',
      what: `memory of ${loops} loops in one process`,
      floor: 'nothing',
      ours: `${Math.round(all.peak)} MB`,
      value: all.peak,
      unit: 'MB',
      limit: 150,
    },
    {
      id: 'P9',
      what: `CPU of an iteration, ${loops} loops at once`,
      floor: `one loop ${ms(each(one, 1))}`,
      ours: ms(each(all, loops)),
      value: each(all, loops) / each(one, 1),
      limit: 1,
    },
  ];
}
