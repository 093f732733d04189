/** A forge on loopback: speaks as much of GitHub's API as Ralph uses, with a bare repository that takes no push by force. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { keepsOpen } from './keeps-open.ts';
import { folder, type Repo } from './repo.ts';

export const TOKEN = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';

export interface FakePull {
  readonly number: number;
  readonly head: string;
  base: string;
  title: string;
  body: string;
  state: 'open' | 'closed';
  merged: boolean;
  draft: boolean;
  mergeable: boolean | null;
  /** How it was merged. */
  method?: string;
}

export interface FakeWord {
  readonly id: number;
  readonly user: { readonly login: string; readonly type: string };
  body: string;
  state?: string;
  commit_id?: string;
  path?: string;
  line?: number;
  in_reply_to_id?: number;
  /** Where it stands; undefined: everywhere. */
  issue?: number;
}

export interface FakeIssue {
  readonly number: number;
  title: string;
  body: string;
  state: 'open' | 'closed';
  readonly user: { readonly login: string; readonly type: string };
  readonly labels: string[];
  /** Who has changed its text last, and when. */
  edited?: { readonly by: string; readonly at: string };
}

interface FakeEvent {
  readonly id: number;
  readonly issue: number;
  readonly event: string;
  readonly actor: { readonly login: string; readonly type: string };
  readonly created_at: string;
  readonly label?: { readonly name: string };
}

interface FakeCheck {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly conclusion: string | null;
  readonly output?: unknown;
}

/** What comes instead of an answer; `after`: the request has been done. */
export interface Fault {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly close?: boolean;
  readonly after?: boolean;
  /** What it says of it. */
  readonly message?: string;
  /** All that comes, as it is. */
  readonly body?: string;
}

export type Fake = Awaited<ReturnType<typeof createForge>>;

/** `work` gets it as its remote `origin`, with all that it has committed; `there`: the one that it has. */
export async function createForge(work: Repo, there?: Repo) {
  const bare = there ?? folder('ralph-bare-');
  if (!there) bare.git('init', '--quiet', '--bare', '--initial-branch', 'main');
  bare.git('config', 'receive.denyNonFastForwards', 'true');
  bare.git('config', 'core.logAllRefUpdates', 'always');
  if (!there) work.git('remote', 'add', 'origin', bare.dir);
  work.git('push', '--quiet', 'origin', 'main');
  const state = {
    pulls: [] as FakePull[],
    issues: [] as FakeIssue[],
    issueEvents: [] as FakeEvent[],
    comments: [] as FakeWord[],
    reviews: [] as FakeWord[],
    threads: [] as FakeWord[],
    resolved: [] as number[],
    /** Of a commit. */
    checks: (_commit: string): readonly FakeCheck[] => [check('test', 'success')],
    statuses: (_commit: string): readonly unknown[] => [],
    logs: new Map<number, string>(),
    writers: new Set(['ralph-bot', 'alice']),
    me: 'ralph-bot',
    /** How often it was asked to merge. */
    merges: 0,
    /** GitHub has none in some private repositories. */
    hasDrafts: true,
    /** What GitHub says of a pull request that could be merged: `blocked` where somebody has to approve. */
    mergeableState: 'clean',
    /** Which faults come, by the number of the request, counted from 1. */
    faults: new Map<number, Fault>(),
    requests: [] as string[],
    /** How many of them were not the same question as before: nothing was written since. */
    steps: 0,
    asked: new Set<string>(),
    authorizations: [] as string[],
    /** What changes there by itself, before each request. */
    changes: () => {},
    /** Sees each request before it is done; waits for what it returns. */
    arrives: (_count: number, _what: string): unknown => undefined,
    /** Sees each request that was done, before it is answered. */
    done: (_count: number, _what: string): unknown => undefined,
  };
  // Nobody packs the refs there, and a program for each request would take most of the time.
  const tip = (branch: string) => {
    const path = bare.path(`refs/heads/${branch}`);
    return branch !== '' && existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  };
  const has = (commit: string, file: string) => bare.git('ls-tree', '--name-only', commit, file) !== '';
  const pushes = (branch: string) =>
    bare.git('log', '--walk-reflogs', '--format=%T', branch, '--').trim().split('\n');
  let base = '';
  const answer = createAnswers(state, tip, () => base);
  const server = keepsOpen(
    createServer((request, response) => {
      void serve(request, response, state, answer).catch(error => {
        response.writeHead(500).end(String(error));
      });
    }),
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  base = `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`;
  return {
    ...{ state, bare, tip, url: base },
    /** Each push asks the server first, and says when it is done: two requests more. */
    seePushes() {
      for (const [hook, what] of Object.entries({ 'pre-receive': 'begins', 'post-receive': 'done' }))
        bare.script(`hooks/${hook}`, askingHook(base, what));
    },
    /** The trees that a branch has had, one for each push. */
    pushes,
    /** Whether a commit that was pushed has this file. */
    has,
    /** The check `test` is red until this file is there. */
    redWithout(file: string) {
      const isGreen = known((commit: string) => has(commit, file));
      state.checks = commit => [
        check('test', commit === tip('main') || isGreen(commit) ? 'success' : 'failure'),
      ];
    },
    /** The pull request can be merged when its base is in it. */
    conflictsWithBase(branch: string) {
      const holds = known((pair: string) => {
        const [base = '', head = ''] = pair.split(' ');
        return bare.git('merge-base', base, head).trim() === base;
      });
      state.changes = () => {
        const [pull] = state.pulls;
        if (pull) pull.mergeable = holds(`${tip('main')} ${tip(branch)}`);
      };
    },
    /** What somebody else does in another clone, and pushes. */
    push(branch: string, files: Readonly<Record<string, string>>, { amend = false } = {}) {
      const clone = folder('ralph-other-');
      clone.git('clone', '--quiet', '--branch', branch, bare.dir, '.');
      for (const [name, text] of Object.entries(files)) clone.write(name, text);
      clone.git('add', '--all');
      clone.git('commit', '--quiet', ...(amend ? ['--amend'] : []), '--message', 'theirs');
      clone.git('push', '--quiet', ...(amend ? ['--force'] : []), 'origin', `HEAD:${branch}`);
    },
    /** Whether a commit of a branch has put the marks of a conflict into a file. */
    hasMarks: (branch: string) => bare.git('log', '-p', '-m', branch).includes('\n+<<<<<<< '),
    /** What must be there once, however often Ralph was killed. */
    once(branch: string) {
      const trees = pushes(branch);
      return {
        pulls: state.pulls.map(({ draft }) => draft),
        replies: state.threads.filter(({ user }) => user.login === state.me).length,
        isPushedOnce: new Set(trees).size === trees.length,
      };
    },
    env: { GITHUB_API_URL: base, GITHUB_REPOSITORY: 'octo/demo', GH_TOKEN: TOKEN },
    /** Alice answers the question at an issue, once it stands there. */
    answers(number: number, text: string) {
      const { said } = this;
      state.changes = () => {
        const words = said(number);
        if (words.some(each => each.includes(': a question.')) && !words.includes(`alice: ${text}`))
          state.comments.push(word('alice', text, { issue: number }));
      };
    },
    /** An issue that somebody has opened, and given a label. */
    issue(
      number: number,
      body: string,
      { by = 'alice', author = 'mallory', title = `Title ${number}`, label = 'ralph' } = {},
    ) {
      const user = { login: author, type: 'User' };
      state.issues.push({ number, title, body, state: 'open', user, labels: [] });
      setLabel(state, number, label, by);
    },
    setLabel: (number: number, by: string) => setLabel(state, number, 'ralph', by),
    takeLabel: (number: number, by: string) => takeLabel(state, number, 'ralph', by),
    labels: (number: number) => state.issues.find(each => each.number === number)?.labels ?? [],
    /** What stands at an issue, without its marks. */
    said: (number: number) =>
      state.comments
        .filter(({ issue }) => issue === number)
        .map(({ user, body }) => `${user.login}: ${body.replace(/\n*<!--.*-->/s, '')}`),
    /** What Ralph has said at an issue: the first words of each comment. */
    spoken(number: number) {
      const own = this.said(number).filter(text => text.startsWith(`${state.me}: `));
      return own.map(text => /Ralph\*\*: (\w+(?: \w+)?)/.exec(text)?.[1]);
    },
    writes: () => state.requests.filter(each => !each.startsWith('GET ') && !each.includes('graphql')),
  };
}

/** Fails where there is no good answer. Perl, as the agents of the tests are. */
function askingHook(base: string, what: string): string {
  const { host } = new URL(base);
  return `#!/usr/bin/env perl
use IO::Socket::INET;
# Workers of a fleet push as well: they know no forge.
exit 0 unless defined $ENV{GITHUB_API_URL};
my $server = IO::Socket::INET->new('${host}') or exit 1;
print $server "POST /push/${what} HTTP/1.0\\r\\n\\r\\n";
my $answer = <$server> // '';
exit($answer =~ / 200 / ? 0 : 1);
`;
}

/** Of what never changes it is asked once. */
function known<Value>(ask: (key: string) => Value): (key: string) => Value {
  const answers = new Map<string, Value>();
  return key => {
    const found = answers.get(key) ?? ask(key);
    answers.set(key, found);
    return found;
  };
}

/** What the labels of issues rest on. */
type Labelled = { readonly issues: FakeIssue[]; readonly issueEvents: FakeEvent[] };

function eventOf(state: Labelled, issue: number, event: string, login: string): FakeEvent {
  const at = new Date(Date.UTC(2026, 10, 18) + state.issueEvents.length * 1_000).toISOString();
  const id = 5_000 + state.issueEvents.length;
  return { id, issue, event, actor: { login, type: 'User' }, created_at: at };
}

function setLabel(state: Labelled, number: number, name: string, by: string): void {
  const issue = state.issues.find(each => each.number === number);
  if (!issue || issue.labels.includes(name)) return;
  issue.labels.push(name);
  state.issueEvents.push({ ...eventOf(state, number, 'labeled', by), label: { name } });
}

function takeLabel(state: Labelled, number: number, name: string, by: string): boolean {
  const issue = state.issues.find(each => each.number === number);
  const at = issue?.labels.indexOf(name) ?? -1;
  if (!issue || at < 0) return false;
  issue.labels.splice(at, 1);
  state.issueEvents.push({ ...eventOf(state, number, 'unlabeled', by), label: { name } });
  return true;
}

type State = Fake['state'] extends infer S ? S : never;
type Answers = (
  method: string,
  path: string,
  body: Record<string, unknown>,
) => { status: number; value: unknown };

async function serve(request: IncomingMessage, response: ServerResponse, state: State, answer: Answers) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url = '' } = request;
  const what = `${method} ${decodeURIComponent(url)}`;
  const count = state.requests.push(what);
  state.authorizations.push(request.headers.authorization ?? '');
  const text = Buffer.concat(chunks).toString();
  countStep(state, what, text);
  state.changes();
  await state.arrives(count, what);
  const fault = state.faults.get(count);
  const fail = ({
    close,
    status = 500,
    headers = {},
    message = 'no',
    body = JSON.stringify({ message }),
  }: Fault) => (close ? request.socket.destroy() : response.writeHead(status, headers).end(body));
  if (fault && !fault.after) return void fail(fault);
  const { status, value } = answer(method, url, text === '' ? {} : JSON.parse(text));
  await state.done(count, what);
  if (fault) return void fail(fault);
  const json = typeof value === 'string' ? value : JSON.stringify(value);
  const etag = `"${json.length}-${[...json].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) >>> 0, 7)}"`;
  if (method === 'GET' && request.headers['if-none-match'] === etag)
    return void response.writeHead(304).end();
  response.writeHead(status, { 'content-type': 'application/json', etag }).end(json);
}

function countStep(state: State, what: string, body: string): void {
  const isQuestion = what.startsWith('GET ') || (what === 'POST /graphql' && !body.includes('mutation'));
  if (!isQuestion || !state.asked.has(what)) state.steps++;
  if (isQuestion) state.asked.add(what);
  else state.asked.clear();
}

function createAnswers(
  state: State,
  tip: (branch: string) => string | undefined,
  base: () => string,
): Answers {
  const bot = () => ({ login: state.me, type: 'User' });
  let ids = 1_000;
  const shown = (pull: FakePull) => ({
    ...{ number: pull.number, title: pull.title, body: pull.body, state: pull.state, draft: pull.draft },
    ...{ merged: pull.merged, merged_at: pull.merged ? '2026-11-17T00:00:00Z' : null },
    ...{ mergeable_state: pull.draft ? 'draft' : state.mergeableState },
    ...{ mergeable: pull.mergeable, node_id: `PR_${pull.number}`, user: bot() },
    html_url: `${base()}/octo/demo/pull/${pull.number}`,
    head: { ref: pull.head, sha: tip(pull.head) ?? '0'.repeat(40) },
    base: { ref: pull.base, sha: tip(pull.base) },
  });
  const shownIssue = (issue: FakeIssue) => ({ ...issue, labels: issue.labels.map(name => ({ name })) });
  const found = (value: unknown) => ({ status: 200, value });
  const made = (value: unknown) => ({ status: 201, value });
  const missing = { status: 404, value: { message: 'Not Found' } };
  const pullAt = (number: string | undefined) => state.pulls.find(pull => pull.number === Number(number));
  const open = (body: Record<string, unknown>) => {
    const head = String(body.head);
    if (state.pulls.some(pull => pull.head === head && pull.state === 'open'))
      return {
        status: 422,
        value: { message: 'Validation Failed', errors: [{ message: 'A pull request already exists' }] },
      };
    if (body.draft === true && !state.hasDrafts)
      return { status: 422, value: { message: 'Draft pull requests are not supported in this repository.' } };
    const pull: FakePull = {
      ...{ number: state.pulls.length + 1, head, base: String(body.base), title: String(body.title) },
      ...{
        body: String(body.body),
        state: 'open',
        merged: false,
        draft: body.draft === true,
        mergeable: true,
      },
    };
    state.pulls.push(pull);
    return made(shown(pull));
  };
  const say = (list: FakeWord[], body: Record<string, unknown>, more: Partial<FakeWord> = {}) => {
    const word: FakeWord = { id: ++ids, user: bot(), body: String(body.body), ...more };
    list.push(word);
    return made(word);
  };
  const graph = ({ query, variables }: Record<string, unknown>) => {
    if (String(query).includes('lastEditedAt')) {
      const { edited } =
        state.issues.find(({ number }) => number === (variables as { number: number }).number) ?? {};
      const issue = {
        lastEditedAt: edited?.at ?? null,
        editor: edited ? { login: edited.by, __typename: 'User' } : null,
      };
      return found({ data: { repository: { issue } } });
    }
    const pull = state.pulls.find(({ number }) => `PR_${number}` === (variables as { id?: string }).id);
    if (pull) pull.draft = false;
    if (!String(query).includes('reviewThreads')) return found({ data: {} });
    const nodes = state.resolved.map(id => ({ isResolved: true, comments: { nodes: [{ databaseId: id }] } }));
    return found({ data: { repository: { pullRequest: { reviewThreads: { nodes } } } } });
  };
  const merge = (pull: FakePull, { sha, merge_method: method }: Record<string, unknown>) => {
    state.merges++;
    if (pull.merged) return { status: 405, value: { message: 'Pull Request is not mergeable' } };
    if (sha !== tip(pull.head)) return { status: 409, value: { message: 'Head branch was modified' } };
    Object.assign(pull, { merged: true, state: 'closed', method });
    return found({ merged: true });
  };
  return (method, url, body) => {
    const { pathname, searchParams } = new URL(url, 'http://x');
    const path = pathname.replace('/repos/octo/demo', '');
    const [, first, second, third, fourth] = path.split('/');
    const route = `${method} ${path.replace(/\/(\d+|[0-9a-f]{40})(?=\/|$)/g, '/:id').replace(/(collaborators|labels)\/[^/]+/, '$1/:id')}`;
    const pull = pullAt(second);
    const issue = state.issues.find(({ number }) => number === Number(second));
    switch (route) {
      case 'POST /push/begins':
      case 'POST /push/done':
        return found({});
      case 'GET /user':
        return state.me === '' ? { status: 403, value: {} } : found({ login: state.me });
      case 'GET ':
        return found({ default_branch: 'main' });
      case 'GET /pulls': {
        const head = searchParams.get('head')?.split(':')[1];
        return found(
          state.pulls
            .filter(each => each.head === head)
            .toReversed()
            .map(shown),
        );
      }
      case 'POST /pulls':
        return open(body);
      case 'GET /pulls/:id':
        return pull ? found(shown(pull)) : missing;
      case 'PATCH /pulls/:id':
        if (!pull) return missing;
        pull.body = String(body.body);
        return found(shown(pull));
      case 'PUT /pulls/:id/merge':
        return pull ? merge(pull, body) : missing;
      case 'GET /pulls/:id/reviews':
        // Of the head, unless a test says of which.
        return found(state.reviews.map(review => ({ commit_id: tip(pull?.head ?? ''), ...review })));
      case 'GET /pulls/:id/comments':
        return found(state.threads);
      case 'POST /pulls/:id/comments/:id/replies':
        return say(state.threads, body, { in_reply_to_id: Number(fourth) });
      case 'GET /issues': {
        const label = searchParams.get('labels') ?? '';
        const open = state.issues.filter(each => each.state === 'open' && each.labels.includes(label));
        return found(open.map(shownIssue));
      }
      case 'GET /issues/:id':
        return issue ? found(shownIssue(issue)) : missing;
      case 'GET /issues/:id/events':
        return found(state.issueEvents.filter(each => each.issue === Number(second)));
      case 'POST /issues/:id/labels':
        for (const label of body.labels as string[]) setLabel(state, Number(second), label, state.me);
        return found([]);
      case 'DELETE /issues/:id/labels/:id':
        return takeLabel(state, Number(second), decodeURIComponent(fourth ?? ''), state.me)
          ? found([])
          : missing;
      case 'GET /issues/:id/comments':
        return found(state.comments.filter(({ issue: at }) => at === undefined || at === Number(second)));
      case 'POST /issues/:id/comments':
        return say(state.comments, body, { issue: Number(second) });
      case 'PATCH /issues/comments/:id': {
        const comment = state.comments.find(({ id }) => id === Number(third));
        if (comment) comment.body = String(body.body);
        return comment ? found(comment) : missing;
      }
      case 'GET /commits/:id/check-runs':
        return found({ check_runs: state.checks(second ?? '') });
      case 'GET /commits/:id/status':
        return found({ statuses: state.statuses(second ?? '') });
      case 'GET /actions/jobs/:id/logs': {
        const log = state.logs.get(Number(third));
        return log === undefined ? missing : found(log);
      }
      case 'GET /check-runs/:id/annotations':
        return found([]);
      case 'GET /collaborators/:id/permission':
        return found({ permission: state.writers.has(second ?? '') ? 'write' : 'read' });
      case 'POST /graphql':
        return graph(body);
      default:
        throw new Error(`the rig does not know ${route} (${first})`);
    }
  };
}

export function check(name: string, conclusion: string | null, id = 7): FakeCheck {
  return { id, name, status: conclusion === null ? 'in_progress' : 'completed', conclusion };
}

export function word(login: string, body: string, more: Partial<FakeWord> = {}): FakeWord {
  return { id: ++words, user: { login, type: login.endsWith('[bot]') ? 'Bot' : 'User' }, body, ...more };
}

let words = 100;
