/** The token of a push: git asks for it at the host of the forge, and no redirect takes it elsewhere. */
import { execFileSync } from 'node:child_process';
import { request as askAt, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { openRemote } from '../../src/workspace/remote.ts';
import { loopEnded } from '../rig/ended-run.ts';
import { createForge, TOKEN } from '../rig/forge.ts';
import { serveGitOver } from '../rig/git-server.ts';
import { keepsOpen } from '../rig/keeps-open.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const BASIC = `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;

/** A certificate for this machine, by both of its names. */
function certificate() {
  const place = folder('ralph-tls-');
  const [key, cert] = [place.path('key.pem'), place.path('cert.pem')];
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  const made = [
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-addext',
    names,
  ];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...made], { stdio: 'ignore' });
  return { key: place.read('key.pem'), cert: place.read('cert.pem'), path: cert };
}

async function serveTls(tls: { readonly key: string; readonly cert: string }, answer: RequestListener) {
  const server = keepsOpen(createServer(tls, answer));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The forge at one host, and another host that asks for whatever it can get. */
async function twoHosts(
  leads: (path: string, isKnown: boolean) => boolean,
  { host = '127.0.0.1', refuses = (_path: string): boolean => false, api = (): string => '' } = {},
) {
  const tls = certificate();
  const work = repo({ 'README.md': '# test\n' });
  const bare = folder('ralph-bare-');
  bare.git('init', '--quiet', '--bare', '--initial-branch', 'main');
  const git = serveGitOver(bare);
  const seen = { here: [] as string[], elsewhere: [] as string[] };
  const other = await serveTls(tls, (request, response) => {
    seen.elsewhere.push(JSON.stringify(request.headers));
    if (request.headers.authorization) return git(request, response);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  const port = await serveTls(tls, (request, response) => {
    const { url = '', headers, method } = request;
    if (!url.includes('git-') && !url.includes('ralph-bare-'))
      return void request.pipe(
        askAt(`${api()}${url}`, { method, headers }, there => {
          response.writeHead(there.statusCode ?? 500, there.headers);
          there.pipe(response);
        }),
      );
    const isKnown = headers.authorization === BASIC;
    seen.here.push(`${request.method} ${url} ${isKnown}`);
    if (isKnown && refuses(url))
      return void response.writeHead(403, { 'content-type': 'text/plain' }).end('Write access not granted.');
    if (leads(url, isKnown)) {
      // A name of the forge in front of the other host is a name of a user.
      const location = `https://${host.replace('PORT', String(port))}:${other}${url}`;
      return void response.writeHead(307, { location }).end();
    }
    if (isKnown) return git(request, response);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  const env = { ...process.env, GIT_SSL_CAINFO: tls.path };
  const own = await openOwnGit({ cwd: work.dir, env });
  if (isProblem(own)) throw new Error(own.what);
  const forge = `localhost:${port}`;
  const url = `https://${forge}/${basename(bare.dir)}`;
  const access = { host: forge, token: TOKEN };
  const remote = await openRemote(own, env, url, new AbortController().signal, access);
  const commit = work.git('rev-parse', 'HEAD').trim();
  await own.bring(commit, true);
  return { remote, seen, bare, commit, forge, url, env };
}

test('it is given to the host of the forge', async () => {
  const { remote, seen, bare, commit } = await twoHosts(() => false);
  expect(await remote.advance('refs/heads/one', commit)).toBe('done');
  expect([bare.git('rev-parse', 'one').trim(), seen.elsewhere]).toEqual([commit, []]);
  expect(seen.here.some(each => each.endsWith('true'))).toBe(true);
});

test.each([
  ['before it asks who it is', () => true, '127.0.0.1', true],
  ['when it knows who it is', (_: string, isKnown: boolean) => isKnown, '127.0.0.1', true],
  ['with what is pushed', (path: string) => path.endsWith('/git-receive-pack'), '127.0.0.1', false],
  ['to another port', (_: string, isKnown: boolean) => isKnown, 'localhost', true],
  ['in the name of the forge', (_: string, isKnown: boolean) => isKnown, 'localhost:PORT@127.0.0.1', true],
])('a redirect to another host, %s, does not take it there', async (_, leads, host, isFollowed) => {
  const { remote, seen, bare, commit } = await twoHosts(leads, { host });
  const pushed = await remote.advance('refs/heads/one', commit);
  expect([isProblem(pushed), bare.git('for-each-ref')], JSON.stringify(pushed)).toEqual([true, '']);
  const all = seen.elsewhere.join('\n');
  expect(all.includes('git/'), 'git went there').toBe(isFollowed);
  expect([all.includes(TOKEN), all.includes(BASIC.slice(6))], all).toEqual([false, false]);
});

test.each([
  ['before it sends anything', '/info/refs?service=git-receive-pack'],
  ['with what it sends', '/git-receive-pack'],
])(
  'one that may only read is refused with 403, %s: it ends there, and says what to look at',
  async (_, path) => {
    let api = '';
    const refuses = (url: string) => url.endsWith(path);
    const work = repo({ 'README.md': '# test\n' });
    const { bare, forge: host, url, env, seen } = await twoHosts(() => false, { refuses, api: () => api });
    work.git('remote', 'add', 'origin', bare.dir);
    const forge = await createForge(work, bare);
    work.git('remote', 'set-url', 'origin', url);
    await loopEnded(work);
    api = forge.url;
    const there = { GITHUB_API_URL: `https://${host}`, NODE_EXTRA_CA_CERTS: env.GIT_SSL_CAINFO };
    const asked = await ralph(['pr', '--json'], {
      cwd: work.dir,
      env: { ...forge.env, ...there, GIT_SSL_CAINFO: env.GIT_SSL_CAINFO },
    });
    expect([asked.code, forge.state.pulls], asked.stdout + asked.stderr).toEqual([2, []]);
    expect(asked.stderr).toMatch(/403.*whether the token may write contents/s);
    expect(asked.stdout + asked.stderr).not.toContain(TOKEN);
    expect(seen.here.filter(each => each.endsWith(`${path} true`))).toHaveLength(1);
  },
);
