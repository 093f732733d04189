/** GitHub, by its REST API; GraphQL only for what that cannot do. Whatever it answers is looked at before it is believed. */
import { isCommit } from '../domain/text/commit.ts';
import {
  asObject,
  isObject,
  type Json,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../domain/text/json.ts';
import { isProblem } from '../domain/text/problem.ts';
import { systemClock } from '../platform/clock.ts';
import type { ForgePlace } from './address.ts';
import type { Author, CheckRun, Forge, Issue, IssueEdit, IssueEvent, Pull, Word } from './forge.ts';
import { type ForgeProblem, type Http, TOO_LONG } from './http.ts';

export function createGitHub({ owner, name, base }: ForgePlace, http: Http): Forge {
  const repo = `/repos/${owner}/${name}`;
  const graph = graphPath(base);
  const pullOf = (answer: unknown) => (isProblem(answer) ? answer : readPull(answer));
  const permissions = new Map<string, { readonly may: boolean; readonly until: number }>();
  return {
    me: () => whoAmI(http),
    async defaultBranch() {
      const answer = await http.get(repo);
      if (isProblem(answer)) return answer;
      return stringAt(asObject(answer), 'default_branch') ?? strange('the repository');
    },
    async findPull(branch) {
      const query = `head=${encodeURIComponent(`${owner}:${branch}`)}&state=all&sort=created&direction=desc`;
      const list = await http.list(`${repo}/pulls?${query}&per_page=30`);
      if (isProblem(list)) return list;
      const own = list.map(readPull).flatMap(each => (isProblem(each) ? [] : [each]));
      return own.find(({ state }) => state === 'open') ?? own[0];
    },
    pull: async number => pullOf(await http.get(`${repo}/pulls/${number}`)),
    async openPull(pull) {
      const open = (draft: boolean) => http.send('POST', `${repo}/pulls`, { ...pull, draft });
      const opened = await open(true);
      return pullOf(isProblem(opened) && NO_DRAFTS.test(opened.what) ? await open(false) : opened);
    },
    updateBody: async (number, body) =>
      pullOf(await http.resend('PATCH', `${repo}/pulls/${number}`, { body })),
    async markReady(node) {
      const query =
        'mutation($id: ID!) { markPullRequestReadyForReview(input: { pullRequestId: $id }) { clientMutationId } }';
      return graphDone(await http.send('POST', graph, { query, variables: { id: node } }));
    },
    merge: async (number, sha, method) =>
      done(await http.send('PUT', `${repo}/pulls/${number}/merge`, { sha, merge_method: method })),
    checks: commit => readChecks(http, `${repo}/commits/${commit}`),
    failureOf: check => readFailure(http, repo, check),
    words: number => readWords(http, { repo, graph, owner, name }, number),
    async canWrite(login) {
      const before = permissions.get(login);
      if (before && systemClock.ticks() < before.until) return before.may;
      if (!LOGIN.test(login)) return false;
      const answer = await http.get(`${repo}/collaborators/${encodeURIComponent(login)}/permission`);
      // Whoever is not known there may not write.
      if (isProblem(answer))
        return (answer as ForgeProblem).status === 404 ? false : (answer as ForgeProblem);
      const may = /^(admin|maintain|write)$/.test(stringAt(asObject(answer), 'permission') ?? '');
      permissions.set(login, { may, until: systemClock.ticks() + PERMISSION_TIME });
      return may;
    },
    ...issueCalls(http, { repo, graph, owner, name }),
    comment: async (number, body) =>
      done(await http.send('POST', `${repo}/issues/${number}/comments`, { body })),
    editComment: async (id, body) =>
      done(await http.resend('PATCH', `${repo}/issues/comments/${id}`, { body })),
    reply: async (number, thread, body) =>
      done(await http.send('POST', `${repo}/pulls/${number}/comments/${thread}/replies`, { body })),
  };
}

/** A private repository may have none. */
const NO_DRAFTS = /422.*draft pull requests are not supported/i;

function done(answer: unknown): true | ForgeProblem {
  return isProblem(answer) ? (answer as ForgeProblem) : true;
}

type IssueCalls = Pick<
  Forge,
  'issues' | 'issue' | 'issueEvents' | 'lastEdit' | 'comments' | 'addLabel' | 'removeLabel'
>;

function issueCalls(http: Http, asked: Asked): IssueCalls {
  const { repo } = asked;
  const at = (number: number) => `${repo}/issues/${number}`;
  return {
    async issues(label) {
      const query = `labels=${encodeURIComponent(label)}&state=open&sort=created&direction=asc`;
      const list = await http.list(`${repo}/issues?${query}&per_page=30`);
      if (isProblem(list)) return list;
      // A pull request is an issue there, too.
      const own = list.filter(isObject).filter(each => !('pull_request' in each));
      return own.flatMap(each => readIssue(each) ?? []);
    },
    async issue(number) {
      const answer = await http.get(at(number));
      if (isProblem(answer)) return answer as ForgeProblem;
      const issue = readIssue(asObject(answer));
      // Moved to another repository, it has another number there, and is nobody's here.
      return issue?.number === number ? issue : { ...strange('an issue'), status: 410 };
    },
    async issueEvents(number) {
      const list = await http.list(`${at(number)}/events?per_page=30`);
      return isProblem(list) ? list : list.filter(isObject).flatMap(each => readEvent(each) ?? []);
    },
    lastEdit: number => readEdit(http, asked, number),
    async comments(number) {
      const list = await http.list(`${at(number)}/comments?per_page=30`);
      return isProblem(list) ? list : list.filter(isObject).map(each => wordOf(each, 'comment'));
    },
    addLabel: async (number, label) =>
      done(await http.resend('POST', `${at(number)}/labels`, { labels: [label] })),
    async removeLabel(number, label) {
      const answer = await http.resend('DELETE', `${at(number)}/labels/${encodeURIComponent(label)}`);
      return (answer as ForgeProblem).status === 404 ? true : done(answer);
    },
  };
}

const LONGEST_ISSUE = 100_000;

function readIssue(json: Json | undefined): Issue | undefined {
  const number = numberAt(json, 'number');
  if (number === undefined || !Number.isSafeInteger(number) || number < 1) return undefined;
  const labels = json?.labels;
  return {
    number,
    title: (stringAt(json, 'title') ?? '').slice(0, LONGEST_WORDS),
    body: (stringAt(json, 'body') ?? '').slice(0, LONGEST_ISSUE),
    author: stringAt(objectAt(json, 'user'), 'login') ?? '',
    isOpen: json?.state === 'open',
    labels: (Array.isArray(labels) ? labels : []).flatMap(each =>
      typeof each === 'string' ? [each] : (stringAt(asObject(each), 'name') ?? []),
    ),
  };
}

const EVENTS: Readonly<Record<string, IssueEvent['kind']>> = {
  labeled: 'labelled',
  unlabeled: 'unlabelled',
  renamed: 'renamed',
};

function readEvent(json: Json): IssueEvent | undefined {
  const [name, id] = [stringAt(json, 'event') ?? '', numberAt(json, 'id')];
  const kind = Object.hasOwn(EVENTS, name) ? EVENTS[name] : undefined;
  if (!kind || id === undefined || !Number.isSafeInteger(id)) return undefined;
  const label = stringAt(objectAt(json, 'label'), 'name') ?? '';
  return { id, kind, label, by: authorOf(objectAt(json, 'actor')), at: timeAt(json, 'created_at') };
}

function authorOf(user: Json | undefined): Author {
  return { author: stringAt(user, 'login') ?? '', isBot: stringAt(user, 'type') === 'Bot' };
}

function timeAt(json: Json | undefined, key: string): number {
  return Date.parse(stringAt(json, key) ?? '') || 0;
}

const EDITED = `query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) {
    lastEditedAt editor { login __typename } } } }`;

/** The REST API does not say who has changed a text. */
async function readEdit(
  http: Http,
  { graph, owner, name }: Asked,
  number: number,
): Promise<IssueEdit | undefined | ForgeProblem> {
  const answer = await http.resend('POST', graph, { query: EDITED, variables: { owner, name, number } });
  const problem = graphDone(answer);
  if (isProblem(problem)) return problem;
  const data = objectAt(asObject(answer), 'data');
  const issue = objectAt(objectAt(data, 'repository'), 'issue');
  if (!issue) return strange('an issue');
  const at = timeAt(issue, 'lastEditedAt');
  const editor = objectAt(issue, 'editor');
  const isBot = stringAt(editor, '__typename') === 'Bot';
  return at === 0 ? undefined : { at, by: { author: stringAt(editor, 'login') ?? '', isBot } };
}

/** Milliseconds: whoever may not write any more is not heard for long. */
const PERMISSION_TIME = 60_000;
/** With `_` the accounts that an enterprise manages. */
const LOGIN = /^[A-Za-z0-9][\w-]{0,79}(?:\[bot\])?$/;

function strange(what: string): ForgeProblem {
  return { where: what, what: 'the forge describes it in a way that nobody expects' };
}

/** On a server of one's own it is beside the REST API: `/api/v3` and `/api/graphql`. */
function graphPath(base: string): string {
  return base.endsWith('/api/v3') ? '/../graphql' : '/graphql';
}

function graphDone(answer: unknown): true | ForgeProblem {
  if (isProblem(answer)) return answer as ForgeProblem;
  const [error] = objectsAt(asObject(answer), 'errors');
  if (!error) return true;
  return {
    where: 'GraphQL',
    what: `the forge refuses: ${(stringAt(error, 'message') ?? '').slice(0, 300)}`,
    status: 422,
  };
}

/** The token of a workflow or of an app may not ask. */
async function whoAmI(http: Http): Promise<string | undefined | ForgeProblem> {
  const answer = await http.get('/user');
  if (!isProblem(answer)) return stringAt(asObject(answer), 'login');
  const { status } = answer as ForgeProblem;
  return status === 403 || status === 404 ? undefined : (answer as ForgeProblem);
}

function readPull(answer: unknown): Pull | ForgeProblem {
  const json = asObject(answer);
  const [head, base] = [objectAt(json, 'head'), objectAt(json, 'base')];
  const number = numberAt(json, 'number');
  const address = stringAt(json, 'html_url') ?? '';
  const commit = stringAt(head, 'sha') ?? '';
  const baseCommit = stringAt(base, 'sha') ?? '';
  if (!Number.isSafeInteger(number) || number === undefined || number < 1 || !isCommit(commit))
    return strange('a pull request');
  if (!/^https?:\/\/[^\s\x00-\x20"'<>`]{1,500}$/.test(address)) return strange('a pull request');
  const isMerged = json?.merged === true || typeof json?.merged_at === 'string';
  return {
    number,
    address,
    state: isMerged ? 'merged' : json?.state === 'open' ? 'open' : 'closed',
    isDraft: json?.draft === true,
    head: commit,
    base: stringAt(base, 'ref') ?? '',
    baseCommit: isCommit(baseCommit) ? baseCommit : '',
    isMergeable: typeof json?.mergeable === 'boolean' ? json.mergeable : null,
    isClear: /^(clean|has_hooks)$/.test(stringAt(json, 'mergeable_state') ?? ''),
    body: stringAt(json, 'body') ?? '',
    author: stringAt(objectAt(json, 'user'), 'login') ?? '',
    node: stringAt(json, 'node_id') ?? '',
  };
}

const GREEN = /^(success|neutral|skipped)$/;
const LONGEST_NAME = 200;

/** Check runs, and the older statuses. */
async function readChecks(http: Http, commit: string): Promise<readonly CheckRun[] | ForgeProblem> {
  const runs = await http.list(`${commit}/check-runs?filter=latest&per_page=30`, 'check_runs');
  if (isProblem(runs)) return runs;
  const statuses = await http.list(`${commit}/status?per_page=30`, 'statuses');
  if (isProblem(statuses)) return statuses;
  return [
    ...runs.filter(isObject).map((run): CheckRun => {
      const output = objectAt(run, 'output');
      const said = ['title', 'summary', 'text'].flatMap(key => stringAt(output, key) ?? []);
      const isOver = run.status === 'completed';
      const id = numberAt(run, 'id');
      return {
        name: nameOf(run, 'name'),
        state: !isOver ? 'running' : GREEN.test(String(run.conclusion)) ? 'green' : 'red',
        ...(id !== undefined && { id }),
        output: said.join('\n'),
      };
    }),
    ...statuses.filter(isObject).map(
      (status): CheckRun => ({
        name: nameOf(status, 'context'),
        state: status.state === 'pending' ? 'running' : status.state === 'success' ? 'green' : 'red',
        output: stringAt(status, 'description') ?? '',
      }),
    ),
  ];
}

function nameOf(json: Json, key: string): string {
  return (stringAt(json, key) ?? '').slice(0, LONGEST_NAME) || 'a check without a name';
}

/** The log of its job, else its annotations, else what it says of itself. */
async function readFailure(
  http: Http,
  repo: string,
  { id, output }: CheckRun,
): Promise<string | ForgeProblem> {
  if (id === undefined) return output;
  const log = await http.text(`${repo}/actions/jobs/${id}/logs`);
  if (isProblem(log) && log.isStopped) return log;
  if (typeof log === 'string' && log.trim() !== '') return log;
  const notes = await http.list(`${repo}/check-runs/${id}/annotations?per_page=30`);
  const lines = (isProblem(notes) ? [] : notes).filter(isObject).map(note => {
    const place = `${stringAt(note, 'path') ?? ''}:${numberAt(note, 'start_line') ?? ''}`;
    return `${place}: ${stringAt(note, 'message') ?? ''}`;
  });
  return lines.length > 0 ? lines.join('\n') : output;
}

interface Asked {
  readonly repo: string;
  readonly graph: string;
  readonly owner: string;
  readonly name: string;
}

async function readWords(http: Http, asked: Asked, number: number): Promise<readonly Word[] | ForgeProblem> {
  const { repo } = asked;
  const reviews = await http.list(`${repo}/pulls/${number}/reviews?per_page=30`);
  if (isProblem(reviews)) return reviews;
  const threads = await http.list(`${repo}/pulls/${number}/comments?per_page=30`);
  if (isProblem(threads)) return threads;
  const comments = await http.list(`${repo}/issues/${number}/comments?per_page=30`);
  if (isProblem(comments)) return comments;
  const resolved = threads.length === 0 ? new Set<number>() : await resolvedThreads(http, asked, number);
  if (isProblem(resolved)) return resolved;
  return [
    ...reviews.filter(isObject).map(reviewOf),
    ...threads
      .filter(isObject)
      .map(threadOf)
      .filter(({ thread = 0 }) => !resolved.has(thread)),
    ...comments.filter(isObject).map(comment => wordOf(comment, 'comment')),
  ];
}

const LONGEST_WORDS = 20_000;

function wordOf(json: Json, kind: Word['kind']): Word {
  const number = numberAt(json, 'id') ?? 0;
  return {
    id: `${kind}-${number}`,
    kind,
    number,
    ...authorOf(objectAt(json, 'user')),
    text: (stringAt(json, 'body') ?? '').slice(0, LONGEST_WORDS),
  };
}

function reviewOf(json: Json): Word {
  const commit = stringAt(json, 'commit_id');
  return { ...wordOf(json, 'review'), verdict: verdictOf(json), ...(commit !== undefined && { commit }) };
}

function verdictOf({ state }: Json): NonNullable<Word['verdict']> {
  if (state === 'APPROVED') return 'approved';
  return state === 'CHANGES_REQUESTED' ? 'changes_requested' : 'other';
}

function threadOf(json: Json): Word {
  const word = wordOf(json, 'thread');
  const [file, line] = [stringAt(json, 'path'), numberAt(json, 'line') ?? numberAt(json, 'original_line')];
  return {
    ...word,
    thread: numberAt(json, 'in_reply_to_id') ?? word.number,
    ...(file !== undefined && { file: file.slice(0, LONGEST_NAME) }),
    ...(line !== undefined && { line }),
  };
}

const THREADS = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor }
      nodes { isResolved comments(first: 1) { nodes { databaseId } } } } } } }`;

const MOST_THREAD_PAGES = 100;

/** By their first words. The REST API does not say which are resolved. */
async function resolvedThreads(
  http: Http,
  { graph, owner, name }: Asked,
  number: number,
): Promise<ReadonlySet<number> | ForgeProblem> {
  const resolved = new Set<number>();
  let after: string | undefined;
  for (let pages = 0; pages < MOST_THREAD_PAGES; pages++) {
    const variables = { owner, name, number, ...(after !== undefined && { after }) };
    const answer = await http.resend('POST', graph, { query: THREADS, variables });
    const problem = graphDone(answer);
    if (isProblem(problem)) return problem;
    const data = objectAt(objectAt(objectAt(asObject(answer), 'data'), 'repository'), 'pullRequest');
    const threads = objectAt(data, 'reviewThreads');
    for (const { isResolved, comments } of objectsAt(threads, 'nodes')) {
      const [first] = objectsAt(asObject(comments), 'nodes');
      const id = numberAt(first, 'databaseId');
      if (isResolved === true && id !== undefined) resolved.add(id);
    }
    const info = objectAt(threads, 'pageInfo');
    after = stringAt(info, 'endCursor');
    if (info?.hasNextPage !== true || after === undefined) return resolved;
  }
  return { where: 'the threads of the pull request', ...TOO_LONG };
}
