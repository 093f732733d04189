/** Each request of each call × each way in which a forge refuses it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import type { Forge } from '../../src/forge/forge.ts';
import { createGitHub } from '../../src/forge/github.ts';
import { createHttp, type ForgeProblem } from '../../src/forge/http.ts';
import { REFUSALS, type Refusal, serve } from '../rig/refusals.ts';

const TOKEN = '0123456789abcdef0123456789abcdef01234567';
const COMMIT = 'c'.repeat(40);

/** One answer that fits every question for an object. */
const THING = {
  ...{
    number: 1,
    html_url: 'https://example.org/1',
    state: 'open',
    draft: true,
    mergeable: true,
    node_id: 'PR_1',
  },
  ...{ login: 'ralph-bot', default_branch: 'main', permission: 'write', check_runs: [], statuses: [] },
  ...{ head: { sha: COMMIT }, base: { ref: 'main', sha: COMMIT }, title: 'One', body: '', labels: [] },
  data: { repository: { issue: {}, pullRequest: { reviewThreads: { nodes: [] } } } },
};
const WORD = { id: 5, user: { login: 'alice', type: 'User' }, body: 'rename this', path: 'a.txt', line: 1 };

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  if (url.endsWith('/logs')) return void response.end('not ok 1');
  const isList = /\/(pulls\?|reviews|comments\?|issues\?|events|labels|annotations)/.test(url);
  response.end(JSON.stringify(isList ? (url.includes('/pulls/1/comments?') ? [WORD] : []) : THING));
}

const red = { name: 'test', state: 'red', id: 7, output: 'its output' } as const;
const pull = { title: 'One', body: '', head: 'one', base: 'main' };

/** `doubtful`: done twice it would be there twice, or fail. */
const CALLS: Readonly<Record<string, { ask(forge: Forge): Promise<unknown>; readonly doubtful?: true }>> = {
  me: { ask: forge => forge.me() },
  defaultBranch: { ask: forge => forge.defaultBranch() },
  findPull: { ask: forge => forge.findPull('one') },
  pull: { ask: forge => forge.pull(1) },
  openPull: { ask: forge => forge.openPull(pull), doubtful: true },
  updateBody: { ask: forge => forge.updateBody(1, 'x') },
  markReady: { ask: forge => forge.markReady('PR_1'), doubtful: true },
  merge: { ask: forge => forge.merge(1, COMMIT, 'merge'), doubtful: true },
  checks: { ask: forge => forge.checks(COMMIT) },
  failureOf: { ask: forge => forge.failureOf(red) },
  words: { ask: forge => forge.words(1) },
  canWrite: { ask: forge => forge.canWrite('alice') },
  issues: { ask: forge => forge.issues('ralph') },
  issue: { ask: forge => forge.issue(1) },
  issueEvents: { ask: forge => forge.issueEvents(1) },
  lastEdit: { ask: forge => forge.lastEdit(1) },
  comments: { ask: forge => forge.comments(1) },
  addLabel: { ask: forge => forge.addLabel(1, 'ralph:done') },
  removeLabel: { ask: forge => forge.removeLabel(1, 'ralph:done') },
  comment: { ask: forge => forge.comment(1, 'x'), doubtful: true },
  editComment: { ask: forge => forge.editComment(5, 'x') },
  reply: { ask: forge => forge.reply(1, 5, 'x'), doubtful: true },
};

/** What a refusal is an answer to. */
const MEANT: Readonly<Record<string, unknown>> = {
  'me 403': undefined,
  'me 404': undefined,
  'canWrite 404': false,
  'removeLabel 404': true,
};

interface Tried {
  readonly value: unknown;
  readonly requests: readonly string[];
  readonly said: string;
  /** The tokens that another host has seen. */
  readonly elsewhere: readonly unknown[];
}

/** Two hosts, and what each try has sent to them. */
async function twoHosts() {
  const tries: {
    readonly nth: number;
    readonly refusal?: Refusal;
    requests: string[];
    elsewhere: unknown[];
  }[] = [];
  const tryOf = (url = '') => tries[Number(/^\/(\d+)\//.exec(url)?.[1])];
  const other = await serve(({ url, headers }, response) => {
    tryOf(url)?.elsewhere.push(headers.authorization);
    response.end('[]');
  });
  const host = await serve((request, response) => {
    const { method, url = '' } = request;
    const own = tryOf(url);
    // The first answer is a good one: what was never right is not waited for.
    if (url.endsWith('/first')) return void response.end('{}');
    const count = own?.requests.push(`${method} ${url.replace(/^\/\d+/, '')}`);
    if (own?.refusal && count === own.nth)
      own.refusal.refuse(request, response, `${other}/${tries.indexOf(own)}`);
    else answer(request, response);
  });
  /** `nth`: the request that is refused, counted from 1; 0: none. */
  return async (call: string, nth: number, refusal?: Refusal): Promise<Tried> => {
    const own = { nth, ...(refusal && { refusal }), requests: [], elsewhere: [] };
    const base = `${host}/${tries.push(own) - 1}`;
    const said: string[] = [];
    const stopping = new AbortController().signal;
    const say = (text: string) => void said.push(text);
    const timeout = refusal?.name === 'silence' ? 5_000 : 60_000;
    const http = createHttp({ base, token: TOKEN, stopping, say, timeout });
    await http.get('/first');
    const forge = createGitHub({ base, host: 'example.org', owner: 'octo', name: 'demo' }, http);
    const value = await CALLS[call]?.ask(forge);
    return { ...own, value, said: said.join('\n') };
  };
}

/** A log is asked for elsewhere, and may be anything; where there is none, the check says something itself. */
function isOfLog(request: string | undefined): boolean {
  return /\/(logs|annotations)/.test(request ?? '');
}

function compare(call: string, { kind, name, said }: Refusal, tried: Tried, good: Tried): void {
  const { value, requests } = tried;
  const meant = `${call} ${name}`;
  const isRepeated = kind === 'waits' || (kind === 'again' && !CALLS[call]?.doubtful);
  if (meant in MEANT) expect(value).toEqual(MEANT[meant]);
  else if (isRepeated)
    // A busy machine may be silent itself.
    expect([value, requests.length > good.requests.length]).toEqual([good.value, true]);
  else {
    const { what, fix = '', isUnsure } = value as ForgeProblem;
    expect([requests.length <= good.requests.length, isUnsure]).toEqual([
      true,
      kind === 'again' || (kind === 'endless' && CALLS[call]?.doubtful) ? true : undefined,
    ]);
    expect(`${what} ${fix}`).toMatch(said);
  }
  if (kind === 'again' || kind === 'waits') expect(tried.said).toMatch(said);
}

/** It takes its time. */
const LARGE = ['me', 'failureOf', 'comment'];

test('each call is refused in each way, at each request', { timeout: 240_000 }, async () => {
  const ask = await twoHosts();
  const tryAll = async (call: string) => {
    const good = await ask(call, 0);
    expect([isProblem(good.value), good.said], call).toEqual([false, '']);
    const refusals = REFUSALS.filter(({ name }) => LARGE.includes(call) || !name.includes('without an end'));
    return Promise.all(
      good.requests.flatMap((request, at) =>
        refusals.map(async refusal => {
          const tried = await ask(call, at + 1, refusal);
          try {
            expect(JSON.stringify([tried.value, tried.said]), 'the token').not.toContain(TOKEN);
            expect(tried.elsewhere.filter(Boolean), 'the token elsewhere').toEqual([]);
            if (isOfLog(request)) return [];
            expect(tried.elsewhere, 'believed elsewhere').toEqual([]);
            compare(call, refusal, tried, good);
            return [];
          } catch (error) {
            return [`${call}, ${request}: ${refusal.name}: ${String(error).slice(0, 300)}`];
          }
        }),
      ),
    );
  };
  const rows = (await Promise.all(Object.keys(CALLS).map(tryAll))).flat();
  expect(rows.flat().join('\n')).toBe('');
  expect(rows.length).toBeGreaterThan(600);
});
