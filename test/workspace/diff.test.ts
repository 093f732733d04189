import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  accumulatedDiff,
  type DiffOptions,
  type Excerpt,
  startRef,
  unseenIn,
} from '../../src/workspace/diff.ts';
import { folder, type Repo, repo, stateEnv } from '../rig/repo.ts';

const env = stateEnv();

async function started(work: Repo): Promise<string> {
  const ref = await startRef({ cwd: work.dir, env });
  if (typeof ref !== 'string') throw new Error(ref.what);
  return ref;
}

async function diffSince(ref: string, work: Repo, options: Partial<DiffOptions> = {}): Promise<Excerpt> {
  const diff = await accumulatedDiff({ cwd: work.dir, env, startRef: ref, maxChars: 100_000, ...options });
  if ('what' in diff) throw new Error(diff.what);
  return diff;
}

/** The diff without the lines that name objects. */
const bare = (text: string) => text.replace(/^index .*\n/gm, '');

/** Everything that git keeps, but for times: nothing of it may change. */
function insideGit(work: Repo): unknown {
  const names = readdirSync(work.path('.git'), { recursive: true, encoding: 'utf8' }).sort();
  return names.map(name => {
    const stat = statSync(work.path(join('.git', name)));
    return [name, stat.isFile() ? readFileSync(work.path(join('.git', name)), 'latin1') : ''];
  });
}

test('a diff holds no secret, wherever it is cut', async () => {
  const secret = 'Zq8first-secret-value-9f3';
  const work = repo({ a: 'a\n' });
  const ref = await started(work);
  work.write('a', `${'no end of words '.repeat(20)}${secret}${' and more'.repeat(50)}\n`);
  const shown = async (maxChars: number) =>
    (await diffSince(ref, work, { env: { ...env, SHOP_API_TOKEN: secret }, maxChars })).text;
  const whole = await shown(100_000);
  expect(whole).toContain('words [redacted] and');
  const at = whole.indexOf('[redacted]');
  for (const cut of [at + 1, at + 4, at + 9, at + 24, at + 40])
    expect(await shown(cut)).not.toContain(secret.slice(0, 4));
});

describe('what a diff since the start of a run holds', () => {
  const FILES = {
    '.gitignore': '*.o\n',
    'a.txt': 'one\ntwo\n',
    'long.txt': 'same line\n'.repeat(20),
    'run.sh': 'echo\n',
  };
  const cases: Readonly<Record<string, readonly [(work: Repo) => void, string]>> = {
    'nothing when nothing changed': [() => {}, ''],
    'an edit': [
      work => work.write('a.txt', 'one\nthree\n'),
      'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n',
    ],
    'an edit that was staged': [
      work => {
        work.write('a.txt', 'one\n');
        work.git('add', '.');
      },
      'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1 @@\n one\n-two\n',
    ],
    'an edit that the agent committed, with one on top of it': [
      work => {
        work.write('a.txt', 'one\n');
        work.git('commit', '-qam', 'agent');
        work.write('a.txt', 'one\nmore\n');
      },
      'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+more\n',
    ],
    'nothing of an edit that was committed and taken back': [
      work => {
        work.write('a.txt', 'one\n');
        work.git('commit', '-qam', 'agent');
        work.write('a.txt', 'one\ntwo\n');
      },
      '',
    ],
    'a file that git does not know yet': [
      work => work.write('new.txt', 'hello\n'),
      'diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n',
    ],
    'an empty new file': [
      work => work.write('empty', ''),
      'diff --git a/empty b/empty\nnew file mode 100644\n',
    ],
    'a deletion': [
      work => rmSync(work.path('a.txt')),
      'diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n',
    ],
    'a file moved to where git does not know it, as a rename': [
      work => renameSync(work.path('long.txt'), work.path('moved.txt')),
      'diff --git a/long.txt b/moved.txt\nsimilarity index 100%\nrename from long.txt\nrename to moved.txt\n',
    ],
    'a change of mode': [
      work => chmodSync(work.path('run.sh'), 0o755),
      'diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n',
    ],
    'a binary file as a line': [
      work => writeFileSync(work.path('x.bin'), Buffer.from([0, 1, 2, 0, 255])),
      'diff --git a/x.bin b/x.bin\nnew file mode 100644\nBinary files /dev/null and b/x.bin differ\n',
    ],
    'a large new file as a line': [
      work => {
        work.write('big.log', '');
        truncateSync(work.path('big.log'), 300_000_000);
      },
      'new: big.log (300000000 bytes, too large to show)\n',
    ],
    'a file that grew large as a line': [
      work => work.write('a.txt', 'x\n'.repeat(600_000)),
      'changed: a.txt (1200000 bytes, too large to show)\n',
    ],
    'a symbolic link, and not what it points to': [
      work => symlinkSync('/etc/hostname', work.path('link')),
      'diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc/hostname\n\\ No newline at end of file\n',
    ],
    'a file that became a folder': [
      work => {
        rmSync(work.path('a.txt'));
        work.write('a.txt/inner', 'new\n');
      },
      'diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n' +
        'diff --git a/a.txt/inner b/a.txt/inner\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt/inner\n@@ -0,0 +1 @@\n+new\n',
    ],
    'a repository that the agent made inside, as a line': [
      work => {
        work.write('inner/x', 'x\n');
        execFileSync('git', ['init', '-q', work.path('inner')], { env });
      },
      'new: inner/ (a git repository of its own, not shown)\n',
    ],
    'nothing that was ignored at the start': [work => work.write('x.o', 'object\n'), ''],
    'what the agent hides in the settings of the repository': [
      work => {
        work.write('.git/info/exclude', '*.txt\n');
        work.git('update-index', '--assume-unchanged', 'a.txt');
        work.write('a.txt', 'one\n');
      },
      'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1 @@\n one\n-two\n',
    ],
    'a deeper folder that is called as Ralph’s own': [
      work => work.write('packages/a/.ralph/notes', 'x\n'),
      'diff --git a/packages/a/.ralph/notes b/packages/a/.ralph/notes\nnew file mode 100644\n--- /dev/null\n+++ b/packages/a/.ralph/notes\n@@ -0,0 +1 @@\n+x\n',
    ],
    'nothing of Ralph’s own folder': [
      work => {
        work.write('.ralph/ralph-progress.md', '# progress\n');
        work.write('.ralph/tracked', 'by mistake\n');
        work.git('add', '--force', '.ralph/tracked');
        work.git('commit', '-qm', 'agent');
        work.write('.ralph/tracked', 'changed\n');
      },
      '',
    ],
  };

  test.for(Object.entries(cases))('%s', async ([, [change, expected]]) => {
    const work = repo(FILES);
    const ref = await started(work);
    change(work);
    const diff = await diffSince(ref, work);
    expect({ ...diff, text: bare(diff.text) }).toEqual({
      text: expected,
      cut: false,
      chars: diff.text.length,
    });
  });

  test('names with spaces, quotes, line breaks, letters of any script and glob characters', {
    tags: 'promise',
  }, async () => {
    const names = [
      'with space',
      'qu"ote',
      "apo'strophe",
      'line\nbreak',
      'tab\there',
      'größe-文件',
      '[a]*?',
      ':(top)x',
      '-n',
    ];
    const work = repo(Object.fromEntries(names.slice(0, 5).map(name => [name, 'old\n'])));
    const ref = await started(work);
    for (const name of names) work.write(name, `of ${name.length}\n`);
    const { text } = await diffSince(ref, work);
    expect(text.match(/^\+of \d+$/gm)).toHaveLength(names.length);
    expect(text).toContain('diff --git a/größe-文件 b/größe-文件\n');
    expect(text).toContain('diff --git "a/line\\nbreak" "b/line\\nbreak"\n');
  });

  test('a file whose name is not UTF-8 is told of', async () => {
    const work = repo();
    const ref = await started(work);
    writeFileSync(Buffer.concat([Buffer.from(`${work.dir}/caf`), Buffer.from([0xe9])]), 'x\n');
    expect((await diffSince(ref, work)).text).toBe('changed: caf\ufffd (its name is not UTF-8)\n');
  });

  test('what the caller excludes is left out, committed or not', async () => {
    const work = repo({ 'out/a': 'a\n', 'src/a': 'a\n' });
    const ref = await started(work);
    work.write('out/a', 'b\n');
    work.git('commit', '-qam', 'agent');
    work.write('out/new', 'n\n');
    work.write('src/a', 'b\n');
    const { text } = await diffSince(ref, work, { exclude: ['out/**'] });
    expect(text.match(/^diff .*$/gm)).toEqual(['diff --git a/src/a b/src/a']);
  });

  test('from a folder below the top it is still the whole repository', async () => {
    const work = repo({ 'packages/a/x': 'x\n', y: 'y\n' });
    const ref = await started(work);
    work.write('y', 'changed\n');
    work.git('commit', '-qam', 'agent');
    work.write('packages/a/x', 'changed\n');
    const { text } = await diffSince(ref, work, { cwd: work.path('packages/a') });
    expect(text.match(/^diff .*$/gm)).toEqual([
      'diff --git a/packages/a/x b/packages/a/x',
      'diff --git a/y b/y',
    ]);
  });
});

describe('a diff leaves everything as it was', () => {
  test('the index, the objects and the files of the user, byte for byte', { tags: 'promise' }, async () => {
    const work = repo({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' });
    const ref = await started(work);
    work.write('a.txt', 'staged\n');
    work.git('add', 'a.txt');
    work.write('a.txt', 'not staged\n');
    work.write('new.txt', 'new\n');
    rmSync(work.path('b.txt'));
    const before = insideGit(work);
    expect((await diffSince(ref, work)).text).toContain('+not staged');
    expect(insideGit(work)).toEqual(before);
    expect(readdirSync(work.dir).sort()).toEqual(['.git', 'a.txt', 'c.txt', 'new.txt']);
  });

  test('no command out of the settings or attributes of the repository runs', {
    tags: 'promise',
  }, async () => {
    const work = repo({ '.gitattributes': '*.txt diff=evil filter=evil\n', 'a.txt': 'a\n', 'b.txt': 'b\n' });
    const ref = await started(work);
    const evil = `touch '${work.path('ran')}'; cat`;
    for (const key of [
      'diff.external',
      'diff.evil.command',
      'diff.evil.textconv',
      'core.fsmonitor',
      'core.pager',
    ])
      work.git('config', key, evil);
    for (const key of ['filter.evil.clean', 'filter.evil.smudge', 'filter.evil.process'])
      work.git('config', key, evil);
    work.git('config', 'filter.evil.required', 'true');
    work.git('config', 'color.diff', 'always');
    work.git('config', 'diff.noprefix', 'true');
    work.write('a.txt', 'c\n');
    work.write('new.txt', 'new\n');
    const { text } = await diffSince(ref, work);
    expect(text.match(/^[-+].*$/gm)).toEqual([
      '--- a/a.txt',
      '+++ b/a.txt',
      '-a',
      '+c',
      '--- /dev/null',
      '+++ b/new.txt',
      '+new',
    ]);
    expect(readdirSync(work.dir)).not.toContain('ran');
  });

  test('it works beside the environment that git gives to a hook', async () => {
    const [work, other] = [repo({ 'a.txt': 'a\n' }), repo({ 'a.txt': 'a\n' })];
    const ref = await started(work);
    work.write('a.txt', 'b\n');
    const hook = {
      ...env,
      GIT_DIR: other.path('.git'),
      GIT_WORK_TREE: other.dir,
      GIT_INDEX_FILE: other.path('.git/index'),
    };
    expect((await diffSince(ref, work, { env: hook })).text).toContain('+b\n');
  });
});

describe('a diff that is too long', () => {
  test('ends where a line ends, and says how much and how many files are missing', async () => {
    const work = repo({ a: 'a\n', b: 'b\n', c: 'c\n' });
    const ref = await started(work);
    for (const name of ['a', 'b', 'c']) work.write(name, `${'0123456789\n'.repeat(50)}`);
    const whole = await diffSince(ref, work);
    const { text, cut, chars } = await diffSince(ref, work, { maxChars: 500 });
    const shown = text.slice(0, text.indexOf('[the diff'));
    expect(
      whole.text.startsWith(shown) && shown.endsWith('\n') && shown.length > 480 && shown.length <= 500,
    ).toBe(true);
    expect(text.slice(shown.length)).toBe(
      `[the diff is cut here: ${whole.chars - shown.length} characters are missing, among them 2 files of which nothing is shown]\n`,
    );
    expect({ cut, chars }).toEqual({ cut: true, chars: whole.chars });
  });

  test('is cut inside of a very long line, but never inside of a character', async () => {
    const work = repo();
    const ref = await started(work);
    work.write('wide', '😀'.repeat(5_000));
    for (const maxChars of [1_000, 1_001]) {
      const { text } = await diffSince(ref, work, { maxChars });
      expect(Buffer.from(text).toString()).toBe(text); // half a character would come back as another
      expect(text.indexOf('[the diff is cut here')).toBeGreaterThan(990);
    }
  });

  test('stops git early and stays small in memory', async () => {
    const work = repo();
    const ref = await started(work);
    const mb = 'all work and no play\n'.repeat(49_000);
    for (let index = 0; index < 60; index++) work.write(`f${index}`, mb);
    const before = process.memoryUsage().rss;
    const { text, cut } = await diffSince(ref, work, { maxChars: 5_000 });
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
    expect(cut).toBe(true);
    expect(text).toMatch(
      /\[the diff is cut here: more than \d{7} characters are missing, among them 59 files .*\]\n$/,
    );
  });
});

describe('repositories of every kind', () => {
  test('one without a commit is compared with nothing, also after the first commit', async () => {
    const work = folder();
    work.git('init', '--quiet');
    const ref = await started(work);
    work.write('a', 'a\n');
    const untracked = await diffSince(ref, work);
    work.git('add', '.');
    work.git('commit', '-qm', 'agent');
    expect(bare(untracked.text)).toContain(
      'new file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n',
    );
    expect(await diffSince(ref, work)).toEqual(untracked);
  });

  test('one that hashes with SHA-256', async () => {
    const work = folder();
    work.git('init', '--quiet', '--object-format=sha256');
    const ref = await started(work);
    work.write('a', 'a\n');
    expect((await diffSince(ref, work)).text).toContain('+a\n');
  });

  test('a detached HEAD', async () => {
    const work = repo();
    work.git('checkout', '--quiet', '--detach');
    const ref = await started(work);
    expect(ref).toBe(work.git('rev-parse', 'HEAD').trim());
    work.write('a', 'a\n');
    expect((await diffSince(ref, work)).text).toContain('+a\n');
  });

  test('one in the middle of a merge conflict', async () => {
    const work = repo({ a: 'a\n' });
    const ref = await started(work);
    work.git('checkout', '-qb', 'other');
    work.write('a', 'theirs\n');
    work.git('commit', '-qam', 'theirs');
    work.git('checkout', '-q', 'main');
    work.write('a', 'ours\n');
    work.git('commit', '-qam', 'ours');
    expect(() => work.git('merge', 'other')).toThrow();
    const { text } = await diffSince(ref, work);
    expect(text.match(/^[-+]\w.*$/gm)).toEqual(['-a', '+ours', '+theirs']);
  });

  test('a submodule is not entered; that its commit is another one is said', async () => {
    const inner = repo({ x: 'x\n' });
    const work = repo();
    work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, 'sub');
    work.git('commit', '-qm', 'sub');
    const ref = await started(work);
    work.write('sub/x', 'changed\n');
    expect((await diffSince(ref, work)).text).toBe('');
    execFileSync('git', ['commit', '-qam', 'agent'], { cwd: work.path('sub'), env });
    work.git('commit', '-qam', 'agent');
    expect((await diffSince(ref, work)).text).toBe('changed: sub (a submodule, at another commit)\n');
  });

  test('a sparse checkout shows what is there, and tells of what is not', async () => {
    const work = repo({ 'in/a': 'a\n', 'out/b': 'b\n' });
    work.git('sparse-checkout', 'set', 'in');
    const ref = await started(work);
    expect((await diffSince(ref, work)).text).toBe('');
    work.write('in/a', 'changed\n');
    const oid = work.git('rev-parse', 'HEAD:in/a').trim();
    work.git('update-index', '--cacheinfo', `100644,${oid},out/b`);
    work.git('update-index', '--skip-worktree', 'out/b');
    work.git('commit', '-qm', 'agent');
    const { text } = await diffSince(ref, work);
    expect(text.match(/^(diff|changed).*$/gm)).toEqual([
      'diff --git a/in/a b/in/a',
      'changed: out/b (in a commit, not checked out here)',
    ]);
  });

  test('a worktree beside others, at a path with a colon, quotes and a line break', async () => {
    const work = repo();
    const odd = work.path('.git/odd: "x"\nhere');
    work.git('worktree', 'add', '-q', '--detach', odd);
    const ref = await startRef({ cwd: odd, env });
    writeFileSync(join(odd, 'README.md'), 'changed\n');
    const diff = await accumulatedDiff({ cwd: odd, env, startRef: String(ref), maxChars: 9_999 });
    expect(diff).toMatchObject({ text: expect.stringContaining('-# test\n+changed\n') });
  });

  test('one at a path with a colon and quotes', async () => {
    const outer = folder();
    const dir = outer.path('a:b "c"');
    mkdirSync(dir);
    execFileSync('git', ['init', '-q', dir], { env });
    writeFileSync(join(dir, 'a'), 'old\n');
    execFileSync('git', ['add', '.'], { cwd: dir, env });
    execFileSync('git', ['commit', '-qm', 'start'], { cwd: dir, env });
    const ref = await startRef({ cwd: dir, env });
    writeFileSync(join(dir, 'a'), 'new\n');
    const diff = await accumulatedDiff({ cwd: dir, env, startRef: String(ref), maxChars: 9_999 });
    expect(diff).toMatchObject({ text: expect.stringContaining('-old\n+new\n') });
  });

  const problems: Readonly<Record<string, readonly [(work: Repo) => string, RegExp]>> = {
    'no repository': [work => work.dir, /not in a git repository/],
    'a bare repository': [
      work => {
        work.git('init', '--quiet', '--bare');
        return work.dir;
      },
      /bare repository/,
    ],
    'the inside of .git': [
      work => {
        work.git('init', '--quiet');
        return work.path('.git');
      },
      /inside of the \.git folder/,
    ],
    'a folder that is not there': [work => work.path('nowhere'), /no such folder/],
  };
  test.for(Object.entries(problems))(
    '%s is a problem with a sentence of its own',
    async ([, [make, sentence]]) => {
      const cwd = make(folder());
      expect(await startRef({ cwd, env })).toEqual(
        expect.objectContaining({ where: cwd, what: expect.stringMatching(sentence) }),
      );
      expect(await accumulatedDiff({ cwd, env, startRef: 'x', maxChars: 9 })).toMatchObject({
        what: expect.stringMatching(sentence),
      });
    },
  );

  test('a start that is gone is a problem', async () => {
    const work = repo();
    const diff = await accumulatedDiff({ cwd: work.dir, env, startRef: '1'.repeat(40), maxChars: 9 });
    expect(diff).toMatchObject({ what: expect.stringContaining('cannot be compared with HEAD') });
  });
});

test('what nobody sees in a diff is named', async () => {
  const work = repo({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  const ref = await started(work);
  writeFileSync(work.path('a.txt'), 'plain\nBinary files a and b differ\nnew: c.txt (x)\n');
  writeFileSync(work.path('.gitattributes'), '*.txt -diff\n');
  const whole = await diffSince(ref, work);
  expect([unseenIn(whole), whole.text.includes('+plain')]).toEqual([[], true]);
  writeFileSync(work.path('a.txt'), 'a\0b\n');
  writeFileSync(work.path('b.txt'), `version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n`);
  writeFileSync(work.path('ü "q".bin'), '\0');
  expect(unseenIn(await diffSince(ref, work))).toEqual([
    'a.txt (binary, or a NUL byte in a text)',
    expect.stringContaining('(binary, or a NUL byte in a text)'),
    'b.txt (content in git-lfs)',
  ]);
  const cut = unseenIn(await diffSince(ref, work, { maxChars: 150 }));
  expect(cut.at(-1)).toMatch(/^\d+ characters are missing/);
});
