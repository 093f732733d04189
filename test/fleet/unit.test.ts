import { expect, test } from 'vitest';
import { heldRef, shownBranch } from '../../src/fleet/unit.ts';

test('each holder of a unit writes to names of its own, which are no branches', () => {
  const of = (fence: number) =>
    ['carry', 'work', 'pins/US-001/a'].map(name => heldRef({ id: 'u', fence }, name));
  const names = [1, 2, 11].flatMap(of);
  expect(new Set(names).size).toBe(names.length);
  for (const fence of [1, 2, 11])
    for (const name of of(fence)) expect(name.startsWith(`refs/ralph/u/${fence}/`)).toBe(true);
  expect(['loop', 'prd'].map(kind => shownBranch({ id: 'u', kind: kind as 'loop', parent: null }))).toEqual([
    'ralph/u',
    'ralph/u/_int',
  ]);
  expect(shownBranch({ id: 'u.US-001.2', kind: 'story', parent: 'u' })).toBe('ralph/u/US-001');
});
