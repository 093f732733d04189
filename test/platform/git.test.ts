import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TOO_LONG } from '../../src/platform/capture.ts';
import { captureGit } from '../../src/platform/git.ts';
import { folder } from '../rig/repo.ts';

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
