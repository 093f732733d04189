/** Each kind of machine, worked on in each way: it works, or it is refused before anything is spent; and nothing is lost. */
import { describe, test } from 'vitest';
import { folder } from '../rig/repo.ts';
import { project, waysOf } from './kinds.ts';
import { giveTo, MACHINES } from './machines.ts';
import { tryWay } from './ways.ts';

const PROGRAM = '#!/bin/sh\nls made-*\n';

describe.for(Object.entries(MACHINES))('%s', ([, machine]) => {
  test.for(waysOf(machine))('%s', async (way, { skip }) => {
    const impossible = machine.impossible?.();
    if (impossible !== undefined) return skip(impossible);
    const [work, spare] = [project({ 'bin/check': PROGRAM }), folder('ralph-spare-')];
    work.git('update-index', '--chmod=+x', 'bin/check');
    work.git('commit', '--quiet', '--message', 'A program');
    work.git('checkout', '--quiet', '--', 'bin');
    const owner = machine.owner?.();
    await tryWay(work, way, {
      ...machine,
      flags: ['--check', 'bin/check'],
      options: machine.options(work, spare),
      script: machine.script?.(spare),
      begin() {
        if (owner) for (const { dir } of [work, spare]) giveTo(dir, owner);
      },
      end() {
        if (owner) giveTo(work.dir, { uid: 0, gid: 0 });
      },
    });
  });
});
