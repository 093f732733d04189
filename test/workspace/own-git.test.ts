import { execFileSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { statePaths } from '../../src/store/state.ts';
import { type OwnGit, openOwnGit } from '../../src/workspace/own-git.ts';
import { folder, type Repo, repo, stateEnv, writeScript } from '../rig/repo.ts';

async function open(cwd: string, env = stateEnv()): Promise<OwnGit> {
  const own = await openOwnGit({ cwd, env });
  if ('what' in own) throw new Error(`${own.where}: ${own.what}`);
  return own;
}

async function treeOf(own: OwnGit): Promise<string> {
  const snapshot = await own.snapshot();
  if ('what' in snapshot) throw new Error(snapshot.what);
  return snapshot.tree;
}

const emptyFolder = () => folder('ralph-clean-').dir;

describe('a snapshot', () => {
  test('of a clean tree is the tree of its commit, and another after each change', {
    tags: 'promise',
  }, async () => {
    const work = repo({ a: 'a\n', 'b/c': 'c\n' });
    const own = await open(work.dir);
    const start = await treeOf(own);
    expect(start).toBe(work.git('rev-parse', 'HEAD^{tree}').trim());
    work.write('new file\nwith a line break', 'x\n');
    rmSync(work.path('a'));
    const end = await treeOf(own);
    expect(await own.changedPaths(start, end)).toMatchObject([
      { path: 'a', after: undefined },
      { path: 'new file\nwith a line break', before: undefined },
    ]);
    expect(await own.diff(start, end)).toContain('deleted file mode');
  });

  test('keeps many new files in one pack, and large ones as they are', async () => {
    const work = repo({ a: 'a\n', '.gitattributes': '*.crlf text eol=crlf\n' });
    const own = await open(work.dir);
    await treeOf(own);
    const objects = join(own.objects.cwd, 'objects');
    const filesIn = () => readdirSync(objects, { recursive: true }).map(String);
    const before = filesIn().length;
    for (let at = 0; at < 600; at++) work.write(`new/${at}`, `${at}\n`);
    work.write('converted.crlf', 'one\r\ntwo\r\n');
    work.write('large', 'x'.repeat(2_000_000));
    const tree = await treeOf(own);
    const written = (path: string) =>
      work.git('--git-dir', own.objects.cwd, 'cat-file', '-p', `${tree}:${path}`);
    expect(written('new/599')).toBe('599\n');
    expect(written('converted.crlf')).toBe('one\ntwo\n');
    expect(written('large')).toBe('x'.repeat(2_000_000));
    const [, major, minor] = /(\d+)\.(\d+)/.exec(work.git('version')) ?? [];
    if (Number(major) > 2 || Number(minor) >= 39) expect(filesIn().length - before).toBeLessThan(50);
    const sizes = filesIn().map(name => statSync(join(objects, name)).size);
    expect(Math.max(...sizes)).toBeGreaterThan(2_000_000);
  });

  test('is not fooled by flags of the index, rules of the repository or an old time', {
    tags: 'promise',
  }, async () => {
    const work = repo({ a: 'a\n', b: 'b\n' });
    const own = await open(work.dir);
    const start = await treeOf(own);
    work.git('update-index', '--assume-unchanged', 'a');
    work.git('update-index', '--skip-worktree', 'b');
    work.write('.git/info/exclude', '*\n');
    work.write('a', 'A\n');
    work.write('b', 'B\n');
    work.write('c', 'c\n');
    const changed = await own.changedPaths(start, await treeOf(own));
    expect(changed).toMatchObject([{ path: 'a' }, { path: 'b' }, { path: 'c' }]);
  });

  test('sees a folder that became a link to a copy of it', async () => {
    const work = repo({ 'test/a': 'a\n' });
    const own = await open(work.dir);
    const start = await treeOf(own);
    renameSync(work.path('test'), join(emptyFolder(), 'test'));
    const copy = emptyFolder();
    writeFileSync(join(copy, 'a'), 'a\n');
    symlinkSync(copy, work.path('test'));
    expect(await own.changedPaths(start, await treeOf(own))).toMatchObject([
      { path: 'test', after: { mode: '120000' } },
      { path: 'test/a', after: undefined },
    ]);
  });

  test('names repositories inside and does not enter them', async () => {
    const work = repo();
    const own = await open(work.dir);
    work.write('inner/x', 'x\n');
    execFileSync('git', ['init', '-q', work.path('inner')]);
    expect(await own.snapshot()).toMatchObject({ nested: ['inner/'] });
  });

  test('names what cannot be kept', async () => {
    const work = repo();
    const own = await open(work.dir);
    work.write('big', '');
    truncateSync(work.path('big'), 200_000_000);
    expect(await own.snapshot()).toMatchObject({ skipped: [{ path: 'big', isNew: true }] });
  });

  test("leaves out Ralph's own folder and what the tree ignores", async () => {
    const work = repo({ '.gitignore': '*.o\n' });
    const own = await open(work.dir);
    const start = await treeOf(own);
    work.write('.ralph/x', 'x');
    work.write('x.o', 'x');
    expect(await treeOf(own)).toBe(start);
  });

  test('holds a deeper folder of that name, which is the user’s, and not that of a project in a subfolder', async () => {
    const work = repo({ 'a/é[1] b/x': 'x\n', 'a/é[1] b/.ralph/settings.json': '{}\n' });
    const own = await open(work.path('a/é[1] b'));
    const start = await treeOf(own);
    work.write('a/é[1] b/.ralph/settings.json', '{"a":1}\n');
    for (const ours of ['.ralph/x', 'a/.ralph/x', 'a/é[1] b/.ralph/x']) work.write(ours, 'x');
    expect(await treeOf(own)).toBe(start);
    const theirs = ['a/c/.ralph/x', 'a/é1 b/.ralph/x', 'a/é[1] b/deep/.ralph/x', 'a/é[1] b/x.ralph/x'];
    for (const each of theirs) work.write(each, 'x');
    const changed = await own.changedPaths(start, await treeOf(own));
    expect('what' in changed ? changed : changed.map(({ path }) => path)).toEqual(theirs.sort());
  });
});

describe('it works in', () => {
  const places: Readonly<Record<string, () => { readonly work: Repo; readonly cwd: string }>> = {
    'a repository without a commit': () => {
      const work = folder();
      work.git('init', '-q');
      return { work, cwd: work.dir };
    },
    'one that hashes with SHA-256': () => {
      const work = folder();
      work.git('init', '-q', '--object-format=sha256');
      work.write('a', 'a\n');
      work.git('add', '.');
      work.git('commit', '-qm', 'start');
      return { work, cwd: work.dir };
    },
    'a worktree': () => {
      const work = repo();
      const other = join(emptyFolder(), 'other "tree"\nhere');
      work.git('worktree', 'add', '-q', '--detach', other);
      return { work, cwd: other };
    },
    'a folder below the top': () => {
      const work = repo({ 'packages/a/x': 'x\n' });
      return { work, cwd: work.path('packages/a') };
    },
    'a shallow clone': () => {
      const from = repo();
      from.git('commit', '-qm', 'more', '--allow-empty');
      const work = folder();
      work.git('clone', '-q', '--depth=1', `file://${from.dir}`, '.');
      return { work, cwd: work.dir };
    },
    'a partial clone, which lacks objects': () => {
      const from = repo({ a: 'a\n' });
      from.git('config', 'uploadpack.allowFilter', 'true');
      const work = folder();
      work.git('clone', '-q', '--filter=blob:none', '--no-checkout', `file://${from.dir}`, '.');
      work.write('a', 'a\n');
      return { work, cwd: work.dir };
    },
  };
  test.for(Object.entries(places))('%s', async ([, make]) => {
    const { cwd } = make();
    const own = await open(cwd);
    const start = await treeOf(own);
    writeFileSync(join(cwd, 'new'), 'new\n');
    const end = await treeOf(own);
    const path = `${own.prefix}new`;
    expect(await own.changedPaths(start, end)).toMatchObject([{ path }]);
    const clean = emptyFolder();
    expect(await own.checkout(end, clean)).toBeUndefined();
    expect(readFileSync(join(clean, path), 'utf8')).toBe('new\n');
    expect(readdirSync(clean)).not.toContain('.git');
    const commit = await own.commit({ tree: end, parents: [], message: 'Done' });
    await expect(own.objects.run(['rev-parse', `${commit}^{tree}`])).resolves.toMatchObject({
      stdout: `${end}\n`,
    });
  });
});

describe('its own directory', () => {
  test('is made anew when it is damaged, and serves the next process', async () => {
    const work = repo();
    const env = stateEnv();
    const own = await open(work.dir, env);
    const start = await treeOf(own);
    const path = statePaths(env).git(own.top);
    writeFileSync(join(path, 'index'), 'damaged');
    rmSync(join(path, 'objects'), { recursive: true });
    expect(await treeOf(await open(work.dir, env))).toBe(start);
  });

  test('that cannot be written is a problem that says where', async () => {
    const work = repo();
    const file = work.path('no-folder');
    writeFileSync(file, '');
    const env = { ...stateEnv(), XDG_STATE_HOME: file };
    expect(await openOwnGit({ cwd: work.dir, env })).toMatchObject({
      where: expect.stringContaining(file),
      fix: expect.stringContaining('XDG_STATE_HOME'),
    });
  });

  test('obeys nothing that was put into it', async () => {
    const work = repo();
    const env = stateEnv();
    const own = await open(work.dir, env);
    const path = statePaths(env).git(own.top);
    const ran = join(emptyFolder(), 'ran');
    writeScript(join(path, 'hooks/post-index-change'), `touch '${ran}'`);
    writeFileSync(join(path, 'config'), `[core]\n\tfsmonitor = "touch '${ran}'"\n`);
    await own.begin();
    work.write('x', 'x');
    await treeOf(own);
    expect(existsSync(ran)).toBe(false);
  });

  test('a work tree that git takes for another one is refused', async () => {
    const work = repo();
    work.git('config', 'core.worktree', emptyFolder());
    expect(await openOwnGit({ cwd: work.dir, env: stateEnv() })).toMatchObject({
      what: expect.stringContaining('for its work tree'),
    });
  });
});

describe('a worktree that Ralph has made', () => {
  const NAME = '.ralph/worktrees/one';

  function withWorktree() {
    const work = repo({ '.gitignore': '.ralph/\n', a: 'a\n' });
    const env = stateEnv();
    const add = () => work.git('worktree', 'add', '-q', '-b', 'ralph/one', work.path(NAME));
    return { work, env, add };
  }

  test('has the objects of its project, and files and an index of its own', async () => {
    const { work, env, add } = withWorktree();
    const main = await open(work.dir, env);
    const start = await treeOf(main);
    add();
    const lane = await open(work.path(NAME), env);
    expect(lane.objects.cwd).toBe(main.objects.cwd);
    expect(await treeOf(lane)).toBe(start);
    writeFileSync(work.path(`${NAME}/b`), 'b\n');
    const changed = await treeOf(lane);
    expect(await main.changedPaths(start, changed)).toMatchObject([{ path: 'b' }]);
    expect(await treeOf(main)).toBe(start);
  });

  test('keeps to the settings with which the run of its project began', async () => {
    const { work, env, add } = withWorktree();
    const main = await open(work.dir, env);
    const config = () => readFileSync(join(main.objects.cwd, 'config'), 'utf8');
    const before = config();
    add();
    work.git('config', 'user.name', 'Somebody Else');
    await (await open(work.path(NAME), env)).begin();
    expect(config()).toBe(before);
  });

  test('that says it belongs to another repository is refused', async () => {
    const { work, env, add } = withWorktree();
    await open(work.dir, env);
    add();
    const other = repo();
    writeFileSync(work.path(`${NAME}/.git`), `gitdir: ${other.path('.git')}\n`);
    expect(await openOwnGit({ cwd: work.path(NAME), env })).toHaveProperty('what');
  });

  test('whose project Ralph does not know yet has all for itself, and keeps it', async () => {
    const { work, env, add } = withWorktree();
    add();
    const lane = await open(work.path(NAME), env);
    const main = await open(work.dir, env);
    expect(lane.objects.cwd).not.toBe(main.objects.cwd);
    expect(await treeOf(lane)).toBe(await treeOf(main));
  });
});

test('files move where they were written again with what they hold, and not over one that has changed', async () => {
  const work = repo({ a: 'a\n', b: 'b\n' });
  const env = stateEnv();
  const first = await open(work.dir, env);
  const start = await treeOf(first);
  const other = await first.treeWith(start, [
    { bytes: 'a', after: { mode: '100644', oid: first.writeBlob(Buffer.from('other\n')) } },
  ]);
  utimesSync(work.path('a'), 1, 1);
  // Another process begins with the index of this one.
  const own = await open(work.dir, { ...env, PATH: `${env.PATH}:/nowhere` });
  await own.begin();
  expect(await treeOf(own)).toBe(start);
  expect(await own.moveFiles(start, other as string)).toBeUndefined();
  expect(work.read('a')).toBe('other\n');
  expect(await treeOf(own)).toBe(other);
  work.write('a', 'by somebody else\n');
  expect(await own.moveFiles(other as string, start)).toMatchObject({
    what: expect.stringContaining("Entry 'a' not uptodate"),
  });
  expect(work.read('a')).toBe('by somebody else\n');
});

test('a run begins with the index of the last one as it is, where that has the files of the commit', async () => {
  const work = repo({ a: 'a\n' });
  const env = stateEnv();
  const another = async (way: string) => open(work.dir, { ...env, PATH: `${env.PATH}:/${way}` });
  const first = await another('first');
  await first.begin();
  work.write('b', 'b\n');
  await treeOf(first);
  const index = join(statePaths(env).git(first.top), 'index');
  const { ino } = statSync(index);
  work.git('add', '--all');
  work.git('commit', '-qm', 'b');
  const second = await another('second');
  const begun = await second.begin();
  expect(begun).toHaveProperty('tree', work.git('rev-parse', 'HEAD^{tree}').trim());
  expect(statSync(index).ino).toBe(ino);
  work.write('b', 'c\n');
  work.write('ignored', '');
  await treeOf(second);
  // What is in it beside the commit would never be ignored.
  work.write('.git/info/exclude', 'ignored\n');
  work.write('b', 'b\n');
  const third = await another('third');
  await third.begin();
  expect(await treeOf(third)).toBe(await third.treeOf((await third.head()).commit));
});
