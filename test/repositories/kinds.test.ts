/** Each kind of repository, worked in each way: it works, or it is refused before anything is spent; and nothing is lost. */
import { describe, test } from 'vitest';
import { KINDS, waysOf } from './kinds.ts';
import { tryWay } from './ways.ts';

describe.for(Object.entries(KINDS))('%s', ([, kind]) => {
  test.for(waysOf(kind))('%s', async (way, { skip }) => {
    const impossible = kind.impossible?.();
    if (impossible !== undefined) return skip(impossible);
    const check = ['ls made-*', ...(kind.check ? [kind.check] : [])].join(' && ');
    const flags = [...(kind.flags ?? []), '--check', check];
    await tryWay(kind.make(), way, { ...kind, flags });
  });
});
