import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { treeState } from '../../src/workspace/tree-status.ts';
import { folder, type Repo, repo, stateEnv } from '../rig/repo.ts';

const env = stateEnv();
const state = (work: Repo) => treeState({ cwd: work.dir, env });

describe('the state of a tree is another', () => {
  const changes: Readonly<Record<string, (work: Repo) => void>> = {
    'after an edit': work => work.write('a', 'b\n'),
    'after one more edit of the same size at the same time': work => {
      work.write('dirty', 'DIRTY\n');
      utimesSync(work.path('dirty'), 1, 1);
    },
    'after a new file': work => work.write('new', ''),
    'after an edit of a file that git does not know': work => work.write('untracked', 'UNTRACKED\n'),
    'after a deletion': work => rmSync(work.path('a')),
    'after a commit': work => void work.git('commit', '-qm', 'x', '--allow-empty'),
    'after a change of mode': work => chmodSync(work.path('a'), 0o755),
    'when a link points elsewhere': work => {
      rmSync(work.path('link'));
      symlinkSync('elsewhere', work.path('link'));
    },
    'when a large file grows': work => truncateSync(work.path('large'), 5_000_001),
    'after one more change inside of a submodule': work => work.write('sub/x', 'CHANGED\n'),
    'after a change inside of a repository of the agent': work => work.write('inner/x', 'CHANGED\n'),
  };
  test.for(Object.entries(changes))('%s', async ([, change]) => {
    const work = everyKind();
    const before = await state(work);
    expect(await state(work)).toBe(before);
    change(work);
    expect(await state(work)).toMatch(/^[0-9a-f]{16}$/);
    expect(await state(work)).not.toBe(before);
  });
});

describe('the state of a tree is the same', () => {
  const changes: Readonly<Record<string, (work: Repo) => void>> = {
    'when content is written anew': work => {
      for (const file of ['a', 'dirty', 'untracked']) {
        work.write(file, work.read(file));
        utimesSync(work.path(file), 1, 1);
      }
    },
    'when Ralph writes': work => work.write('.ralph/ralph-progress.md', '# more\n'),
    'when something ignored changes': work => work.write('x.o', 'changed\n'),
    'when an edit is taken back': work => {
      work.write('a', 'b\n');
      work.write('a', 'a\n');
    },
    'when a repository inside is made anew with the same files': work => {
      rmSync(work.path('inner/.git'), { recursive: true });
      execFileSync('git', ['init', '-q', work.path('inner')], { env });
    },
  };
  test.for(Object.entries(changes))('%s', async ([, change]) => {
    const work = everyKind();
    const before = await state(work);
    change(work);
    expect(await state(work)).toBe(before);
  });
});

test.for([
  ['has lost its .git', () => {}],
  [
    'is a link to the repository around it',
    (work: Repo) => {
      rmSync(work.path('sub'), { recursive: true });
      symlinkSync('.', work.path('sub'));
    },
  ],
  ['has a broken .git', (work: Repo) => work.write('sub/.git/broken', 'x\n')],
] as const)('a submodule that %s hides nothing of the rest, nor leads back into it', async ([, damage]) => {
  const work = everyKind();
  rmSync(work.path('sub/.git'));
  damage(work);
  const before = await state(work);
  expect(before).toMatch(/^[0-9a-f]{16}$/);
  work.write('a', 'b\n');
  expect(await state(work)).not.toBe(before);
});

test('a repository without a commit has a state, and none has none', async () => {
  const work = folder();
  expect(await state(work)).toMatchObject({ what: 'this is not in a git repository' });
  work.git('init', '-q');
  const before = await state(work);
  work.write('a', 'a\n');
  expect(await state(work)).not.toBe(before);
});

/** A repository with something changed of every kind. */
function everyKind(): Repo {
  const inner = repo({ x: 'x\n' });
  const work = repo({ a: 'a\n', dirty: 'clean\n', '.gitignore': '*.o\n' });
  work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, 'sub');
  work.git('commit', '-qm', 'sub');
  work.write('sub/x', 'changed\n');
  work.write('dirty', 'dirty\n');
  utimesSync(work.path('dirty'), 1, 1);
  work.write('untracked', 'untracked\n');
  work.write('x.o', 'object\n');
  symlinkSync('somewhere', work.path('link'));
  writeFileSync(work.path('large'), '');
  truncateSync(work.path('large'), 5_000_000);
  work.write('inner/x', 'x\n');
  execFileSync('git', ['init', '-q', work.path('inner')], { env });
  return work;
}
