/** What the runs, folders and branches of lanes are called: names that git and a file system take, and no two the same. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { laneBranch, parentOf } from '../../src/domain/lanes/board.ts';
import { childId, pinName, worktreeName } from '../../src/parallel/names.ts';
import { lane } from './board.ts';

const RUN = '20261115-015913-k3f9';

describe('the worktree of a lane', () => {
  test.each<[string, string]>([
    ['US-001', 'US-001'],
    ['a_b', 'a_b'],
    ['../../etc/passwd', 'etc-passwd'],
    ['--force', 'force'],
    ['Größe / Maß', 'Gr-e-Ma'],
    ['a.b', 'a-b'], // a dot would divide the ids of runs
    ['x'.repeat(60), 'x'.repeat(40)],
    ['日本', 'work'],
    ['', 'work'],
  ])('%j is in %j', (id, name) => {
    expect(worktreeName(RUN, { id }, { lanes: [lane(id)] })).toBe(`${RUN}/${name}`);
  });

  test('of two that would be the same is told apart by its place in the list', () => {
    const lanes = ['US 1', 'US-1', 'us.1', 'US-2'].map(id => lane(id));
    const names = lanes.map(each => worktreeName(RUN, each, { lanes }).slice(RUN.length + 1));
    // Also where a file system does not tell capitals from small letters.
    expect(names).toEqual(['US-1-1', 'US-1', 'us-1-3', 'US-2']);
  });

  test.each([
    [['US 1', 'US-1', 'US-1-1']],
    [['US-1-1', 'US 1', 'us-1']],
    [['a', 'A', 'a-2', 'A-2', 'A-1']],
    [['int', 'queue', 'INT', 'Queue!']],
    [['x'.repeat(50), 'x'.repeat(60), `${'x'.repeat(40)}-2`]],
    [['', '?', 'work', 'Work-2']],
  ])('is its own: %j', ids => {
    const lanes = ids.map(id => lane(id));
    const names = lanes.map(each =>
      worktreeName(RUN, each, { lanes })
        .slice(RUN.length + 1)
        .toLowerCase(),
    );
    expect(new Set(['int', 'queue', ...names]).size).toBe(ids.length + 2);
  });

  test('is its own, whatever the ids (property)', () => {
    const id = fc.stringMatching(/^[aA \-_.12]{0,5}$/);
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 12 }), ids => {
        const lanes = ids.map(each => lane(each));
        const names = lanes.map(each => worktreeName(RUN, each, { lanes }).toLowerCase());
        expect(new Set(names).size).toBe(ids.length);
      }),
    );
  });

  test('is never that of the branch on which everything lands', () => {
    const names = ['_int', '-_int'].map(id => worktreeName(RUN, { id }, { lanes: [lane(id)] }));
    expect(names).not.toContain(`${RUN}/_int`);
  });
});

describe('the run of a lane', () => {
  test.each<[readonly string[], string]>([
    [[], `${RUN}.US-001`],
    [[`${RUN}.US-001`], `${RUN}.US-001.2`],
    [[`${RUN}.US-001`, `${RUN}.US-001.2`], `${RUN}.US-001.3`],
  ])('after %j', (runs, id) => {
    const child = childId(`${RUN}/US-001`, lane('US-001', { runs }));
    expect(child).toBe(id);
    expect(parentOf(child)).toBe(RUN);
    expect(laneBranch(child)).toBe(`ralph/${RUN}/US-001`);
    expect(pinName(child)).toMatch(/^US-001\/(US-001|2|3)$/);
  });
});
