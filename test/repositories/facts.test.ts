/** What real repositories have that small ones do not: rules for merging, keys to sign with, hooks that look at messages, places that cannot be written. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withTrailers } from '../../src/workspace/scm.ts';
import { ralph } from '../rig/commands.ts';
import { folder, gitEnv, type Repo, repo, repoAt } from '../rig/repo.ts';
import { FILES } from './kinds.ts';
import { loop, WRITES } from './rig.ts';

const COMMITS = { scm: { command: 'git', tasks: ['commit'] } };
const PARALLEL = ['--tasks', 'tasks.md', '--parallel', '2', '--check', 'true', '--max-iterations', '12'];

test('no line of the trailers is longer than what looks at messages allows', () => {
  for (const title of ['short', 'x'.repeat(89), `${'word '.repeat(60)}`, '字'.repeat(200)]) {
    const lines = withTrailers('Fix it', { runId: '20261115-015913-k3f9', title }).split('\n');
    expect(lines.every(line => line.length <= 100)).toBe(true);
    expect(lines.at(-1)).toMatch(/^Ralph-Task: \S.*\S$/s);
  }
});

describe('rules for merging', () => {
  const tasks = '- [ ] one\n- [ ] two\n- [ ] three\n';

  test('`merge=union` takes the lines of all lanes, and costs no turn', async () => {
    const work = repo({ ...FILES, 'tasks.md': tasks, '.gitattributes': 'log merge=union\n', log: 'start\n' });
    const { code, said, turns } = await loop(work, 'echo "$RALPH_LANE_INDEX" >> log', PARALLEL);
    expect(code, said).toBe(0);
    expect(turns).toHaveLength(3);
    expect(work.read('log').trim().split('\n').sort()).toEqual(['0', '1', '2', 'start']);
  });

  test('a driver of the repository is not run', async () => {
    const work = repo({ ...FILES, '.gitattributes': 'log merge=own\n', log: 'start\n' });
    work.git('config', 'merge.own.driver', `touch '${work.path('.git/driven')}'`);
    await loop(work, 'echo "$RALPH_LANE_INDEX" > log', PARALLEL);
    expect(existsSync(work.path('.git/driven'))).toBe(false);
  });
});

describe('signing', () => {
  function signed(key: string): Repo {
    const work = repo(FILES);
    for (const [name, value] of [
      ['gpg.format', 'ssh'],
      ['user.signingkey', key],
      ['commit.gpgsign', 'true'],
    ] as const)
      work.git('config', name, value);
    return work;
  }

  test('is done for every commit that lands', async () => {
    const keys = folder('ralph-keys-');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keys.path('key')]);
    const work = signed(keys.path('key'));
    const { code, said } = await loop(work, WRITES, PARALLEL);
    expect(code, said).toBe(0);
    const made = work.git('rev-list', 'HEAD', '^HEAD~2^@').trim().split('\n').slice(0, 4);
    for (const commit of work.git('rev-list', '--first-parent', '--max-count=2', 'HEAD').trim().split('\n'))
      expect(work.git('cat-file', 'commit', commit)).toContain('gpgsig -----BEGIN SSH SIGNATURE');
    expect(made.length).toBeGreaterThan(0);
  });

  test('is done for what `ralph land` commits', async () => {
    const keys = folder('ralph-keys-');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keys.path('key')]);
    const work = signed(keys.path('key'));
    expect((await loop(work, WRITES, ['Add', '--check', 'ls made-*'])).code).toBe(0);
    const { code, stderr } = await ralph(['land'], { cwd: work.dir });
    expect(code, stderr).toBe(0);
    expect(work.git('show', '--name-only', '--format=')).toContain('made-');
    expect(work.git('cat-file', 'commit', 'HEAD')).toContain('gpgsig -----BEGIN SSH SIGNATURE');
  });

  test('that fails is said before anything is spent', async () => {
    const { code, said, turns } = await loop(signed('/nowhere/key'), WRITES, PARALLEL);
    expect([code, turns]).toEqual([2, []]);
    expect(said).toMatch(/commits are to be signed here, and that fails/);
  });

  test('starts no program that the repository names', async () => {
    const work = signed('/nowhere/key');
    work.script('.git/sign', `touch '${work.path('.git/started')}'`);
    work.git('config', 'gpg.ssh.program', work.path('.git/sign'));
    expect((await loop(work, WRITES, PARALLEL)).code).toBe(2);
    expect(existsSync(work.path('.git/started'))).toBe(false);
  });
});

test.each([
  ['of the repository alone', (work: Repo) => work.path('.git/info/attributes'), undefined],
  ['of the user for every repository', (_: Repo, home: Repo) => home.path('.config/git/attributes'), 'HOME'],
])('a filter by the rules %s is run for a commit', async (_, place, variable) => {
  const [work, home] = [repo(FILES), folder()];
  work.git('config', 'filter.crypt.clean', 'tr a-z n-za-m');
  const file = place(work, home);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '*.secret filter=crypt\n');
  work.settings(COMMITS);
  const options = variable ? { env: { HOME: home.dir } } : {};
  const { code, said } = await loop(
    work,
    'echo abc > a.secret',
    ['Add', '--check', 'test -f a.secret'],
    options,
  );
  expect(code, said).toBe(0);
  expect(work.git('cat-file', 'blob', 'HEAD:a.secret')).toBe('nop\n');
  expect(work.read('a.secret')).toBe('abc\n');
});

test('lanes of a sparse checkout land without deleting what is not checked out', async () => {
  const work = repo({ ...FILES, 'in/a': 'a\n', 'out/b': 'b\n' });
  work.git('sparse-checkout', 'set', 'in');
  const { code, said, turns } = await loop(work, WRITES, [...PARALLEL, '--check', 'test ! -e out/b']);
  expect(code, said).toBe(0);
  expect(turns.filter(cwd => existsSync(`${cwd}/out/b`))).toEqual([]);
  expect(work.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n')).toContain('out/b');
  expect(existsSync(work.path('out/b'))).toBe(false);
});

describe('submodules', () => {
  function withSubmodule(): Repo {
    const [work, other] = [repo(FILES), repo({ x: 'x\n' })];
    work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.dir, 'sub');
    work.git('commit', '--quiet', '--message', 'sub');
    // No network: what it came from is gone.
    execFileSync('rm', ['-rf', other.dir]);
    return work;
  }

  test('are repositories in a worktree, on the commit that is recorded', async () => {
    const work = withSubmodule();
    const script = `${WRITES}; git -C sub rev-parse HEAD > head; git status --porcelain > status`;
    const { code, said, turns } = await loop(work, script, [
      'Add',
      '--worktree=w',
      '--check',
      'test -f sub/x',
    ]);
    expect(code, said).toBe(0);
    const [cwd = ''] = turns;
    const read = (name: string) => execFileSync('cat', [`${cwd}/${name}`], { encoding: 'utf8' });
    expect(read('head')).toBe(work.git('rev-parse', 'HEAD:sub'));
    expect(read('status')).not.toContain('sub');
    expect(said).not.toContain('submodule');
  });

  test('are links in what lands', async () => {
    const work = withSubmodule();
    const link = work.git('rev-parse', 'HEAD:sub');
    const { code, said, turns } = await loop(work, WRITES, [...PARALLEL, '--check', 'test -f sub/x']);
    expect(code, said).toBe(0);
    expect(work.git('rev-parse', 'HEAD:sub')).toBe(link);
    expect(work.git('ls-tree', 'HEAD', 'sub')).toContain('160000 commit');
    expect(work.read('sub/x')).toBe('x\n');
    expect(turns.filter(cwd => existsSync(cwd))).toEqual([]);
  });

  test.each([
    ['committed', 'cd sub && echo y > y && git add y && git commit -q -m y'],
    ['changed', 'echo y > sub/x'],
    ['added', 'echo y > sub/y'],
  ])('keep the worktree of a lane that has %s something in one', async (_, script) => {
    const work = withSubmodule();
    const { code, said, turns } = await loop(work, `${WRITES}; (${script})`, PARALLEL);
    expect(code, said).toBe(0);
    expect(said).toMatch(/The worktree \S+ is left: \S.*sub: the submodule holds work that is nowhere else/);
    expect(turns.every(cwd => existsSync(`${cwd}/sub/x`))).toBe(true);
  });

  test('lead nowhere where a folder on the way became a link', async () => {
    const [work, other, outside] = [repo(FILES), repo({ x: 'x\n' }), folder()];
    work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.dir, 'libs/sub');
    work.git('commit', '--quiet', '--message', 'sub');
    const script = `mv libs '${outside.path('libs')}'; ln -s '${outside.dir}' libs; ${WRITES}`;
    await loop(work, script, ['Add', '--proof', 'clean', '--check', 'true', '--max-iterations', '1']);
    expect(existsSync(outside.path('sub'))).toBe(false);
  });
});

test.each([
  ['in place', ['Add']],
  ['in a worktree', ['Add', '--worktree=w']],
  ['with a clean proof', ['Add', '--proof', 'clean']],
  ['in lanes', PARALLEL],
])('another repository where one was before has nothing of it, %s', async (_, flags) => {
  const work = repo({ ...FILES, 'old.txt': 'old\n' });
  work.settings(COMMITS);
  const more = flags === PARALLEL ? flags : [...flags, '--check', 'ls made-*'];
  expect((await loop(work, WRITES, more)).code).toBe(0);
  for (const name of readdirSync(work.dir)) rmSync(work.path(name), { recursive: true });
  work.git('init', '--quiet', '--initial-branch', 'other');
  for (const [name, text] of Object.entries({ ...FILES, 'new.txt': 'new\n' })) work.write(name, text);
  work.git('add', '--all');
  work.git('commit', '--quiet', '--message', 'another');
  work.settings(COMMITS);
  const { code, said } = await loop(work, WRITES, [
    ...more,
    '--check',
    'test -e new.txt && test ! -e old.txt',
  ]);
  expect(code, said).toBe(0);
  expect(work.git('log', '--all', '--format=%s', '--', 'old.txt')).toBe('');
  work.git('fsck', '--strict');
});

test('a repository that git finds by GIT_DIR alone is named, not denied', async () => {
  const [home, dots] = [folder(), folder()];
  dots.git('init', '--quiet', '--bare');
  const env = { GIT_DIR: dots.dir, GIT_WORK_TREE: home.dir };
  const { code, said } = await loop(home, WRITES, ['Add', '--worktree=w', '--check', 'true'], { env });
  expect(code).toBe(2);
  expect(said).toContain(`git finds its repository by GIT_DIR (${dots.dir})`);
  expect(said).not.toContain('git init');
  // What it says is true.
  const [fix = ''] = /`(git --git-dir[^`]*)`/.exec(said)?.slice(1) ?? [];
  execFileSync('sh', ['-ec', fix], { cwd: home.dir, env: gitEnv() });
  home.write('a', 'a\n');
  for (const args of [
    ['add', 'a'],
    ['commit', '--quiet', '--message', 'a'],
  ])
    home.git(...args);
  expect((await loop(home, WRITES, ['Add', '--worktree=w', '--check', 'ls made-*'], { env })).code).toBe(0);
});

const canMount = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;

describe.skipIf(!canMount)('a clean checkout that cannot be made', () => {
  // Of memory and a disk, a disk is taken: neither has room.
  const small = (dir: string) => {
    const mounts = [dir, '/var/tmp'].map(each => `mount -t tmpfs -o size=64k,mode=1777 none '${each}'`);
    return ['unshare', '-m', 'sh', '-c', `${mounts.join(' && ')} && exec "$@"`, 'sh'] as const;
  };

  test.each([
    ['in a loop', ['Add', '--proof', 'clean', '--check', 'true']],
    ['in lanes', PARALLEL],
  ])('ends the run and spends no further turn, %s', async (_, flags) => {
    const work = repo({ ...FILES, big: 'x'.repeat(500_000) });
    const temporary = folder('ralph-small-');
    mkdirSync(temporary.dir, { recursive: true });
    const options = { prefix: small(temporary.dir), env: { TMPDIR: temporary.dir } };
    const { code, said, stdout, turns } = await loop(work, WRITES, flags, options);
    expect(code, said).toBe(1);
    expect(turns.length).toBeLessThanOrEqual(flags === PARALLEL ? 2 : 1);
    expect(said + stdout).toMatch(/no clean checkout could be made/);
  });
});

test.skipIf(!canMount)(
  'where no temporary folder lets programs run, a check by an interpreter does',
  async () => {
    const work = repo({ ...FILES, check: 'ls made-*\n' });
    const temporary = folder('ralph-noexec-');
    const mounts = [temporary.dir, '/var/tmp'].map(dir => `mount -t tmpfs -o noexec,mode=1777 none '${dir}'`);
    const options = {
      prefix: ['unshare', '-m', 'sh', '-c', `${mounts.join(' && ')} && exec "$@"`, 'sh'],
      env: { TMPDIR: temporary.dir },
    };
    const flags = ['Add', '--proof', 'clean', '--check', 'sh check', '--max-iterations', '2'];
    const { code, said } = await loop(work, WRITES, flags, options);
    expect(code, said).toBe(0);
  },
);

test('a project that was moved works, says of its earlier runs that they are copies, and has them when it is moved back', async () => {
  const NEWS = 'date +%N >> made';
  const place = folder();
  const [work, other] = ['here', 'there'].map(name => repoAt(place.path(name))) as [Repo, Repo];
  execFileSync('git', ['init', '-q', work.dir], { env: gitEnv() });
  work.write('a', 'a\n');
  work.git('add', '--all');
  work.git('commit', '-qm', 'start');
  const flags = ['Add', '--max-iterations', '1', '--check', 'test -e ../enough'];
  expect((await loop(work, NEWS, flags)).code).toBe(1);
  expect((await loop(work, NEWS, ['Add', '--check', 'true', '--worktree=w'])).code).toBe(0);
  renameSync(work.dir, other.dir);
  expect((await ralph(['status'], { cwd: other.dir })).stdout).toContain('it is a copy, and not verified');
  const refused = await ralph(['resume', '--max-iterations', '2'], { cwd: other.dir });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('no run here that can be')]);
  const again = await loop(other, NEWS, ['More', '--check', 'true', '--worktree=w']);
  expect([again.code, again.said, again.turns]).toEqual([2, expect.stringContaining('worktree repair'), []]);
  other.git('worktree', 'repair', '.ralph/worktrees/w');
  expect((await loop(other, NEWS, ['More', '--check', 'true', '--worktree=w'])).code).toBe(0);
  expect((await loop(other, NEWS, ['More', '--check', 'true'])).code).toBe(0);
  renameSync(other.dir, work.dir);
  place.write('enough', '');
  const [first] = readdirSync(work.path('.ralph/runs')).sort();
  const resumed = await ralph(['resume', first ?? '', '--max-iterations', '2'], { cwd: work.dir });
  expect(resumed.code, resumed.stderr).toBe(0);
});

test('a run whose branch and worktree were deleted is still shown, and what became of it is said', async () => {
  const work = repo(FILES);
  expect((await loop(work, WRITES, ['Add', '--check', 'true', '--worktree=w'])).code).toBe(0);
  work.git('worktree', 'remove', '--force', '.ralph/worktrees/w');
  work.git('branch', '-D', 'ralph/w');
  for (const command of ['land', 'discard']) {
    const { code, stdout } = await ralph([command], { cwd: work.dir });
    expect([code, stdout]).toEqual([0, `Nothing to ${command}: its worktree w and its branch are gone.\n`]);
  }
  expect((await ralph(['show'], { cwd: work.dir })).stdout).toContain('+made');
  expect((await loop(work, WRITES, ['Add', '--check', 'true', '--worktree=w'])).code).toBe(0);
});

test('git that tidies up in a turn does it before the turn is over', async () => {
  const work = repo(FILES);
  for (const [key, value] of [
    ['gc.auto', '1'],
    ['gc.autoPackLimit', '1'],
  ] as const)
    work.git('config', key, value);
  const many =
    'for i in $(seq 600); do echo $i > "f$i"; done; git add -A; git commit -qm many; git gc --auto';
  const { code, said } = await loop(work, many, ['Add', '--check', 'true']);
  expect(code, said).toBe(0);
  expect(said).not.toContain('behind');
  expect(existsSync(work.path('.git/gc.pid'))).toBe(false);
});

test('the words of git are read in English, whatever the language is', async () => {
  const work = repo(FILES);
  work.settings(COMMITS);
  const script = `${WRITES}; touch .git/index.lock`;
  const { stdout, said } = await loop(work, script, ['Add', '--check', 'true', '--max-iterations', '1'], {
    env: { LANG: 'de_DE.UTF-8', LANGUAGE: 'de' },
  });
  expect(said + stdout).toContain("git's index still has the committed files");
  expect(said + stdout).toMatch(/If no other git is running here, remove it: `rm [^`]*index\.lock/);
});

describe('a named pipe where git expects a file, for which it would wait for ever', () => {
  const withPipe = (path: string) => {
    const work = repo({ 'a.txt': 'a\n' });
    rmSync(work.path(path), { force: true });
    execFileSync('mkfifo', [work.path(path)]);
    return loop(work, WRITES, ['Do it', '--check', 'true']);
  };

  test.each(['.git/info/attributes', '.git/info/exclude'])('%s: what it says is not needed', async path => {
    const { code, said, turns } = await withPipe(path);
    expect([code, turns.length], said).toEqual([0, 1]);
  });

  test('.gitattributes: it is named before anything is spent', async () => {
    const { code, said, turns } = await withPipe('.gitattributes');
    expect([code, turns.length]).toEqual([2, 0]);
    expect(said).toContain('.gitattributes is a named pipe, and git waits for it: remove it');
  });
});
