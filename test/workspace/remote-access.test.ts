/** A push to a forge: the token is in the environment of git alone, for its own host, and no push is forced. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { openRemote } from '../../src/workspace/remote.ts';
import { folder, repo, stateEnv } from '../rig/repo.ts';

const NEVER = new AbortController().signal;

test('a branch moves forward and never back', async () => {
  const work = repo();
  const bare = folder('ralph-bare-');
  bare.git('init', '--quiet', '--bare');
  const env = stateEnv();
  const own = await openOwnGit({ cwd: work.dir, env });
  if (isProblem(own)) throw new Error(own.what);
  const commit = (message: string) => {
    work.git('commit', '--quiet', '--allow-empty', '--message', message);
    return work.git('rev-parse', 'HEAD').trim();
  };
  const [one, two] = [commit('one'), commit('two')];
  work.git('reset', '--quiet', '--hard', one);
  const other = commit('other');
  for (const each of [two, other]) await own.bring(each, true);
  const remote = await openRemote(own, env, bare.dir, NEVER, { host: 'example.invalid', token: 'tok' });
  const ref = 'refs/heads/x';
  expect(await remote.advance(ref, one)).toBe('done');
  expect(await remote.advance(ref, two)).toBe('done');
  expect(await remote.advance(ref, two)).toBe('done');
  expect(await remote.advance(ref, other)).toBe('moved');
  expect(await remote.advance(ref, one)).toBe('moved');
  expect(await remote.tip(ref)).toBe(two);
});

test('an address in clear text does not get the token', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization ?? '');
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { readonly port: number };
  const work = repo();
  const env = stateEnv();
  const own = await openOwnGit({ cwd: work.dir, env });
  if (isProblem(own)) throw new Error(own.what);
  const url = `http://127.0.0.1:${port}/octo/demo.git`;
  const remote = await openRemote(own, env, url, NEVER, { host: `127.0.0.1:${port}`, token: 'tok' });
  expect(isProblem(await remote.tip('refs/heads/x'))).toBe(true);
  expect(new Set(seen)).toEqual(new Set(['']));
  const config = `${own.objects.cwd}/config`;
  expect(existsSync(config) && readFileSync(config, 'utf8').includes('tok')).toBe(false);
});
