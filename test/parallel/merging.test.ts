/** What has landed is put into the files of a lane, and what its agent is told of it. */
import { describe, expect, test } from 'vitest';
import type { SentBackWhy } from '../../src/domain/lanes/board.ts';
import { pathsOf } from '../../src/domain/lanes/conflict.ts';
import { isProblem } from '../../src/domain/text/problem.ts';
import { type MergeLeft, mergeTip, sentBackWords, unsolved } from '../../src/parallel/merging.ts';
import type { StoryBranch } from '../../src/workspace/story-branch.ts';
import { type Files, memory } from './memory.ts';

/** A lane with these changes; others have landed those. */
async function brought(lane: Files, landed: Files, ownPaths: readonly string[] = []) {
  const git = memory({ 'a.txt': 'a', 'b.txt': 'b', 'list.md': 'open' });
  const head = git.work('base', lane);
  const tip = Object.keys(landed).length === 0 ? 'base' : git.work('base', landed);
  let at = head;
  const branch = {
    commitWork: async () => ({ commit: head, left: [] }),
    async moveTo(commit: string) {
      at = commit;
    },
  } as unknown as StoryBranch;
  const noted: MergeLeft[] = [];
  const note = (left: MergeLeft) => noted.push({ ...left, merge: `${at === head}` });
  const found = await mergeTip(git.integration, branch, tip, ownPaths, note);
  const conflicts = isProblem(found) ? found : pathsOf(found);
  return { conflicts, noted, files: git.filesOf(at), isMoved: at !== head };
}

describe('a lane', () => {
  test('gets what has landed beside its own work', async () => {
    const { conflicts, files } = await brought({ 'a.txt': 'A' }, { 'b.txt': 'B' });
    expect(conflicts).toEqual([]);
    expect(files).toMatchObject({ 'a.txt': 'A', 'b.txt': 'B' });
  });

  test('gets the marks of a conflict to solve, and is told in which files', async () => {
    const { conflicts, noted, files } = await brought({ 'a.txt': 'A' }, { 'a.txt': 'B' });
    expect(conflicts).toEqual(['a.txt']);
    // Before anything was moved.
    expect(noted).toMatchObject([{ merge: 'true', conflicts: [{ kind: 'text' }] }]);
    expect(files['a.txt']).toMatch(/^<{7} /);
  });

  test('that has all of it already is left alone', async () => {
    expect(await brought({ 'a.txt': 'A' }, {})).toMatchObject({ conflicts: [], isMoved: false });
  });

  test('keeps its own copy of Ralph’s files, and they never conflict', async () => {
    const own = { 'list.md': 'mine' };
    const { conflicts, files } = await brought(own, { 'list.md': 'theirs', 'b.txt': 'B' }, ['list.md']);
    expect(conflicts).toEqual([]);
    expect(files).toMatchObject({ 'list.md': 'mine', 'b.txt': 'B' });
  });
});

describe('marks of a conflict', () => {
  const MARKS = '<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n';
  test.each<[string, string, string, readonly string[]]>([
    ['that are new', 'a', MARKS, ['a.txt']],
    ['that were there before', MARKS, `${MARKS}more\n`, []],
    ['of which only one is there', 'a', '=======\nA heading\n', []],
    ['that are longer, as .gitattributes can have them', 'a', MARKS.replace(/[<=>]{7}/g, '$&$&'), ['a.txt']],
    ['in a file with CRLF', 'a', MARKS.replaceAll('\n', '\r\n'), ['a.txt']],
    ['that do not begin their lines', 'a', MARKS.replaceAll('\n', '\n  ').replace(/^/, '  '), []],
  ])('%s', async (_, before, after, files) => {
    const git = memory({ 'a.txt': before });
    expect(await unsolved(git.integration, 'base', git.work('base', { 'a.txt': after }))).toEqual(files);
  });
});

describe('an agent whose work was sent back is told', () => {
  test.each<[SentBackWhy, readonly string[]]>([
    ['conflict', ['solve the conflict marks in a.ts, b.ts', 'It meets: The cart; The bill.']],
    ['red', ['merged with what has landed meanwhile the checks fail', 'It meets: The cart', '1 test failed']],
    ['unwatched', ['would not notice enough faults', '1 test failed']],
    ['changed', ['changed what was reviewed', 'It meets: The cart']],
  ])('%s', (why, parts) => {
    const back = { files: ['a.ts', 'b.ts'], others: ['The cart', 'The bill'], detail: '1 test failed' };
    for (const part of parts) expect(sentBackWords({ why, ...back })).toContain(part);
    expect(sentBackWords({ why, ...back, others: [] })).not.toContain('It meets');
  });
});
