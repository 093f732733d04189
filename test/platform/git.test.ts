import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TOO_LONG } from '../../src/platform/ask.ts';
import type { Captured } from '../../src/platform/capture.ts';
import { captureGit, git } from '../../src/platform/git.ts';
import { hurryGit } from '../../src/platform/git-watch.ts';
import { folder, gitEnv, repo } from '../rig/repo.ts';

test('a git that works is not taken for one that waits for a named pipe, and one that waits is ended', async () => {
  const { dir, path } = folder();
  mkdirSync(path('.git'));
  execFileSync('mkfifo', [path('.gitignore')]);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const script = ': > works; until [ -e go ]; do :; done; : > waits; read line < .gitignore';
  let ended = false;
  const answer = captureGit(['/bin/sh', '-c', script], { cwd: dir, env: {} }).finally(() => {
    ended = true;
  });
  const until = async (isSo: () => boolean, meanwhile = () => {}) => {
    for (; !isSo() && !ended; meanwhile()) await setImmediate();
  };
  await until(() => existsSync(path('works')));
  vi.advanceTimersByTime(100_000);
  writeFileSync(path('go'), '');
  await until(() => existsSync(path('waits')));
  expect(existsSync(path('waits'))).toBe(true);
  await until(
    () => false,
    () => vi.advanceTimersByTime(2_000),
  );
  const { code, output } = await answer;
  expect([code, output]).toEqual([TOO_LONG, expect.stringContaining('.gitignore is a named pipe, and git')]);
});

const OBJECT = 'o=$(git rev-parse HEAD); o=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)';
const OUTSIDE = 'mkdir -p "$OUT/pack"; mkfifo "$OUT/pack/multi-pack-index"';

/** By what git waits for, or reads for ever: how it comes there, what git is asked, and what is said. */
const KEPT: Readonly<Record<string, readonly [plant: string, args: readonly string[], says: RegExp]>> = {
  'a named pipe in place of an object': [
    `${OBJECT}; rm -f "$o"; mkfifo "$o"`,
    ['log', '-1'],
    /\.git\/objects\/\S+ is a named pipe/,
  ],
  'a named pipe behind a link': [
    'mkfifo "$OUT/f"; ln -sf "$OUT/f" .git/info/exclude',
    ['ls-files', '-o', '--exclude-standard'],
    /\.git\/info\/exclude is a named pipe/,
  ],
  'a named pipe in a repository inside': [
    'git init -q inner; mkfifo inner/.git/commondir',
    ['ls-files', '-o'],
    /inner\/\.git\/commondir is a named pipe/,
  ],
  'a named pipe elsewhere': [
    `${OUTSIDE}; mkdir -p .git/objects/info; echo "$OUT" > .git/objects/info/alternates`,
    ['log', '-1'],
    /a named pipe outside of the repository/,
  ],
  'a file longer than it can read': [
    ': > a; git add a; truncate -s 4T a',
    ['ls-files', '-m'],
    /\/a is 4096 GB long, and git would read all of it/,
  ],
};

test.runIf(process.platform === 'linux').each(Object.entries(KEPT))(
  'what keeps git is named, and ends it: %s',
  async (_, [plant, args, says]) => {
    const { dir } = repo({ a: 'a\n' });
    const env = { ...gitEnv(), OUT: folder().dir };
    execFileSync('sh', ['-c', `mkdir -p .git/info; ${plant}`], { cwd: dir, env });
    const asked = git(dir, env);
    const [{ code, output }, streamed] = await Promise.all([asked.run(args), asked.list(args)]);
    expect([code, output]).toEqual([TOO_LONG, expect.stringMatching(says)]);
    expect(streamed).toMatchObject({ code: TOO_LONG, errors: expect.stringMatching(says) });
  },
);

test('one that works where nobody waits any more is ended', async () => {
  const { dir, path } = folder();
  const stop = new AbortController();
  onTestFinished(hurryGit(dir, stop.signal));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let answer: Captured | undefined;
  const script = ': > works; while :; do :; done';
  void captureGit(['/bin/sh', '-c', script], { cwd: dir, env: {} }).then(each => {
    answer = each;
  });
  while (!existsSync(path('works'))) await setImmediate();
  vi.advanceTimersByTime(60_000);
  await setImmediate();
  expect(answer).toBeUndefined();
  stop.abort();
  while (!answer) {
    vi.advanceTimersByTime(1_000);
    await setImmediate();
  }
  expect(answer).toMatchObject({ code: TOO_LONG, output: 'nobody waits for git any more' });
});
