/** Requests to a forge: where the token goes, what is asked again, and what a hostile answer can do. */
import { describe, expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { findPlace, findToken, isBranchName, withoutToken } from '../../src/forge/address.ts';
import { createGitHub } from '../../src/forge/github.ts';
import { createHttp } from '../../src/forge/http.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { serve } from '../rig/refusals.ts';
import { folder } from '../rig/repo.ts';

function client(base: string, stopping = new AbortController().signal) {
  const said: string[] = [];
  return { said, http: createHttp({ base, token: 'secret-token', stopping, say: text => said.push(text) }) };
}

describe('the token', () => {
  test('goes to no other host, wherever a redirect leads', async () => {
    const seen: (string | undefined)[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end('the log');
    });
    const base = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(302, { location: `${other}/log` }).end();
    });
    expect(await client(base).http.text('/logs')).toBe('the log');
    expect(seen).toEqual(['Bearer secret-token', undefined]);
  });

  test('does not follow a list to another host', async () => {
    let asked = 0;
    const other = await serve((_, response) => {
      asked++;
      response.end('[2]');
    });
    const base = await serve((_, response) => {
      response.writeHead(200, { link: `<${other}/more>; rel="next"` }).end('[1]');
    });
    expect([await client(base).http.list('/things'), asked]).toEqual([[1], 0]);
  });

  test('is not sent in clear text, and holds nothing but a token', async () => {
    const url = 'https://github.com/octo/demo.git';
    for (const GITHUB_API_URL of ['http://example.com', 'ftp://x', 'nonsense'])
      expect(findPlace(undefined, url, 'origin', { GITHUB_API_URL })).toMatchObject({
        where: 'GITHUB_API_URL',
      });
    expect(await findToken('github.com', '/', { GH_TOKEN: 'a\r\nx-evil: 1' })).toMatchObject({
      where: 'the token',
    });
    expect(await findToken('github.com', '/', { GITHUB_TOKEN: ' abc ' })).toBe('abc');
    expect(await findToken('github.com', '/', { PATH: '/nowhere' })).toMatchObject({ where: 'token' });
    expect(withoutToken({ GH_TOKEN: 'x', GITHUB_TOKEN: 'y', HOME: '/h' })).toEqual({ HOME: '/h' });
  });
});

test('without one in the environment, that of the own gh of the user is taken', async () => {
  const { dir, script } = folder('ralph-gh-');
  script('gh', 'test "$*" = "auth token --hostname github.com" && echo " from-gh "');
  const env = { PATH: `${dir}:/usr/bin:/bin` };
  const { dir: project } = folder('ralph-project-');
  expect(await findToken('github.com', project, env)).toBe('from-gh');
  expect(await findToken('elsewhere.example', project, env)).toMatchObject({
    what: 'gh is not logged in to elsewhere.example',
  });
});

test('a flag comes before the environment, and that before the remote', async () => {
  const url = 'git@github.com:the/remote';
  const env = { GITHUB_REPOSITORY: 'the/environment', GH_TOKEN: 'gh', GITHUB_TOKEN: 'github' };
  const alias = 'git@my-github:some/where';
  expect(findPlace('the/flag', alias, 'origin', env)).toMatchObject({ owner: 'the', name: 'flag' });
  expect(findPlace(undefined, alias, 'origin', env)).toMatchObject({ name: 'environment' });
  expect(findPlace(undefined, url, 'origin', {})).toMatchObject({
    name: 'remote',
    base: 'https://api.github.com',
  });
  expect(await findToken('github.com', '/', env)).toBe('gh');
  expect(await findToken('github.com', '/', { ...env, GH_TOKEN: ' ' })).toBe('github');
});

test.each([
  'git@github.com:octo/demo.git',
  'git@GitHub.com:octo/demo',
  'https://github.com/octo/demo',
  'https://me:secret@github.com/octo/demo.git/',
  'ssh://git@github.com:22/octo/demo.git',
  'ssh://git@ssh.github.com:443/octo/demo.git',
])('the address %s names its repository', url => {
  expect(findPlace(undefined, url, 'origin', {})).toMatchObject({ owner: 'octo', name: 'demo' });
});

test('at a GitHub Enterprise it says which setting leads there', () => {
  const url = 'git@ghe.example:octo/demo.git';
  expect(findPlace(undefined, url, 'origin', {})).toMatchObject({
    what: expect.stringContaining('ghe.example'),
    fix: expect.stringContaining('GITHUB_API_URL=https://ghe.example/api/v3'),
  });
  const GITHUB_API_URL = 'https://ghe.example/api/v3';
  expect(findPlace(undefined, url, 'origin', { GITHUB_API_URL })).toMatchObject({
    host: 'ghe.example',
    owner: 'octo',
  });
});

test('a fork is not pushed to for a pull request in another repository', () => {
  const fork = 'git@github.com:me/demo.git';
  expect(findPlace('octo/demo', fork, 'origin', {})).toMatchObject({
    where: 'remote origin',
    what: expect.stringContaining('me/demo'),
    fix: expect.stringContaining('--remote'),
  });
  expect(findPlace('Octo/Demo', 'git@github.com:octo/demo.git', 'origin', {})).toMatchObject({
    owner: 'Octo',
  });
});

test('what is the same as before is not sent again, and pages are put together', async () => {
  const matches: (string | undefined)[] = [];
  const base: string = await serve((request, response) => {
    matches.push(request.headers['if-none-match']);
    if (request.headers['if-none-match'] === '"1"') return void response.writeHead(304).end();
    const isSecond = request.url?.includes('page=2');
    const link = `<${base}/things?page=2>; rel="next", <${base}/things?page=9>; rel="last"`;
    response.writeHead(200, isSecond ? {} : { etag: '"1"', link }).end(isSecond ? '[3]' : '[1,2]');
  });
  const { http } = client(base);
  expect([await http.list('/things'), await http.list('/things')]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(matches).toEqual([undefined, undefined, '"1"', undefined]);
});

/** A list of so many pages. */
function pages(count: number, text: (page: number) => string) {
  const served = serve((request, response): void => {
    const page = Number(/page=(\d+)/.exec(request.url ?? '')?.[1] ?? 1);
    const next = `<http://${request.headers.host}/things?page=${page + 1}>; rel="next"`;
    response.writeHead(200, page < count ? { link: next } : {}).end(text(page));
  });
  return served;
}

test('a long list is read to its end', async () => {
  const base = await pages(120, page => `[${page}]`);
  const list = await client(base).http.list('/things');
  expect([isProblem(list), (list as readonly unknown[]).length, (list as readonly unknown[]).at(-1)]).toEqual(
    [false, 120, 120],
  );
});

test.each([
  ['has no end', (page: number) => `[${page}]`],
  ['is larger than memory', () => `["${'x'.repeat(15_000_000)}"]`],
])('of a list that %s nothing is believed', { timeout: 240_000 }, async (_, text) => {
  const base = await pages(Number.POSITIVE_INFINITY, text);
  const { http, said } = client(base);
  expect(await http.list('/things')).toEqual({
    where: '/things',
    what: 'the list is longer than Ralph reads, so nothing in it counts',
    fix: 'continue in a new issue or pull request',
  });
  expect(said).toEqual([]);
});

test('a page of many things is read', async () => {
  const base = await serve((_, response) => void response.end(`[${'0,'.repeat(500_000)}0]`));
  expect(await client(base).http.list('/things')).toHaveLength(500_001);
});

test('an answer without an end is asked for once, and said', async () => {
  let count = 0;
  const base = await serve((_, response) => {
    count++;
    response.end(`["${'x'.repeat(20_000_000)}"]`);
  });
  const { http, said } = client(base);
  const what = 'its answer is too long';
  expect(await http.list('/things')).toMatchObject({ what });
  expect(await http.send('POST', '/things', {})).toMatchObject({ what, isUnsure: true });
  expect([count, said]).toEqual([2, []]);
});

test('a forge that is away for an hour is given up', async () => {
  let ticks = 0;
  const clock = { ...systemClock, ticks: () => ticks };
  const base = await serve((_, response) => {
    ticks += 2_000_000;
    response.writeHead(503).end('{}');
  });
  const http = createHttp({ base, token: 'x', stopping: new AbortController().signal, say() {}, clock });
  expect(await http.get('/x')).toMatchObject({ what: 'it answers with 503', isAway: true });
});

test('what writes is sent once, and nobody claims to know what came of it', async () => {
  let count = 0;
  const base = await serve((request, _) => {
    count++;
    request.socket.destroy();
  });
  expect(await client(base).http.send('POST', '/x', {})).toMatchObject({ isUnsure: true });
  expect(count).toBe(1);
});

test('trouble is said once, however often it is tried, and again when it comes back', async () => {
  const statuses = [500, 502, 200, 500, 200];
  const base = await serve((_, response) => void response.writeHead(statuses.shift() ?? 200).end('{}'));
  const { http, said } = client(base);
  expect(await http.get('/x')).toEqual({});
  expect(await http.get('/y')).toEqual({});
  expect(said).toEqual(
    Array.from({ length: 2 }, () =>
      expect.stringMatching(/^The forge at [\d.:]+: it answers with 50[02]\. /),
    ),
  );
});

test('an issue that was moved to another repository is none of this one', async () => {
  const base: string = await serve((request, response) => {
    if (request.url === '/elsewhere') return void response.end('{"number":7,"state":"open"}');
    response.writeHead(301, { location: '/elsewhere' }).end('{}');
  });
  const place = { base, host: 'x', owner: 'o', name: 'n' };
  expect(await createGitHub(place, client(base).http).issue(12)).toMatchObject({ status: 410 });
});

test('a limit that GraphQL states with an answer is waited for', async () => {
  const answers = ['{"errors":[{"type":"RATE_LIMITED","message":"x"}]}', '{}'];
  const base = await serve(
    (_, response) => void response.writeHead(200, { 'retry-after': '1' }).end(answers.shift()),
  );
  const { http, said } = client(base);
  expect(await http.send('POST', '/graphql', {})).toEqual({});
  expect(said).toEqual([`The forge at ${new URL(base).host}: its rate limit is reached. Retrying in 1 s.`]);
});

test.each([
  ['FORBIDDEN', 403, /the token may not do this/],
  ['INSUFFICIENT_SCOPES', 403, /the token may not do this/],
  ['NOT_FOUND', 404, /look at --repo/],
])('what GraphQL refuses as %s is said as a refusal is', async (type, status, fix) => {
  const text = JSON.stringify({ data: null, errors: [{ type, message: 'not for you' }] });
  const base = await serve((_, response) => void response.end(text));
  const place = { base, host: 'x', owner: 'o', name: 'n' };
  expect(await createGitHub(place, client(base).http).markReady('PR_1')).toMatchObject({
    ...{ status, what: `the forge answers with ${status}: not for you`, fix: expect.stringMatching(fix) },
  });
});

test.each([
  ['no forge', () => serve((_, response) => void response.end('<p>Log in</p>')), /is no JSON/],
  [
    'no TLS',
    async () => (await serve(() => {})).replace('http:', 'https:'),
    /cannot be reached \(\w*SSL\w*\)/,
  ],
])('what was never right is not waited for: %s', async (_, start, words) => {
  const { http, said } = client(await start());
  const fix = expect.stringContaining('GITHUB_API_URL');
  expect(await http.get('/x')).toMatchObject({ what: expect.stringMatching(words), fix });
  expect(said).toEqual([]);
});

test('an error without a sentence is said by the names in it', async () => {
  const text = JSON.stringify({ message: 'Validation Failed', errors: [{ field: 'head', code: 'invalid' }] });
  const base = await serve((_, response) => void response.writeHead(422).end(text));
  expect(await client(base).http.get('/x')).toMatchObject({
    what: 'the forge answers with 422: Validation Failed: head invalid',
  });
});

test('a wait ends when it is stopped', async () => {
  const stop = new AbortController();
  const base = await serve((_, response) => {
    response.writeHead(429, { 'retry-after': '3600' }).end('{}');
    setImmediate(() => stop.abort());
  });
  const { http, said } = client(base, stop.signal);
  expect(await http.get('/x')).toMatchObject({ isStopped: true });
  expect(said.length).toBeLessThanOrEqual(1);
});

test.each([
  '',
  'null',
  '[]',
  '{"number":-1}',
  '{"number":1,"html_url":"javascript:1"}',
  '{"number":"x"}',
  '<html>',
])('an answer that nobody expects is a problem, not a pull request: %j', async text => {
  const base = await serve((_, response) => void response.end(text));
  const place = { base, host: 'x', owner: 'o', name: 'n' };
  const pull = await createGitHub(place, client(base).http).pull(1);
  expect(isProblem(pull)).toBe(true);
});

test.each([
  ['https://github.com/octo/demo.git', 'octo/demo'],
  ['https://user:pass@github.com/octo/demo', 'octo/demo'],
  ['git@github.com:octo/demo.git', 'octo/demo'],
  ['ssh://git@github.com:22/octo/demo.git/', 'octo/demo'],
  ['https://evil.example/octo/demo', undefined],
  ['https://github.com/octo/demo/../../x', undefined],
  ['https://github.com/octo', undefined],
  ['/srv/git/demo.git', undefined],
  ['git@github.com:-x/demo', undefined],
])('the repository at %s', (url, full) => {
  const place = findPlace(undefined, url, 'origin', {});
  expect('owner' in place ? `${place.owner}/${place.name}` : undefined).toBe(full);
});

test.each([
  ...['main', 'ralph/login', 'ralph/2026-1/_int', 'v1.0', 'a-b'].map(name => [name, true] as const),
  ...[
    '-x',
    '--force',
    '',
    'a..b',
    'a b',
    'a:b',
    'a~1',
    'a^',
    'x.lock',
    'a//b',
    '/a',
    'a/',
    'a.',
    '@',
    'HEAD',
    'refs/heads/x',
    'a@{1}',
    'a\nb',
    'a*',
    '.a',
    'a/.b',
    'a\\b',
  ].map(name => [name, false] as const),
])('%j is a name of a branch: %s', (name, is) => expect(isBranchName(name)).toBe(is));

const PLACE = { host: 'x', owner: 'o', name: 'n' };

test('a check is a run, or an older status; what is not over runs', async () => {
  const run = (name: string, status: string, conclusion: string | null) => ({ name, status, conclusion });
  const check_runs = [
    run('queued', 'queued', null),
    run('skipped', 'completed', 'skipped'),
    run('late', 'completed', 'timed_out'),
  ];
  const states = ['pending', 'success', 'failure', 'error'];
  const statuses = states.map(state => ({ context: `ci/${state}`, state }));
  const base = await serve(({ url = '' }, response) => {
    response.end(JSON.stringify(url.includes('/check-runs') ? { check_runs } : { statuses }));
  });
  const checks = await createGitHub({ ...PLACE, base }, client(base).http).checks('c'.repeat(40));
  expect(isProblem(checks) || checks.map(({ name, state }) => `${name} ${state}`)).toEqual([
    ...['queued running', 'skipped green', 'late red'],
    ...['ci/pending running', 'ci/success green', 'ci/failure red', 'ci/error red'],
  ]);
});

test.each([
  ['the log of its job', 'not ok 1', [], 'not ok 1'],
  ['its annotations', '', [{ path: 'a.ts', start_line: 3, message: 'wrong' }], 'a.ts:3: wrong'],
  ['what it says of itself', '', [], 'its own words'],
])('why a check is red: %s', async (_, log, notes, said) => {
  const base = await serve(({ url = '' }, response) => {
    if (url.endsWith('/logs')) return void response.writeHead(log === '' ? 404 : 200).end(log);
    response.end(JSON.stringify(notes));
  });
  const red = { name: 'test', state: 'red', id: 7, output: 'its own words' } as const;
  expect(await createGitHub({ ...PLACE, base }, client(base).http).failureOf(red)).toBe(said);
});
