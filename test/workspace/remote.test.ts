/** What is exchanged with a repository elsewhere: a branch moves only from where it was left, and nothing waits for ever. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { openRemote } from '../../src/workspace/remote.ts';
import { folder, repo, stateEnv } from '../rig/repo.ts';

const BRANCH = 'refs/heads/landed';

/** Ralph's own directory begins without history. */
async function publish() {
  const url = folder('ralph-remote-');
  url.git('init', '--quiet', '--bare');
  const here = repo();
  for (const at of [1, 2, 3, 4]) {
    here.git('commit', '--quiet', '--allow-empty', '--message', `commit ${at}`);
    here.git('push', '--quiet', url.dir, `HEAD:refs/ralph/u/${at}`);
  }
  const env = stateEnv();
  const own = await openOwnGit({ cwd: here.dir, env });
  if (isProblem(own)) throw new Error(own.what);
  const at = (where: string) => openRemote(own, env, where, new AbortController().signal);
  return { own, url: url.dir, at };
}

async function exchange(signal = new AbortController().signal) {
  const there = folder();
  there.git('init', '--quiet', '--bare');
  const here = repo();
  const commits = ['one', 'two', 'three'].map(name => {
    here.git('commit', '--quiet', '--allow-empty', '--message', name);
    return here.git('rev-parse', 'HEAD').trim();
  });
  const env = stateEnv();
  const own = await openOwnGit({ cwd: here.dir, env });
  if (isProblem(own)) throw new Error(own.what);
  for (const commit of commits) expect(await own.bring(commit)).toBeUndefined();
  const [one = '', two = '', three = ''] = commits;
  return { there, remote: await openRemote(own, env, there.dir, signal), one, two, three };
}

test('a branch moves from where it was left, and stays when somebody else has moved it', {
  tags: 'promise',
}, async () => {
  const { there, remote, one, two, three } = await exchange();
  expect(await remote.tip(BRANCH)).toBeUndefined();
  expect(await remote.swap(BRANCH, undefined, one)).toBe('done');
  expect(await remote.swap(BRANCH, undefined, two)).toBe('moved');
  expect(await remote.swap(BRANCH, one, two)).toBe('done');
  // Forward from there, and still not from where it is.
  expect(await remote.swap(BRANCH, one, three)).toBe('moved');
  expect(there.git('rev-parse', BRANCH).trim()).toBe(two);
  // Said again, because the answer was lost.
  expect(await remote.swap(BRANCH, one, two)).toBe('done');
});

test('what is under way ends when nobody wants it any more', async () => {
  const abort = new AbortController();
  const { there, remote, one } = await exchange(abort.signal);
  there.script('hooks/pre-receive', 'touch reached\nwhile [ ! -e go ]; do sleep 0.05; done');
  const put = remote.put(one, BRANCH);
  await vi.waitFor(() => expect(existsSync(join(there.dir, 'reached'))).toBe(true), { timeout: 60_000 });
  abort.abort();
  expect(isProblem(await put)).toBe(true);
  writeFileSync(join(there.dir, 'go'), '');
});

test('names that nobody has are nothing, also where history is still missing', async () => {
  const { url, at } = await publish();
  expect(await (await at(url)).bring(['refs/ralph/other/*'])).toBeUndefined();
});

test('several who ask at the same time all get what they ask for, with its history', async () => {
  const { own, url, at } = await publish();
  const remote = await at(url);
  const all = [1, 2, 3, 4].map(name => `refs/ralph/u/${name}`);
  expect(await Promise.all(all.map(ref => remote.bring([ref])))).toEqual(all.map(() => undefined));
  const { stdout } = await own.objects.at(own.top).run(['rev-list', '--count', 'refs/ralph/u/4']);
  expect(stdout.trim()).toBe('5');
});

test('one that cannot be reached is a problem, and the next is asked all the same', async () => {
  const { url, at } = await publish();
  const remote = await at(`${url}/none`);
  const both = [remote.bring(['refs/ralph/u/*']), remote.bring(['refs/ralph/u/*'])];
  expect((await Promise.all(both)).map(each => each?.where)).toEqual([`${url}/none`, `${url}/none`]);
});
