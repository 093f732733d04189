/** What git says of a merge is read as what is to be decided: its kind, both sides, and what git has put there. */

import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { conflictWords, pathsOf, undecidedIn } from '../../src/domain/lanes/conflict.ts';
import { isProblem } from '../../src/domain/text/problem.ts';
import { git } from '../../src/platform/git.ts';
import { entriesAt, mergeTrees } from '../../src/workspace/merge-tree.ts';
import { gitEnv, type Repo, repo } from '../rig/repo.ts';

const LINES = Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n');
const sh = (at: Repo, script: string) =>
  execFileSync('sh', ['-ec', script], { cwd: at.dir, env: gitEnv(), stdio: 'pipe', encoding: 'utf8' });

/** Both sides from the same commit, and what comes of merging them. */
async function merged(landed: string, own: string, fix = 'true') {
  const at = repo({ 'text.txt': 'a\n', 'old.txt': LINES, 'binary.bin': 'a\0b', 'README.md': '#\n' });
  sh(at, `git update-index --add --cacheinfo 160000,${'1'.repeat(40)},sub; git commit -qm sub`);
  const commit = (branch: string, script: string) => {
    at.git('checkout', '--quiet', '-B', branch, 'main');
    sh(at, `${script}; git add -A -- ':!sub'; git commit -qm ${branch}`);
    return at.git('rev-parse', 'HEAD').trim();
  };
  const [one, other] = [commit('landed', landed), commit('own', own)];
  const there = git(at.dir, gitEnv());
  const found = await mergeTrees(there, one, other);
  if (isProblem(found)) throw new Error(found.what);
  const { conflicts, tree } = found;
  // An agent at work on what the merge has left.
  at.git(
    'checkout',
    '--quiet',
    '--force',
    '-B',
    'lane',
    at.git('commit-tree', tree, '-p', other, '-m', 'm').trim(),
  );
  sh(at, `${fix}; git add -A -- ':!sub'; git commit -qm fix --allow-empty`);
  const now = await entriesAt(there, 'HEAD', pathsOf(conflicts));
  if (isProblem(now)) throw new Error(now.what);
  return { conflicts, open: undecidedIn(conflicts, now).length };
}

const sub = (digit: string) => `git update-index --cacheinfo 160000,${digit.repeat(40)},sub`;
const MADE_UP = /~[0-9a-f]{40}$/;

describe('a conflict', () => {
  test.each<[kind: string, landed: string, own: string, fix: string, words: readonly string[]]>([
    [
      'text',
      'echo 1 > text.txt',
      'echo 2 > text.txt',
      'echo 12 > text.txt',
      ['text.txt (text): both changed'],
    ],
    ['text', 'echo 1 > new', 'echo 2 > new', 'echo 12 > new', ['new (text): both added']],
    [
      'binary',
      "printf 'a\\0c' > binary.bin",
      "printf 'a\\0d' > binary.bin",
      "printf 'a\\0d' > binary.bin",
      ['binary.bin (binary)', 'git cat-file -p'],
    ],
    [
      'delete/change',
      'rm text.txt',
      'echo 2 > text.txt',
      'rm text.txt',
      ['what has landed deleted it, this work changed it'],
    ],
    [
      'delete/change',
      'echo 1 > text.txt',
      'rm text.txt',
      'echo 3 > text.txt',
      ['this work deleted it, what has landed changed it'],
    ],
    [
      'rename/rename',
      'git mv old.txt one.txt',
      'git mv old.txt two.txt',
      'rm two.txt',
      ['old.txt (rename/rename): what has landed renamed it to one.txt, this work to two.txt'],
    ],
    [
      'rename/delete',
      'git mv old.txt one.txt; echo x >> one.txt',
      'rm old.txt',
      'rm one.txt',
      ['one.txt (rename/delete): what has landed renamed it so, this work deleted it'],
    ],
    [
      'rename/delete',
      'rm old.txt',
      'git mv old.txt two.txt; echo x >> two.txt',
      'mv two.txt three.txt',
      ['two.txt (rename/delete): this work renamed it so'],
    ],
    [
      'file/folder',
      'echo 1 > f',
      'mkdir f; echo 2 > f/x',
      'mv f~* f/y',
      ['f (file/folder): what has landed has a file under this name, this work a folder'],
    ],
    [
      'file/folder',
      'mkdir f; echo 2 > f/x',
      'echo 1 > f',
      'rm f~*',
      ['f (file/folder): this work has a file under this name, what has landed a folder'],
    ],
    [
      'mode',
      'echo x > m',
      'echo x > m; chmod +x m',
      'chmod +x m',
      ['m (mode): what has landed has it as a plain file', 'this work as a program'],
    ],
    [
      'type',
      'echo 1 > text.txt; chmod +x text.txt',
      'rm text.txt; ln -s README.md text.txt',
      'rm text.txt~*',
      ['text.txt (type)', 'a link'],
    ],
    [
      'submodule',
      sub('2'),
      sub('3'),
      sub('3'),
      [`sub (submodule): what has landed is at ${'2'.repeat(40)}, this work at ${'3'.repeat(40)}`],
    ],
  ])('%s: %s against %s', async (kind, landed, own, fix, words) => {
    const left = await merged(landed, own);
    expect(left.conflicts.map(each => each.kind)).toEqual([kind]);
    expect(left.open, 'nothing was decided').toBe(1);
    for (const part of words) expect(conflictWords(left.conflicts)).toContain(part);
    expect((await merged(landed, own, fix)).open, 'it was decided').toBe(0);
  });

  test('of which git made up a name is about that name: more in the folder decides nothing', async () => {
    const { conflicts, open } = await merged('echo 1 > f', 'mkdir f; echo 2 > f/x', 'echo 3 > f/z');
    expect(pathsOf(conflicts)).toEqual([expect.stringMatching(MADE_UP)]);
    expect(open).toBe(1);
  });

  test('in a name that is not UTF-8 is decided like any other', async () => {
    const name = "$(printf 'b\\344d')";
    const solved = await merged(`echo 1 > ${name}`, `echo 2 > ${name}`, `echo 12 > ${name}`);
    expect(solved).toMatchObject({ conflicts: [{ kind: 'text' }], open: 0 });
    expect((await merged(`echo 1 > ${name}`, `echo 2 > ${name}`)).open).toBe(1);
  });

  test('in one of two names that are not UTF-8 is not decided by the other', async () => {
    const [one, other] = ["$(printf 'b\\344d')", "$(printf 'b\\345d')"];
    const both = (word: string) => `echo ${word} > ${one}; echo ${word} > ${other}`;
    const { conflicts, open } = await merged(both('1'), both('2'), `echo 12 > ${one}`);
    expect(pathsOf(conflicts)).toEqual(['"b\\344d"', '"b\\345d"']);
    expect(open).toBe(1);
  });

  test('of two links has no marks', async () => {
    const { conflicts } = await merged('ln -s one link', 'ln -s two link');
    expect(conflicts).toMatchObject([{ kind: 'binary' }]);
    expect(conflictWords(conflicts)).toContain('There is the one that has landed');
  });
});
