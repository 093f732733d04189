/** `ralph land`: what a run left becomes part of the user's branch once its checks pass on the merged tree, or nothing is changed. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { splitWords } from '../../src/platform/shell.ts';
import { projectAt, runPaths } from '../../src/store/paths.ts';
import { ralph } from '../rig/commands.ts';
import { agentOf, everything, loopEnded } from '../rig/ended-run.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { rigFor } from '../rig/lanes.ts';
import { startRalph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const FILES = {
  'README.md': '# test\n',
  'a.txt': '1\n2\n3\n4\n5\n6\n7\n',
  'b.txt': 'b\n',
  '.gitignore': '.ralph/\n',
};

async function land(work: Repo, ...args: readonly string[]) {
  const ended = await ralph(['land', '--json', ...args], { cwd: work.dir });
  return { ...ended, result: ended.stdout.startsWith('{') ? JSON.parse(ended.stdout) : undefined };
}

describe('a worktree', () => {
  test('that somebody changed after the run is said to have been', async () => {
    const work = repo(FILES);
    await loopEnded(work);
    work.write('.ralph/worktrees/login/late.txt', 'of a daemon\n');
    work.git('-C', '.ralph/worktrees/login', 'add', '--all');
    work.git('-C', '.ralph/worktrees/login', 'commit', '--quiet', '--message', 'late');
    work.write('.ralph/worktrees/login/later.txt', 'and again\n');
    const since =
      'Changed on ralph/login since the last check of the run, and part of this: late.txt, later.txt.';
    expect((await land(work, '--dry-run')).result.notes).toEqual([since]);
    const { stdout } = await ralph(['land'], { cwd: work.dir });
    expect(stdout).toContain(since);
  });

  test('is merged after its checks pass on the merged tree, and goes', {
    tags: ['promise', 'P-land'],
  }, async () => {
    const work = repo(FILES);
    expect(await loopEnded(work)).toMatch(/\nTake it over: `ralph land`\n$/);
    work.write('b.txt', 'meanwhile\n');
    work.git('commit', '--quiet', '--all', '--message', 'meanwhile');
    const before = everything(work);
    const dry = await ralph(['land', '--dry-run'], { cwd: work.dir });
    expect(dry.stdout).toBe('Would land on main: 1 file, as a merge, if the checks pass.\n  new.txt\n');
    expect(everything(work)).toEqual(before);
    const { code, stdout, stderr } = await ralph(['land'], { cwd: work.dir });
    expect([code, stderr]).toEqual([0, 'Checking the merged tree: `test -f new.txt` …\n']);
    const [first, ...rest] = stdout.split('\n');
    expect(first).toMatch(/^Landed on main: 1 file, merged as [0-9a-f]{12}\.$/);
    expect(rest).toEqual([
      'Passed on the merged tree: `test -f new.txt`.',
      'Removed the branch ralph/login and its worktree.',
      '',
    ]);
    expect([work.read('new.txt'), work.read('b.txt')]).toEqual(['new\n', 'meanwhile\n']);
    expect(work.git('status', '--porcelain')).toBe('');
    expect(work.git('branch', '--format=%(refname:short)')).toBe('main\n');
    expect(existsSync(work.path('.ralph/worktrees/login'))).toBe(false);
    const words = work.git('log', '-1', '--format=%s|%(trailers:key=Ralph-Task,valueonly)').trim();
    expect(words).toBe('Merge ralph/login into main|Make it new');
    const again = await ralph(['land'], { cwd: work.dir });
    expect(again.stdout).toMatch(/^Nothing to land: it has landed on main already, as [0-9a-f]{12}\.\n$/);
    expect(again.code).toBe(0);
  });

  test("is a fast-forward where the branch has not moved, and what is the user's stays byte for byte", async () => {
    const work = repo(FILES);
    work.write('b.txt', 'staged\n');
    work.git('add', 'b.txt');
    work.write('b.txt', 'and edited\n');
    work.write('mine.txt', 'mine\n');
    await loopEnded(work);
    const before = work.git('ls-files', '--stage', 'b.txt');
    const { code, result } = await land(work);
    expect([code, result]).toMatchObject([
      0,
      {
        outcome: 'landed',
        how: 'fast-forward',
        branch: 'main',
        files: ['new.txt'],
        removed: ['ralph/login'],
      },
    ]);
    expect(work.git('ls-files', '--stage', 'b.txt')).toBe(before);
    expect(work.git('status', '--porcelain')).toBe('MM b.txt\n?? mine.txt\n');
    expect([work.read('b.txt'), work.read('mine.txt'), work.read('new.txt')]).toEqual([
      ...['and edited\n', 'mine\n', 'new\n'],
    ]);
  });

  test('that does not fit is refused with the reason, and nothing is changed', {
    tags: ['promise', 'P-land'],
  }, async () => {
    const work = repo(FILES);
    const script = 'echo new > new.txt; sed -i s/4/four/ a.txt; echo s > .env';
    const check = 'test ! -f old.txt || { echo there is an old one; exit 3; }';
    await loopEnded(work, { script, check, args: ['--worktree', 'login', '--protect', 'b.txt'] });
    const begin = work.git('rev-parse', 'HEAD').trim();
    const commit = (name: string, text: string) => {
      work.write(name, text);
      work.git('add', name);
      work.git('commit', '--quiet', '--message', name);
    };
    const cases: readonly (readonly [
      code: number,
      words: string,
      prepare: () => unknown,
      undo?: () => void,
    ])[] = [
      [
        2,
        'no branch is checked out (detached HEAD)',
        () => work.git('switch', '--quiet', '--detach'),
        () => work.git('switch', '--quiet', 'main'),
      ],
      [
        2,
        'you have changes in a.txt that are not committed, and the work changes it too',
        () => work.write('a.txt', 'mine\n'),
      ],
      [
        2,
        'the work changes b.txt, which the run had to protect',
        () => work.write('.ralph/worktrees/login/b.txt', 'since\n'),
        () => work.write('.ralph/worktrees/login/b.txt', 'b\n'),
      ],
      [
        1,
        'Not landed: it conflicts with main. Nothing was changed.\n  a.txt (text)\n',
        () => commit('a.txt', FILES['a.txt'].replace('4', 'IV')),
      ],
      [1, 'exit code 3\n    there is an old one\n', () => commit('old.txt', 'old\n')],
    ];
    for (const [code, words, prepare, undo] of cases) {
      prepare();
      const before = everything(work);
      const ended = await ralph(['land'], { cwd: work.dir });
      expect(ended.stdout + ended.stderr).toContain(words);
      expect([words, ended.code, everything(work)]).toEqual([words, code, before]);
      if (code === 1)
        expect(ended.stdout).toMatch(
          /add --all && .*\n.* merge main`\n.*--worktree login --check .*\n {2}`ralph land`\n$/,
        );
      undo?.();
      work.git('reset', '--quiet', '--hard', begin);
    }
    // What is not committed for good reason keeps the worktree.
    const { result } = await land(work);
    expect(result).toMatchObject({ outcome: 'landed', removed: [], left: [expect.stringContaining('.env')] });
    expect(result.kept[0]).toContain('holds changes that are not committed');
    expect(existsSync(work.path('.ralph/worktrees/login/.env'))).toBe(true);
  });

  test('of a run that is not believed, or started by an agent, is refused', async () => {
    const work = repo(FILES);
    await loopEnded(work);
    const before = everything(work);
    const inside = await ralph(['land'], { cwd: work.dir, env: { RALPH_OWNER_0123456789ab: 'x' } });
    expect([inside.code, inside.stderr]).toEqual([
      2,
      expect.stringContaining('only the user may steer runs'),
    ]);
    const [id = ''] = readdirSync(work.path('.ralph/runs'));
    const elsewhere = await ralph(['land'], {
      cwd: work.dir,
      env: { XDG_STATE_HOME: work.path('.git/state') },
    });
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining(`${id}: `)]);
    expect(elsewhere.stderr).toContain('not recorded on this machine');
    expect(everything(work)).toEqual(before);
  });

  test('of a run whose ledger was cut off before its first line is refused, and so is throwing it away', async () => {
    const work = repo(FILES);
    await loopEnded(work, { check: 'test ! -f old.txt' });
    writeFileSync(runPaths(projectAt(work.dir), readdirSync(work.path('.ralph/runs'))[0] ?? '').events, '');
    work.write('old.txt', 'old\n');
    work.git('add', 'old.txt');
    work.git('commit', '--quiet', '--message', 'old');
    const before = everything(work);
    for (const command of ['land', 'discard']) {
      const ended = await ralph([command], { cwd: work.dir });
      expect([ended.code, ended.stderr]).toEqual([
        2,
        expect.stringContaining('The ledger has been changed: it has 0 lines, and should have '),
      ]);
    }
    // Its checks are in what it was given.
    const accepted = await ralph(['land', '--accept-changes'], { cwd: work.dir });
    expect([accepted.code, accepted.stdout]).toEqual([1, expect.stringContaining('`test ! -f old.txt`')]);
    expect(everything(work)).toEqual(before);
  });

  test('of a unit of a fleet must have been fetched, and that is said', async () => {
    const work = repo(FILES);
    await loopEnded(work);
    const env = { RALPH_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' };
    const ended = await ralph(['land', 'u-1'], { cwd: work.dir, env });
    expect([ended.code, ended.stderr]).toEqual([
      2,
      expect.stringContaining('u-1: no such run (where it is a unit of a fleet, `git fetch` brings'),
    ]);
    expect((await ralph(['land', 'u-1'], { cwd: work.dir })).stderr).not.toContain('fleet');
  });

  test('of a run that is alive is refused', async () => {
    const work = repo(FILES);
    const [working, released] = [createGate(), createGate()];
    const agent = await fakeAgent('worker', async turn => {
      await turn.write('new.txt', 'new\n');
      working.open();
      await released.opened;
      await turn.print('<promise>COMPLETE</promise>\n');
      turn.exit();
    });
    const words = ['loop', 'x', '--agent', 'worker', '--check', 'true', '--worktree', 'login'];
    const run = startRalph(words, { cwd: work.dir, path: [agent.bin] });
    await working.opened;
    for (const command of ['land', 'discard']) {
      const ended = await ralph([command], { cwd: work.dir });
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/it is running .*ralph cancel /)]);
    }
    released.open();
    expect((await run.finished).code).toBe(0);
    expect((await land(work)).result).toMatchObject({ outcome: 'landed' });
  });

  test.each<readonly [name: string, words: string, prepare: (work: Repo) => unknown]>([
    [
      'a filter',
      'a filter of yours changes new.txt',
      work => work.git('config', 'filter.big.clean', 'tr A-Z a-z'),
    ],
    [
      'large files',
      'a filter of yours changes large.txt',
      work => work.git('config', 'filter.lfs.process', 'git-lfs filter-process'),
    ],
    [
      'a sparse checkout',
      'this is a sparse checkout',
      work => work.git('sparse-checkout', 'set', '--no-cone', '/*', '!/sub/'),
    ],
  ])('that git would make other files of is refused: %s', async (_, words, prepare) => {
    const attributes = 'new.txt filter=big\nlarge.txt filter=lfs\n';
    const work = repo({ ...FILES, 'sub/deep.txt': 'deep\n', '.gitattributes': attributes });
    prepare(work);
    const script = words.includes('large') ? 'echo new > new.txt; echo big > large.txt' : undefined;
    await loopEnded(work, { ...(script && { script }) });
    const before = everything(work);
    const ended = await ralph(['land'], { cwd: work.dir });
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(everything(work)).toEqual(before);
  });
});

describe("in the user's own folder", () => {
  test('what the run changed is committed, and nothing of the user', { tags: 'promise' }, async () => {
    const work = repo(FILES);
    work.write('a.txt', FILES['a.txt'].replace('1', 'mine'));
    work.write('b.txt', 'staged\n');
    work.git('add', 'b.txt');
    work.write('mine.txt', 'mine\n');
    const script = 'echo new > new.txt; sed -i s/7/seven/ a.txt; git add new.txt; echo s > .env';
    expect(await loopEnded(work, { script, args: [] })).toMatch(/\nTake it over: `ralph land`\n$/);
    work.write('new.txt', 'new\nedited since\n');
    const { code, result } = await land(work);
    expect([code, result]).toMatchObject([
      0,
      {
        outcome: 'landed',
        how: 'commit',
        files: ['a.txt', 'new.txt'],
        left: [expect.stringMatching(/^\.env/)],
      },
    ]);
    expect(work.git('show', 'HEAD:a.txt')).toBe(FILES['a.txt'].replace('7', 'seven'));
    expect(work.git('show', 'HEAD:new.txt')).toBe('new\n');
    expect(work.git('log', '-1', '--format=%s|%(trailers:key=Ralph-Run,valueonly)').trim()).toBe(
      `Make it new|${result.runId}`,
    );
    expect(work.read('a.txt')).toBe(FILES['a.txt'].replace('1', 'mine').replace('7', 'seven'));
    expect(work.git('status', '--porcelain')).toBe(' M a.txt\nM  b.txt\n M new.txt\n?? .env\n?? mine.txt\n');
    expect((await land(work)).result).toMatchObject({ outcome: 'nothing' });
  });

  test('a story list that nobody has committed stays where it is', async () => {
    const work = prdRepo();
    work.git('rm', '-r', '--quiet', '--cached', 'ralph');
    work.git('commit', '--quiet', '--message', 'no list');
    const builds = works(work, handIn(), { commit: false, also: turn => turn.write('work.js', '1\n') });
    const { bin } = await fakeAgent('claude', builds, works(work, approve(), { commit: false }));
    expect((await prdRun(work, bin)).code).toBe(0);
    const { code, result } = await land(work);
    expect([code, result]).toMatchObject([
      0,
      { outcome: 'landed', files: ['work.js'], left: ['ralph/tasks.json (git does not know it)'] },
    ]);
    expect(work.git('status', '--porcelain')).toBe('?? ralph/\n');
    expect(work.read('ralph/tasks.json')).toContain('"approved"');
  });

  test('without a check it lands, and says that nothing was checked', async () => {
    const work = repo(FILES);
    const agent = agentOf('echo new > new.txt');
    const run = await ralph(['run', '-p', 'Make it new', '-m', '1', '--agent', agent], { cwd: work.dir });
    expect([run.code, run.stdout]).toEqual([0, expect.stringMatching(/\nTake it over: `ralph land`\n$/)]);
    work.write('later.txt', 'mine\n');
    const { code, stdout } = await ralph(['land'], { cwd: work.dir });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('\nNothing was checked: the run has no check.\n'),
    ]);
    expect(work.git('status', '--porcelain')).toBe('?? later.txt\n');
  });

  test('where the run has committed everything there is nothing to take over', async () => {
    const work = repo(FILES);
    work.settings({ scm: { command: 'git', tasks: ['commit'] } });
    expect(await loopEnded(work, { args: [] })).not.toContain('Take it over');
    expect((await land(work)).result).toMatchObject({ outcome: 'nothing' });
  });
});

test('what has landed in a parallel run that could not move the branch is taken over, and its lanes go', async () => {
  const rig = rigFor(repo({ ...FILES, 'tasks.md': '- [ ] Add one\n- [ ] Add two\n' }));
  const { project, options } = rig;
  rig.does(
    'T1',
    'task',
    `mkdir -p work; echo T1 > work/T1.txt; cd '${project.dir}'; git commit --quiet --allow-empty --message meanwhile`,
  );
  const words = [
    'loop',
    '--agent',
    'claude',
    '--tasks',
    'tasks.md',
    '--parallel',
    '2',
    '--check',
    'test -f README.md',
  ];
  const run = await ralph(words, options);
  expect(run.stdout).toMatch(/main was not moved[\s\S]*\nTake it over: `ralph land`\n$/);
  const { code, result } = await land(project);
  expect([code, result]).toMatchObject([0, { outcome: 'landed', how: 'merge', branch: 'main' }]);
  expect([project.read('work/T1.txt'), project.read('work/T2.txt')]).toEqual(['T1\n', 'T2\n']);
  expect(project.git('status', '--porcelain')).toBe('');
  expect(project.git('branch', '--format=%(refname:short)')).toBe('main\n');
  expect((await land(project)).result).toMatchObject({ outcome: 'nothing' });
  // Of what the log said when the run ended, the branch of the run is gone.
  expect((await ralph(['log'], options)).stdout).toMatch(
    new RegExp(`Branch: main is at ${result.commit.slice(0, 12)}, with all that has landed`),
  );
});

describe('a unit of a fleet that was fetched', () => {
  /** Its branch is only known as the remote's; what its checks were is in a database. */
  function fetched(branch: string, settings: Record<string, unknown> = { checks: ['test -f new.txt'] }) {
    const work = repo(FILES);
    const remote = repo(FILES);
    remote.git('fetch', '--quiet', work.dir, 'main');
    remote.git('checkout', '--quiet', '-b', branch, 'FETCH_HEAD');
    remote.write('new.txt', 'new\n');
    remote.write('a.txt', FILES['a.txt'].replace('7', 'seven'));
    remote.git('add', '--all');
    remote.git('commit', '--quiet', '--message', 'Make it new');
    work.settings(settings);
    work.git('remote', 'add', 'origin', remote.dir);
    work.git('fetch', '--quiet', 'origin');
    return work;
  }

  test.each(['ralph/u-1', 'ralph/u-1/_int'])(
    'lands from %s after the checks of the project',
    async branch => {
      const work = fetched(branch);
      work.write('b.txt', 'meanwhile\n');
      work.git('commit', '--quiet', '--all', '--message', 'meanwhile');
      work.write('mine.txt', 'mine\n');
      const { code, stdout, stderr } = await ralph(['land', 'u-1'], { cwd: work.dir });
      expect([code, stderr]).toEqual([0, 'Checking the merged tree: `test -f new.txt` …\n']);
      const [first, ...rest] = stdout.split('\n');
      expect(first).toMatch(/^Landed on main: 2 files, merged as [0-9a-f]{12}\.$/);
      expect(rest).toEqual([
        'Passed on the merged tree: `test -f new.txt`.',
        `Kept: origin/${branch}, which is the remote's`,
        '',
      ]);
      expect([work.read('new.txt'), work.read('b.txt')]).toEqual(['new\n', 'meanwhile\n']);
      expect(work.git('status', '--porcelain')).toBe('?? mine.txt\n');
      expect((await land(work, 'u-1')).result).toMatchObject({ outcome: 'nothing' });
      expect((await ralph(['status'], { cwd: work.dir })).stdout).toContain('No runs here yet');
    },
  );

  test('lands without a check of the project, and says that nothing was checked here', async () => {
    const work = fetched('ralph/u-1', {});
    const { code, stdout } = await ralph(['land', 'u-1'], { cwd: work.dir });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('\nNothing was checked here: `checks` in .ralph/settings.json is empty.\n'),
    ]);
  });

  test('stays where it is when a check is red, or it conflicts, and nothing is changed', async () => {
    const red = fetched('ralph/u-1', { checks: ['false'] });
    const before = everything(red);
    const refused = await ralph(['land', 'u-1'], { cwd: red.dir });
    expect([refused.code, everything(red)]).toEqual([1, before]);
    expect(refused.stdout).toContain(
      'Next: `git merge origin/ralph/u-1` and fix it, or throw it away: `ralph discard u-1`\n',
    );
    const other = fetched('ralph/u-1');
    other.write('a.txt', FILES['a.txt'].replace('7', 'mine'));
    other.git('commit', '--quiet', '--all', '--message', 'mine');
    expect((await land(other, 'u-1')).result).toMatchObject({ outcome: 'conflict', isFetched: true });
  });

  test.each(['ralph/u-1', 'ralph/u-1/_int'])(
    'is discarded from %s: kept under a ref, here alone, and what is printed brings it back and removes it there',
    async branch => {
      const work = fetched(branch);
      work.write('mine.txt', 'mine\n');
      const tip = work.git('rev-parse', `origin/${branch}`);
      const before = everything(work);
      const dry = await ralph(['discard', 'u-1', '--dry-run'], { cwd: work.dir });
      expect([dry.code, everything(work)]).toEqual([0, before]);
      expect(dry.stdout).toContain(`Would remove the branch origin/${branch}.\n`);
      const { code, stdout } = await ralph(['discard', 'u-1', '--json'], { cwd: work.dir });
      const { outcome, removed, back, left } = JSON.parse(stdout);
      expect([code, outcome, removed]).toEqual([0, 'discarded', [`origin/${branch}`]]);
      expect(work.git('branch', '--all', '--list', `*${branch}`)).toBe('');
      expect(work.git('rev-parse', 'refs/ralph/kept/u-1/discarded')).toBe(tip);
      expect(work.git('status', '--porcelain')).toBe('?? mine.txt\n');
      const again = await ralph(['discard', 'u-1'], { cwd: work.dir });
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('there are no runs here yet')]);
      work.git(...splitWords(back[0]).slice(1));
      expect(work.git('rev-parse', `origin/${branch}`)).toBe(tip);
      const there = /`(git -C [^`]+--delete[^`]+)`/.exec(left[0])?.[1] ?? '';
      work.git('-C', work.git('remote', 'get-url', 'origin').trim(), 'checkout', '--quiet', '--detach');
      work.git(...splitWords(there).slice(1));
      expect(work.git('ls-remote', 'origin', 'refs/heads/ralph/*')).toBe('');
    },
  );

  test('is not guessed: neither part of its id, nor one of two remotes, nor what was not fetched', async () => {
    const work = fetched('ralph/u-1');
    const what = async (id: string) => (await ralph(['land', id], { cwd: work.dir })).stderr;
    for (const id of ['u', 'u-2', '*', 'u-1/_int'])
      expect(await what(id)).toContain('there are no runs here yet');
    work.git('remote', 'rename', 'origin', 'one');
    work.git('remote', 'add', 'two', work.git('remote', 'get-url', 'one').trim());
    work.git('fetch', '--quiet', 'two');
    expect(await what('u-1')).toContain('there are two of it, one/ralph/u-1 and two/ralph/u-1');
  });
});
