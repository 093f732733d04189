import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createProtection, type Protection, type ProtectionOptions } from '../../src/workspace/protect.ts';
import { folder, type Repo, repo, stateEnv } from '../rig/repo.ts';

const env = stateEnv();

async function protect(work: Repo, options: Partial<ProtectionOptions> = {}): Promise<Protection> {
  const protection = await createProtection({
    cwd: work.dir,
    env,
    globs: ['test/**'],
    newFiles: 'allow',
    aside: work.path('.ralph/runs/1/aside'),
    keepIn: folder().dir,
    ...options,
  });
  if ('what' in protection) throw new Error(protection.what);
  return protection;
}

const FILES = { 'test/a.js': 'assert(a)\n', 'test/deep/b.js': 'assert(b)\n', 'src/a.js': 'a\n' };

/** Paths, kinds, modes and contents of everything below a folder, but for Ralph's and git's own. */
function everything(work: Repo, below: string): unknown {
  const names = readdirSync(work.path(below), { recursive: true, encoding: 'utf8' }).sort();
  return names.map(name => {
    const path = work.path(`${below}/${name}`);
    const stat = lstatSync(path);
    const content = stat.isSymbolicLink()
      ? readlinkSync(path)
      : stat.isFile()
        ? readFileSync(path, 'utf8')
        : '';
    return [name, stat.mode.toString(8), content];
  });
}

describe('a change under a protected path is a violation and is undone', () => {
  const cases: Readonly<Record<string, readonly [(work: Repo) => void, readonly string[]]>> = {
    'an edit': [work => work.write('test/a.js', 'true\n'), ['test/a.js was changed']],
    'an edit that keeps size and time': [
      work => {
        const { atime, mtime } = statSync(work.path('test/a.js'));
        work.write('test/a.js', 'assert(1)\n');
        utimesSync(work.path('test/a.js'), atime, mtime);
      },
      ['test/a.js was changed'],
    ],
    'an edit that git was told not to see': [
      work => {
        work.git('update-index', '--assume-unchanged', 'test/a.js');
        work.write('test/a.js', 'true\n');
      },
      ['test/a.js was changed'],
    ],
    'an edit that was committed': [
      work => {
        work.write('test/a.js', 'true\n');
        work.git('commit', '-qam', 'agent');
      },
      ['test/a.js was changed'],
    ],
    'a deletion': [work => rmSync(work.path('test/a.js')), ['test/a.js was deleted']],
    'the deletion of the whole folder': [
      work => rmSync(work.path('test'), { recursive: true }),
      ['test/a.js was deleted', 'test/deep/b.js was deleted'],
    ],
    'a rename to elsewhere': [work => work.git('mv', 'test/a.js', 'src/moved.js'), ['test/a.js was deleted']],
    'a symbolic link in its place': [
      work => {
        rmSync(work.path('test/a.js'));
        symlinkSync('../src/a.js', work.path('test/a.js'));
      },
      ['test/a.js was replaced by a symbolic link'],
    ],
    'a folder in its place': [
      work => {
        rmSync(work.path('test/a.js'));
        work.write('test/a.js/inner', 'x\n');
      },
      ['test/a.js was replaced by a folder'],
    ],
    'a change of mode': [
      work => chmodSync(work.path('test/a.js'), 0o755),
      ['test/a.js was changed: its mode was 644 and is 755'],
    ],
    'a file where its folder was': [
      work => {
        rmSync(work.path('test'), { recursive: true });
        work.write('test', 'no folder\n');
      },
      [
        'test/a.js was deleted: test is no longer a folder',
        'test/deep/b.js was deleted: test is no longer a folder',
      ],
    ],
    'a loss of the whole repository': [
      work => {
        rmSync(work.path('.git'), { recursive: true });
        work.write('test/a.js', 'true\n');
      },
      ['test/a.js was changed'],
    ],
  };

  test.for(Object.entries(cases))('%s', async ([, [change, expected]]) => {
    const work = repo(FILES);
    const before = everything(work, 'test');
    const protection = await protect(work);
    change(work);
    expect(await protection.inspect()).toEqual(expected.map(what => ({ what, restored: false })));
    expect(await protection.restore(1)).toEqual(expected.map(what => ({ what, restored: true })));
    expect(everything(work, 'test')).toEqual(before);
    expect(await protection.inspect()).toEqual([]);
  });

  const harmless: Readonly<Record<string, (work: Repo) => void>> = {
    'nothing at all': () => {},
    'a change elsewhere': work => work.write('src/a.js', 'b\n'),
    'a new file': work => work.write('test/new.js', 'x\n'),
    'the same content, written anew': work => {
      rmSync(work.path('test/a.js'));
      work.write('test/a.js', 'assert(a)\n');
    },
  };
  test.for(Object.entries(harmless))('%s is none', async ([, change]) => {
    const work = repo(FILES);
    const protection = await protect(work);
    change(work);
    expect(await protection.restore(1)).toEqual([]);
  });

  test('again and again, in every iteration', { tags: 'promise' }, async () => {
    const work = repo(FILES);
    const protection = await protect(work);
    for (const iteration of [1, 2, 3]) {
      work.write('test/a.js', `weak ${iteration}\n`);
      expect(await protection.restore(iteration)).toEqual([
        { what: 'test/a.js was changed', restored: true },
      ]);
      expect(work.read('test/a.js')).toBe('assert(a)\n');
      expect(work.read(`.ralph/runs/1/aside/${iteration}/test/a.js.changed`)).toBe(`weak ${iteration}\n`);
    }
  });

  test('what was moved aside is no test to a runner that looks for tests in every folder', async () => {
    const work = repo({ 'test/cart.test.js': "require('node:test')('passes', () => {});\n" });
    const protection = await protect(work, { newFiles: 'forbid' });
    const red = "require('node:test')('fails', () => { throw new Error('red'); });\n";
    work.write('test/cart.test.js', red);
    work.write('test/more/new.test.js', red);
    const tests = () =>
      spawnSync(process.execPath, ['--test'], { cwd: work.path('.'), env, encoding: 'utf8' });
    expect(tests().status).toBe(1);
    await protection.restore(1);
    const { status, stdout } = tests();
    expect(stdout).toContain('pass');
    expect(status).toBe(0);
  });

  test('what cannot be undone is said to be so', async () => {
    const work = repo(FILES);
    work.write('blocker', 'a file where the folder for things in the way would have to be\n');
    const protection = await protect(work, { aside: work.path('blocker/aside') });
    work.write('test/a.js', 'weak\n');
    rmSync(work.path('test/deep/b.js'));
    expect(await protection.restore(1)).toEqual([
      { what: 'test/a.js was changed', restored: false },
      { what: 'test/deep/b.js was deleted', restored: true },
    ]);
    // So it is looked at again before a check.
    expect(protection.isFresh()).toBe(false);
  });
});

describe('what is protected is the work tree as it was at the start', () => {
  test('changes that the user had not committed are kept, links and modes too', {
    tags: 'promise',
  }, async () => {
    const work = repo({ ...FILES, 'test/gone.js': 'x\n' });
    work.write('test/a.js', 'the user is at work here\n');
    work.write('test/untracked.sh', 'echo\n');
    chmodSync(work.path('test/untracked.sh'), 0o750);
    symlinkSync('a.js', work.path('test/link.js'));
    rmSync(work.path('test/gone.js'));
    const before = everything(work, 'test');
    const protection = await protect(work);
    expect(protection.files).toBe(4);
    work.git('checkout', '--quiet', '.');
    rmSync(work.path('test/gone.js'));
    work.write('test/untracked.sh', 'true\n');
    rmSync(work.path('test/link.js'));
    symlinkSync('/etc/hostname', work.path('test/link.js'));
    expect((await protection.restore(1)).map(({ what }) => what)).toEqual([
      'test/a.js was changed',
      'test/link.js was changed',
      'test/untracked.sh was changed',
    ]);
    expect(everything(work, 'test')).toEqual(before);
  });

  test('a file too large for memory, and only if its copy is what it was', async () => {
    const work = repo(FILES);
    work.write('test/big', 'x');
    truncateSync(work.path('test/big'), 3_000_000);
    const protection = await protect(work);
    work.write('test/big', 'small');
    expect(await protection.restore(1)).toEqual([{ what: 'test/big was changed', restored: true }]);
    expect(statSync(work.path('test/big')).size).toBe(3_000_000);
    expect(await protection.inspect()).toEqual([]);
  });

  test('names with spaces, quotes, line breaks and letters of any script', async () => {
    const names = ['with space', 'qu"ote', 'line\nbreak', 'größe-文件', '[a]*?', ':(top)x', '-n'];
    const work = repo(Object.fromEntries(names.map(name => [`test/${name}`, 'old\n'])));
    const protection = await protect(work);
    for (const name of names) work.write(`test/${name}`, 'new\n');
    expect((await protection.restore(1)).map(({ what, restored }) => [what, restored])).toEqual([
      ['"test/line\\nbreak" was changed', true],
      ['"test/qu\\"ote" was changed', true],
      ['test/-n was changed', true],
      ['test/:(top)x was changed', true],
      ['test/[a]*? was changed', true],
      ['test/größe-文件 was changed', true],
      ['test/with space was changed', true],
    ]);
    for (const name of names) expect(work.read(`test/${name}`)).toBe('old\n');
  });

  test('from a folder below the top, globs and sentences are from there', async () => {
    const work = repo({ 'packages/a/test/x.js': 'x\n', 'test/x.js': 'x\n' });
    const protection = await protect(work, { cwd: work.path('packages/a') });
    work.write('packages/a/test/x.js', 'y\n');
    work.write('test/x.js', 'y\n');
    expect(await protection.restore(1)).toEqual([{ what: 'test/x.js was changed', restored: true }]);
  });
});

describe('nothing is written outside of the work tree', () => {
  test.for(['test', 'test/deep'])('when %s was replaced by a link to elsewhere', async link => {
    const work = repo(FILES);
    const outside = folder();
    outside.write('a.js', 'not yours\n');
    outside.write('b.js', 'not yours\n');
    outside.write('deep/b.js', 'not yours\n');
    const inOutside = everything(outside, '.');
    const before = everything(work, 'test');
    const protection = await protect(work, { newFiles: 'forbid' });
    rmSync(work.path(link), { recursive: true });
    symlinkSync(outside.dir, work.path(link));
    const violations = await protection.restore(1);
    expect(violations.map(({ restored }) => restored)).not.toContain(false);
    expect(violations.at(-1)?.what).toBe(`test/deep/b.js was deleted: ${link} is no longer a folder`);
    expect(everything(work, 'test')).toEqual(before);
    expect(everything(outside, '.')).toEqual(inOutside);
  });

  test('a link with the same content behind it is still a violation', async () => {
    const work = repo(FILES);
    const protection = await protect(work);
    renameSync(work.path('test'), work.path('elsewhere'));
    symlinkSync('elsewhere', work.path('test'));
    expect(await protection.inspect()).toHaveLength(2);
  });

  test('a second name of the changed file is not written through', async () => {
    const work = repo(FILES);
    const protection = await protect(work);
    rmSync(work.path('test/a.js'));
    linkSync(work.path('src/a.js'), work.path('test/a.js'));
    await protection.restore(1);
    expect([work.read('test/a.js'), work.read('src/a.js')]).toEqual(['assert(a)\n', 'a\n']);
  });
});

describe('new files, where they are forbidden', () => {
  test('are moved aside and never deleted, tracked or not', { tags: 'promise' }, async () => {
    const work = repo(FILES);
    const protection = await protect(work, { newFiles: 'forbid' });
    work.write('test/new.js', 'new\n');
    work.write('test/committed.js', 'committed\n');
    work.git('add', 'test/committed.js');
    work.git('commit', '-qm', 'agent');
    work.write('test/repo/x', 'x\n');
    execFileSync('git', ['init', '-q', work.path('test/repo')], { env });
    symlinkSync('/', work.path('test/root'));
    const names = ['committed.js', 'new.js', 'repo', 'root'];
    expect(await protection.restore(2)).toEqual(
      names.map(name => ({ what: `test/${name} is new`, restored: true })),
    );
    expect(readdirSync(work.path('test')).sort()).toEqual(['a.js', 'deep']);
    expect(readdirSync(work.path('.ralph/runs/1/aside/2/test')).sort()).toEqual([
      'committed.js.changed',
      'new.js.changed',
      'repo',
      'root.changed',
    ]);
    expect(work.read('.ralph/runs/1/aside/2/test/repo/x.changed')).toBe('x\n');
    expect(readdirSync(work.path('.ralph/runs/1/aside/2/test/repo/.git'))).toContain('HEAD');
    expect(await protection.inspect()).toEqual([]);
  });

  test('count also when the agent has told git to ignore them; what was ignored before does not', async () => {
    const work = repo({ ...FILES, '.gitignore': '*.pyc\n', 'test/.gitignore': 'cache\n' });
    work.write('test/old.pyc', 'old\n');
    const protection = await protect(work, { newFiles: 'forbid' });
    work.write('test/old.pyc', 'newer\n');
    work.write('test/new.pyc', 'new\n');
    work.write('test/cache/x', 'x\n');
    work.write('.gitignore', '*.pyc\nhidden.js\n');
    work.write('.git/info/exclude', 'also-hidden.js\n');
    work.write('test/hidden.js', 'x\n');
    work.write('test/also-hidden.js', 'x\n');
    work.write('test/own/.gitignore', '*\n');
    work.write('test/own/x', 'x\n');
    expect((await protection.inspect()).map(({ what }) => what)).toEqual([
      'test/also-hidden.js is new',
      'test/hidden.js is new',
      'test/own/.gitignore is new',
      'test/own/x is new',
    ]);
  });

  test('count when the agent takes back an exception to what git ignores', async () => {
    const work = repo({ ...FILES, '.gitignore': '*.gen.js\n!seen.gen.js\n' });
    const protection = await protect(work, { newFiles: 'forbid' });
    work.write('.gitignore', '*.gen.js\n');
    work.write('test/seen.gen.js', 'x\n');
    work.write('test/other.gen.js', 'x\n');
    expect(await protection.inspect()).toEqual([{ what: 'test/seen.gen.js is new', restored: false }]);
  });

  test('cannot be hidden by telling git of another work tree', async () => {
    const work = repo(FILES);
    const protection = await protect(work, { newFiles: 'forbid' });
    work.git('config', 'core.worktree', '/tmp');
    work.write('test/new.js', 'new\n');
    expect(await protection.inspect()).toEqual([{ what: 'test/new.js is new', restored: false }]);
  });

  test('are found where the agent has deleted the repository', async () => {
    const work = repo(FILES);
    const protection = await protect(work, { newFiles: 'forbid' });
    rmSync(work.path('.git'), { recursive: true });
    work.write('test/new.js', 'new\n');
    expect(await protection.restore(1)).toEqual([{ what: 'test/new.js is new', restored: true }]);
  });

  test('that cannot be looked for are a violation too', async () => {
    const work = repo(FILES);
    const own = stateEnv();
    const protection = await protect(work, { newFiles: 'forbid', env: own });
    rmSync(join(own.XDG_STATE_HOME ?? '', 'ralph'), { recursive: true });
    const [violation] = await protection.restore(1);
    expect(violation).toEqual({
      what: expect.stringContaining('new files cannot be looked for: '),
      restored: false,
    });
  });

  test('a submodule that was there is not new, and is said not to be protected', async () => {
    const inner = repo({ x: 'x\n' });
    const work = repo(FILES);
    work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, 'test/sub');
    const protection = await protect(work, { newFiles: 'forbid' });
    expect(protection.notes).toEqual(['test/sub is not protected: it is a repository of its own']);
    expect(await protection.restore(1)).toEqual([]);
    expect(existsSync(work.path('test/sub/x'))).toBe(true);
  });

  test.for(['test/sub', 'lib'])(
    'a commit that has %s on another commit cannot be undone, and is said',
    async at => {
      const inner = repo({ x: 'x\n' });
      const work = repo(FILES);
      const add = () =>
        work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, at);
      if (at !== 'lib') add();
      work.git('commit', '-qm', 'start', '--allow-empty');
      const only = { globs: ['**'], allow: ['src/**'], newFiles: 'forbid' } as const;
      const protection = await protect(work, only);
      if (at === 'lib') add();
      else work.git('-C', at, 'commit', '-qm', 'agent', '--allow-empty');
      work.git('add', '-A');
      work.git('commit', '-qm', 'agent');
      const what = `${at} is on another commit: put it back with a commit`;
      expect(await protection.restore(1)).toContainEqual({ what, restored: false });
      // The same where it is asked later, from what was kept.
      const later = await protect(work, only);
      expect(await later.restore(1)).toEqual([]);
      work.git('reset', '-q', '--hard', 'HEAD~1');
      expect((await protection.restore(2)).filter(({ restored }) => !restored)).toEqual([]);
    },
  );
});

describe('what commits hold otherwise than the files', () => {
  test('is said until another commit puts it right, from what was kept, too', async () => {
    const work = repo(FILES);
    const protection = await protect(work);
    work.write('test/a.js', 'other\n');
    work.git('commit', '-qam', 'agent');
    expect((await protection.restore(1)).map(({ what }) => what)).toEqual(['test/a.js was changed']);
    expect(await protection.committed()).toMatch(/otherwise in a commit.*\(test\/a\.js\)$/);
    work.git('commit', '-qam', 'back');
    expect(await protection.committed()).toBeUndefined();
  });

  test("is nothing where a commit holds the user's own change", async () => {
    const work = repo(FILES);
    work.write('test/a.js', 'of the user\n');
    const protection = await protect(work);
    work.git('commit', '-qam', 'agent');
    expect(await protection.restore(1)).toEqual([]);
    expect(await protection.committed()).toBeUndefined();
  });
});

describe('a folder that was moved while a check ran', () => {
  const moved: Readonly<Record<string, (work: Repo) => void>> = {
    'and put back': () => {},
    'with a link in its place meanwhile': work => {
      symlinkSync('src', work.path('test'));
      rmSync(work.path('test'));
    },
    'with the time of its files set back': work => utimesSync(work.path('src/away'), 0, 0),
  };

  test.for(Object.entries(moved))('%s, is named', async ([, meanwhile]) => {
    const work = repo(FILES);
    const protection = await protect(work);
    await protection.restore(1);
    const written = protection.watch();
    renameSync(work.path('test'), work.path('src/away'));
    meanwhile(work);
    renameSync(work.path('src/away'), work.path('test'));
    expect(await protection.restore(1)).toEqual([]);
    expect(written()).toEqual(['test was changed and put back']);
  });

  test('is not one in which files came and went', async () => {
    const work = repo(FILES);
    const protection = await protect(work);
    await protection.restore(1);
    const written = protection.watch();
    work.write('test/deep/tmp', 'x\n');
    rmSync(work.path('test/deep/tmp'));
    work.write('test/cache/x', 'x\n');
    expect(await protection.restore(1)).toEqual([]);
    expect(written()).toEqual([]);
  });
});

describe('in a copy, where new files are forbidden', () => {
  const news: Readonly<Record<string, readonly [path: string, make: (copy: Repo) => void]>> = {
    'a file': ['a.sh', copy => copy.write('a.sh', 'exit 0\n')],
    'a link': ['check', copy => symlinkSync('src/a.js', copy.path('check'))],
    'an empty folder': ['check', copy => execFileSync('mkdir', [copy.path('check')])],
    'a named pipe': ['check', copy => execFileSync('mkfifo', [copy.path('check')])],
    'a file behind a new rule': [
      'test/.gitignore',
      copy => {
        copy.write('test/.gitignore', '*\n');
        copy.write('test/x', 'x\n');
      },
    ],
  };

  test.for(Object.entries(news))('%s that a check leaves is moved aside', async ([, [path, make]]) => {
    const work = repo({ ...FILES, '.gitignore': 'made/\n' });
    const only = { globs: ['**'], allow: ['src/**'], newFiles: 'forbid' } as const;
    const protection = await protect(work, only);
    const copy = folder();
    execFileSync('cp', ['-r', 'src', 'test', '.gitignore', copy.dir], { cwd: work.dir });
    copy.write('filled', 'x\n');
    const there = protection.at(copy.dir, folder().dir);
    expect(await there.restore(false)).toEqual([]); // what it was filled with
    copy.write('setup', 'x\n');
    expect(await there.restore(true)).toEqual([]);
    copy.write('made/a.js', 'x\n');
    copy.write('src/new.js', 'x\n');
    make(copy);
    expect(await there.restore(false)).toContainEqual({ what: `${path} is new`, restored: true });
    expect(existsSync(copy.path(path))).toBe(false);
    expect(await there.restore(false)).toEqual([]);
    expect(existsSync(copy.path('made/a.js')) && existsSync(copy.path('setup'))).toBe(true);
  });
});

describe('globs', () => {
  const TREE = [
    'a.config.js',
    'sub/b.config.js',
    'src/x.ts',
    'src/deep/er/x.ts',
    'src/y.ts',
    'test/a',
    'test/b/c',
  ];
  const cases: Readonly<Record<string, readonly string[]>> = {
    'test/**': ['test/a', 'test/b/c'],
    test: ['test/a', 'test/b/c'],
    'test/': ['test/a', 'test/b/c'],
    './test/**': ['test/a', 'test/b/c'],
    'test/*': ['test/a'],
    '*.config.js': ['a.config.js'],
    '**/*.config.js': ['a.config.js', 'sub/b.config.js'],
    'src/**/x.ts': ['src/deep/er/x.ts', 'src/x.ts'],
    'src/[xy].ts': ['src/x.ts', 'src/y.ts'],
    'src/?.ts': ['src/x.ts', 'src/y.ts'],
  };
  test.for(Object.entries(cases))('%s', async ([glob, expected]) => {
    const work = repo(Object.fromEntries(TREE.map(name => [name, 'x\n'])));
    const protection = await protect(work, { globs: [glob] });
    for (const name of TREE) rmSync(work.path(name));
    expect((await protection.inspect()).map(({ what }) => what.replace(' was deleted', ''))).toEqual(
      expected,
    );
  });

  test("Ralph's own folder is never protected: Ralph writes there", async () => {
    const work = repo({ '.ralph/settings.json': '{}\n', a: 'a\n' });
    expect((await protect(work, { globs: ['**'] })).files).toBe(1);
  });

  test('one that fits nothing is told of', async () => {
    const work = repo(FILES);
    const { notes, files } = await protect(work, { globs: ['test/**', 'tset/**'] });
    expect({ notes, files }).toEqual({ notes: ['protect tset/**: no file fits it now'], files: 2 });
  });

  const problems: Readonly<Record<string, RegExp>> = {
    '!test/**': /exceptions with ! are not supported/,
    '': /protects nothing/,
    '../elsewhere/**': /outside repository/,
  };
  test.for(Object.entries(problems))('%j is a problem', async ([glob, sentence]) => {
    const work = repo(FILES);
    const options = {
      cwd: work.dir,
      env,
      globs: [glob],
      newFiles: 'allow',
      aside: work.path('aside'),
      keepIn: work.path('kept'),
    } as const;
    expect(await createProtection(options)).toMatchObject({ what: expect.stringMatching(sentence) });
    if (!glob.startsWith('!')) return;
    // What the user wrote is named, and how to write it.
    expect(await createProtection({ ...options, globs: ['**'], allow: [glob] })).toMatchObject({
      where: `only "${glob}"`,
      fix: 'name what may change',
    });
  });
});
