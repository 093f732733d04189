import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { identify, type ProcessId } from '../../src/platform/process-table.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { discardWorktree, removeWorktree } from '../../src/workspace/remove-worktree.ts';
import {
  listWorktrees,
  openWorktree,
  type Worktree,
  type WorktreeOptions,
} from '../../src/workspace/worktree.ts';
import type { SiteOptions } from '../../src/workspace/worktree-facts.ts';
import { moveBeforehand } from '../rig/moved-ref.ts';
import { folder, type Repo, repo, stateEnv } from '../rig/repo.ts';

const env = stateEnv();

async function opened(work: Repo, name: string, options: Partial<WorktreeOptions> = {}): Promise<Worktree> {
  const worktree = await openWorktree({ root: work.dir, env, name, ...options });
  if ('what' in worktree) throw new Error(worktree.what);
  onTestFinished(worktree.release);
  return worktree;
}

const gitIn = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

function commitIn(cwd: string, file: string, content: string): void {
  writeFileSync(join(cwd, file), content);
  gitIn(cwd, 'add', '--all');
  gitIn(cwd, 'commit', '-qm', `agent: ${file}`);
}

/** A process that lives until the test has ended. */
function living(): ProcessId {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  onTestFinished(() => void child.stdin.end());
  return identify(child.pid!)!;
}

function dead(): ProcessId {
  return { pid: spawnSync('true').pid, started: '1' };
}

function ownedBy(work: Repo, name: string, owner: ProcessId): void {
  const path = projectPaths(work.dir).worktreeOwner(name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(owner));
}

describe('a worktree', () => {
  test('is made from HEAD, on a branch of its own, and leaves the repository clean', {
    tags: 'promise',
  }, async () => {
    const work = repo();
    const { release: _, ...worktree } = await opened(work, 'fix-1');
    const path = work.path('.ralph/worktrees/fix-1');
    expect(worktree).toEqual({
      name: 'fix-1',
      root: work.dir,
      path,
      cwd: path,
      branch: 'ralph/fix-1',
      created: true,
      isUnready: true,
      madeReady: expect.any(Function),
      dirtyMain: false,
      notes: [],
    });
    expect(gitIn(path, 'rev-parse', 'HEAD', '--abbrev-ref', 'HEAD')).toBe(
      `${work.git('rev-parse', 'HEAD')}ralph/fix-1\n`,
    );
    expect(work.git('status', '--porcelain', '--untracked-files=all')).toBe('');
    expect(work.git('branch', '--show-current')).toBe('main\n');
  });

  test('is continued under the same name with everything that is in it', async () => {
    const work = repo();
    const first = await opened(work, 'a');
    commitIn(first.path, 'committed', 'c\n');
    writeFileSync(join(first.path, 'not-committed'), 'n\n');
    first.release();
    const second = await opened(work, 'a');
    expect(second).toMatchObject({
      created: false,
      notes: ['The worktree a was there already and is continued.'],
    });
    expect(readdirSync(second.path).sort()).toEqual(['.git', 'README.md', 'committed', 'not-committed']);
  });

  test('takes the id of the run for its name, or one of its own', async () => {
    const work = repo();
    const byRun = await openWorktree({ root: work.dir, env, runId: '20261115-015913-k3f9' });
    expect(byRun).toMatchObject({ branch: 'ralph/20261115-015913-k3f9', created: true });
    const [one, two] = [
      await openWorktree({ root: work.dir, env }),
      await openWorktree({ root: work.dir, env }),
    ];
    expect([one, two]).toMatchObject([{ created: true }, { created: true }]);
  });

  test('is attached to its branch when only that is there', async () => {
    const work = repo();
    work.git('checkout', '-qb', 'ralph/a');
    commitIn(work.dir, 'earlier', 'e\n');
    work.git('checkout', '-q', 'main');
    const { path, created } = await opened(work, 'a');
    expect({ created, files: readdirSync(path).sort() }).toEqual({
      created: true,
      files: ['.git', 'README.md', 'earlier'],
    });
  });

  test('does not touch a dirty tree, and says that its changes are not in it', {
    tags: 'promise',
  }, async () => {
    const work = repo({ a: 'a\n', b: 'b\n' });
    work.write('a', 'changed\n');
    work.write('b', 'staged\n');
    work.git('add', 'b');
    work.write('new', 'n\n');
    const before = [work.git('status', '--porcelain'), work.git('diff'), work.git('diff', '--cached')];
    const { dirtyMain, notes, path } = await opened(work, 'a');
    expect({ dirtyMain, notes }).toEqual({
      dirtyMain: true,
      notes: [`What is not committed in ${work.dir} is not in the worktree.`],
    });
    expect([work.git('status', '--porcelain'), work.git('diff'), work.git('diff', '--cached')]).toEqual(
      before,
    );
    expect(gitIn(path, 'status', '--porcelain')).toBe('');
  });

  test('starts where a detached HEAD stands', async () => {
    const work = repo();
    work.git('checkout', '-q', '--detach');
    commitIn(work.dir, 'x', 'x\n');
    const { path } = await opened(work, 'a');
    expect(gitIn(path, 'rev-parse', 'HEAD')).toBe(work.git('rev-parse', 'HEAD'));
  });

  test('has the same folder for a project that is below the top', async () => {
    const work = repo({ 'packages/a/x': 'x\n' });
    const root = work.path('packages/a');
    const { path, cwd } = await opened(work, 'a', { root });
    expect({ path, cwd }).toEqual({
      path: join(root, '.ralph/worktrees/a'),
      cwd: join(path, 'packages/a'),
    });
    expect(readdirSync(cwd)).toEqual(['x']);
  });

  test('runs no hook', async () => {
    const work = repo();
    work.write('.git/hooks/post-checkout', `#!/bin/sh\ntouch '${work.path('ran')}'\n`);
    execFileSync('chmod', ['+x', work.path('.git/hooks/post-checkout')]);
    await opened(work, 'a');
    expect(readdirSync(work.dir)).not.toContain('ran');
  });

  test('has the submodules that the project has, and says where one is not checked out', async () => {
    const inner = repo();
    const work = repo();
    work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, 'sub');
    work.git('commit', '-qm', 'sub');
    expect((await opened(work, 'b')).notes).toEqual([]);
    work.git('submodule', 'deinit', '--force', 'sub');
    rmSync(work.path('.git/modules'), { recursive: true });
    const { notes } = await opened(work, 'a');
    expect(notes).toEqual([expect.stringContaining("worktrees/a' submodule update --init --recursive")]);
  });

  test('says that a sparse checkout is one', async () => {
    const work = repo({ 'in/a': 'a\n', 'out/b': 'b\n' });
    work.git('sparse-checkout', 'set', 'in');
    const { notes } = await opened(work, 'a');
    expect(notes).toEqual([expect.stringContaining('sparse checkout')]);
  });
});

test('one that was cut off while it was being made is made anew, and what was there is kept', async () => {
  const work = repo();
  const worktree = await opened(work, 'a');
  writeFileSync(work.path('.git/worktrees/a/locked'), 'added with --lock');
  writeFileSync(join(worktree.path, 'mine'), '');
  worktree.release();
  expect((await opened(work, 'a')).created).toBe(true);
  const [aside = ''] = readdirSync(work.path('.ralph/worktrees')).filter(name => name.includes('incomplete'));
  expect(readdirSync(work.path(`.ralph/worktrees/${aside}`))).toContain('mine');
});

describe('many worktrees at once in one repository', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  test.for(['no lock', 'a lock that a dead process left', 'an empty lock from long ago'])(
    'are all made, with %s there',
    async lock => {
      const work = repo(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`f${index}`, 'x\n'])));
      const path = work.path('.git/ralph-worktree.lock');
      if (lock.startsWith('a lock')) writeFileSync(path, JSON.stringify(dead()));
      if (lock.startsWith('an empty')) execFileSync('touch', ['-d', '2020-01-01', path]);
      const made = await Promise.all(NAMES.map(name => opened(work, name)));
      expect(made.map(({ created }) => created)).toEqual(NAMES.map(() => true));
      expect((await listWorktrees({ root: work.dir, env })).map(({ name, dirty }) => [name, dirty])).toEqual(
        NAMES.map(name => [name, false]),
      );
      expect(readdirSync(work.path('.git')).filter(name => name.startsWith('ralph'))).toEqual([]);
    },
  );

  test('of one name are made once; the others are told that it is in use', async () => {
    const work = repo();
    const all = await Promise.all(NAMES.map(() => openWorktree({ root: work.dir, env, name: 'same' })));
    const refused = all.filter(each => 'what' in each);
    expect(refused).toHaveLength(NAMES.length - 1);
    expect(new Set(refused.map(({ what }) => what))).toEqual(
      new Set([`is in use by another run (process ${process.pid})`]),
    );
  });
});

describe('who works in a worktree', () => {
  test('a living process keeps others out', async () => {
    const work = repo();
    const owner = living();
    ownedBy(work, 'a', owner);
    expect(await openWorktree({ root: work.dir, env, name: 'a' })).toMatchObject({
      what: `is in use by another run (process ${owner.pid})`,
      fix: expect.stringContaining('--worktree=NAME'),
    });
  });

  test.for([
    ['a dead process', dead],
    ['another process that had the number of a living one', () => ({ pid: process.pid, started: 'before' })],
  ] as const)('%s does not', async ([, owner]) => {
    const work = repo();
    ownedBy(work, 'a', owner());
    await opened(work, 'a');
  });
});

describe('a worktree that cannot be opened is a problem, and nothing is changed', () => {
  const cases: Readonly<Record<string, readonly [(work: Repo) => void | Promise<void>, RegExp, RegExp?]>> = {
    'a file is in the way': [
      work => work.write('.ralph/worktrees/a', 'x\n'),
      /is in the way/,
      /move it away/,
    ],
    'a folder is in the way': [work => work.write('.ralph/worktrees/a/x', 'x\n'), /is in the way/],
    'another repository is in the way': [
      work => void gitIn(work.dir, 'init', '-q', work.path('.ralph/worktrees/a')),
      /is in the way/,
    ],
    'a link is in the way': [
      work => {
        mkdirSync(work.path('.ralph/worktrees'), { recursive: true });
        symlinkSync(work.dir, work.path('.ralph/worktrees/a'));
      },
      /is in the way/,
    ],
    'its branch is checked out elsewhere': [
      work => void work.git('checkout', '-qb', 'ralph/a'),
      /git cannot make the worktree: fatal: 'ralph\/a' is already checked out/,
    ],
    'a branch called ralph leaves no room for others below it': [
      work => void work.git('branch', 'ralph'),
      /git cannot make the worktree: fatal: .*ralph/,
    ],
    'it is on another branch': [
      async work => {
        const worktree = await opened(work, 'a');
        gitIn(worktree.path, 'checkout', '-qb', 'other');
        worktree.release();
      },
      /is on other and not on ralph\/a/,
      /switch ralph\/a/,
    ],
    'its folder was deleted': [
      async work => {
        const worktree = await opened(work, 'a');
        rmSync(worktree.path, { recursive: true });
        worktree.release();
      },
      /whose folder has been deleted/,
      /worktree prune/,
    ],
  };
  test.for(Object.entries(cases))('%s', async ([, [make, what, fix]]) => {
    const work = repo();
    await make(work);
    const before = work.git('for-each-ref');
    const problem = await openWorktree({ root: work.dir, env, name: 'a' });
    expect(problem).toMatchObject({
      what: expect.stringMatching(what),
      ...(fix && { fix: expect.stringMatching(fix) }),
    });
    expect(work.git('for-each-ref')).toBe(before);
    expect(work.git('status', '--porcelain')).toBe('');
  });

  test('the fixed ones then open', async () => {
    const work = repo();
    const { path, release } = await opened(work, 'a');
    commitIn(path, 'kept', 'k\n');
    release();
    rmSync(path, { recursive: true });
    work.git('worktree', 'prune');
    expect(readdirSync((await opened(work, 'a')).path)).toContain('kept');
  });

  test.for([
    '',
    '.',
    '..',
    '../x',
    'a/b',
    '.hidden',
    '-x',
    'a..b',
    'a.lock',
    'a.',
    'a b',
    'ä',
    'a\n',
    'x'.repeat(65),
    '@{u}',
    'a~1',
  ])('the name %j', async name => {
    const work = repo();
    expect(await openWorktree({ root: work.dir, env, name })).toMatchObject({
      where: `worktree ${JSON.stringify(name)}`,
      what: expect.stringContaining('cannot be the name'),
    });
    expect(readdirSync(work.dir)).toEqual(['.git', 'README.md']);
  });

  const places: Readonly<Record<string, readonly [(work: Repo) => void, RegExp]>> = {
    'no repository': [() => {}, /not in a git repository/],
    'a bare repository': [work => void work.git('init', '-q', '--bare'), /bare repository/],
    'a repository without a commit': [work => void work.git('init', '-q'), /needs a commit to start from/],
  };
  test.for(Object.entries(places))('%s', async ([, [make, what]]) => {
    const work = folder();
    make(work);
    expect(await openWorktree({ root: work.dir, env, name: 'a' })).toMatchObject({
      what: expect.stringMatching(what),
    });
    expect(readdirSync(work.dir)).not.toContain('.ralph');
  });

  test('a project folder that is not committed', async () => {
    const work = repo();
    work.write('new/x', 'x\n');
    const problem = await openWorktree({ root: work.path('new'), env, name: 'a' });
    expect(problem).toMatchObject({ what: 'this folder is not in the commit that ralph/a stands on' });
  });
});

describe('the list of worktrees', () => {
  test('says of each what is in it and who works there; others are left out', async () => {
    const work = repo();
    const [a, b] = [await opened(work, 'a'), await opened(work, 'b')];
    commitIn(a.path, 'one', '1\n');
    commitIn(a.path, 'two', '2\n');
    writeFileSync(join(b.path, 'new'), 'n\n');
    gitIn(b.path, 'checkout', '-q', '--detach');
    b.release();
    work.write('.ralph/worktrees/stray/x', 'x\n');
    work.git('worktree', 'add', '-q', work.path('.git/not-ours'));
    expect(await listWorktrees({ root: work.dir, env })).toMatchObject([
      { name: 'a', path: a.path, branch: 'ralph/a', dirty: false, ahead: 2, usedBy: process.pid },
      { name: 'b', path: b.path, branch: null, dirty: true, ahead: 0, usedBy: null },
    ]);
  });

  test('is empty where there are none', async () => {
    expect(await listWorktrees({ root: repo().dir, env })).toEqual([]);
    expect(await listWorktrees({ root: folder().dir, env })).toEqual([]);
  });
});

describe('removing a worktree', () => {
  test('takes away the folder and the branch when nothing is lost by it', {
    tags: ['promise', 'P-worktree'],
  }, async () => {
    const work = repo();
    const { path } = await opened(work, 'a');
    commitIn(path, 'x', 'x\n');
    work.git('merge', '-q', 'ralph/a');
    expect(await removeWorktree({ root: work.dir, env, name: 'a' })).toBeUndefined();
    expect(work.git('branch', '--format=%(refname:short)')).toBe('main\n');
    expect(work.git('worktree', 'list').split('\n')).toHaveLength(2);
    expect(await listWorktrees({ root: work.dir, env })).toEqual([]);
  });

  test('counts commits as safe that another branch has, and not only HEAD', async () => {
    const work = repo();
    const { path } = await opened(work, 'a');
    commitIn(path, 'x', 'x\n');
    work.git('branch', 'keep', 'ralph/a');
    expect(await removeWorktree({ root: work.dir, env, name: 'a' })).toBeUndefined();
    expect(work.git('branch', '--format=%(refname:short)')).toBe('keep\nmain\n');
  });

  const refusals: Readonly<Record<string, readonly [(work: Repo, path: string) => void, RegExp, RegExp]>> = {
    'changes that are not committed': [
      (_, path) => writeFileSync(join(path, 'README.md'), 'changed\n'),
      /holds changes that are not committed/,
      /status.*add --all.*commit/,
    ],
    'files that git does not know': [
      (_, path) => writeFileSync(join(path, 'new'), 'n\n'),
      /holds changes that are not committed/,
      /status/,
    ],
    'commits that no other branch has': [
      (_, path) => commitIn(path, 'x', 'x\n'),
      /holds 1 commit that no other branch has/,
      /log --oneline HEAD\.\.ralph\/a.*merge ralph\/a/,
    ],
    'commits on no branch': [
      (_, path) => {
        gitIn(path, 'checkout', '-q', '--detach');
        commitIn(path, 'x', 'x\n');
      },
      /is on no branch/,
      /switch ralph\/a/,
    ],
    'commits, after its folder was deleted': [
      (work, path) => {
        commitIn(path, 'x', 'x\n');
        rmSync(path, { recursive: true });
        work.git('worktree', 'prune');
      },
      /holds 1 commit that no other branch has/,
      /merge ralph\/a/,
    ],
    'another run': [work => ownedBy(work, 'a', living()), /is in use by another run/, /^$/],
  };
  test.for(Object.entries(refusals))('is refused while it holds %s', async ([, [make, what, fix]]) => {
    const work = repo();
    const { path } = await opened(work, 'a');
    make(work, path);
    const refs = work.git('for-each-ref');
    const problem = await removeWorktree({ root: work.dir, env, name: 'a' });
    expect(problem?.what).toMatch(what);
    expect(problem?.fix ?? '').toMatch(fix);
    expect(work.git('for-each-ref')).toBe(refs);
  });

  const cutOff: Readonly<Record<string, (path: string) => void>> = {
    'before git took its record away': path => rmSync(path, { recursive: true }),
    'when its `.git` was gone and files were left': path => rmSync(join(path, '.git')),
    'in an empty folder': path => {
      rmSync(path, { recursive: true });
      mkdirSync(path);
    },
  };
  test.for(Object.entries(cutOff))('that was cut off %s ends at the next try', async ([, cut]) => {
    const work = repo();
    const { path } = await opened(work, 'a');
    cut(path);
    expect(await discardWorktree({ root: work.dir, env, name: 'a', heldBy: 'main' })).toBeUndefined();
    expect(work.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(work.git('branch', '--format=%(refname:short)')).toBe('main\n');
    expect(existsSync(path)).toBe(false);
  });

  test('does not take a folder for one that git has no record of', async () => {
    const work = repo();
    const { path } = await opened(work, 'a');
    rmSync(join(path, '.git'));
    work.git('worktree', 'prune');
    expect((await discardWorktree({ root: work.dir, env, name: 'a', heldBy: 'main' }))?.what).toMatch(
      /git does not remove it/,
    );
    expect(existsSync(join(path, 'README.md'))).toBe(true);
  });

  test('that has lost its folder and its branch takes away what git has on record', async () => {
    const work = repo();
    const { path } = await opened(work, 'a');
    rmSync(path, { recursive: true });
    work.git('update-ref', '-d', 'refs/heads/ralph/a');
    expect(await removeWorktree({ root: work.dir, env, name: 'a' })).toBeUndefined();
    expect(work.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });

  const ways = {
    removed: removeWorktree,
    discarded: (site: SiteOptions) => discardWorktree({ ...site, heldBy: 'main' }),
  };
  test.for(Object.entries(ways))('leaves a branch that somebody moves when it is %s', async ([, remove]) => {
    const work = repo();
    const { path } = await opened(work, 'a');
    const tree = work.git('rev-parse', 'main^{tree}').trim();
    const theirs = work.git('commit-tree', tree, '-p', 'main', '-m', 'of somebody else').trim();
    const late = { git: '-d refs/heads/ralph/a', project: work, ref: 'refs/heads/ralph/a', to: theirs };
    const PATH = moveBeforehand(late);
    const problem = await remove({ root: work.dir, env: { ...env, PATH }, name: 'a' });
    expect(problem).toMatchObject({ where: 'ralph/a', what: expect.stringContaining(`is at ${theirs}`) });
    expect(work.git('rev-parse', 'ralph/a').trim()).toBe(theirs);
    expect(existsSync(path)).toBe(false);
    expect(await discardWorktree({ root: work.dir, env, name: 'a', heldBy: 'main' })).toMatchObject({
      what: `it is at ${theirs}, which is nowhere else`,
      fix: expect.stringContaining('main..ralph/a` shows what it holds'),
    });
  });

  test('takes away what git has on record of its branch, and leaves one that is checked out', async () => {
    const work = repo();
    await opened(work, 'a');
    work.git('config', 'branch.ralph/a.description', 'mine');
    expect(await removeWorktree({ root: work.dir, env, name: 'a' })).toBeUndefined();
    expect(work.git('config', '--list')).not.toContain('ralph/a');
    work.git('switch', '-q', '-c', 'ralph/b');
    expect(await removeWorktree({ root: work.dir, env, name: 'b' })).toMatchObject({
      where: 'ralph/b',
      what: `it is checked out in ${work.dir}`,
      fix: expect.stringContaining('switch --detach` leaves it there'),
    });
  });

  test('of a name that there is not is a problem', async () => {
    expect(await removeWorktree({ root: repo().dir, env, name: 'a' })).toMatchObject({
      what: 'there is no such worktree',
    });
  });
});

test('a lock that another git lets go of in a moment is waited for', async () => {
  const work = repo();
  const bin = folder('ralph git ');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const lock = `fatal: cannot lock ref 'refs/heads/ralph/w': Unable to create '/x/w.lock': File exists.`;
  bin.script(
    'git',
    `case "$*" in *"worktree add"*)
  if [ ! -e '${bin.path('tried')}' ]; then : > '${bin.path('tried')}'; echo "${lock}" >&2; exit 128; fi ;;
esac
exec '${real}' "$@"`,
  );
  const worktree = await opened(work, 'w', { env: { ...env, PATH: `${bin.dir}:${env.PATH}` } });
  expect([worktree.created, worktree.branch]).toEqual([true, 'ralph/w']);
});
