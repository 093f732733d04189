/** Requests to a forge: its token goes to its own host and nowhere else, its limits are waited for, and what was lost is said. */
import { type ForgePause, type ForgeReply, type NoReply, pauseFor } from '../domain/forge/pause.ts';
import { asObject, type Json, objectsAt } from '../domain/text/json.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { HIDDEN, hideTokens } from '../domain/text/secret-formats.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { tryTo } from '../platform/files.ts';
import { oneLine } from '../platform/text.ts';
import { waitFor } from '../run/wait.ts';

export interface ForgeProblem extends Problem {
  /** What the forge answered; absent: nothing. */
  readonly status?: number;
  /** Nobody knows whether it was done: ask before it is sent again. */
  readonly isUnsure?: true;
  /** The user has stopped it. */
  readonly isStopped?: true;
  /** It was away for as long as Ralph asks again. */
  readonly isAway?: true;
}

export interface HttpOptions {
  /** `https://api.github.com`, without a slash at its end. */
  readonly base: string;
  readonly token: string;
  readonly stopping: AbortSignal;
  readonly clock?: Clock;
  /** Milliseconds without an answer. */
  readonly timeout?: number;
  readonly memory?: ForgeMemory;
  /** Prints what is waited for. */
  say(text: string): void;
}

/** What all who ask the same forge at the same time know of it. */
export interface ForgeMemory {
  /** There was a good answer: what is wrong later will pass. */
  isRight: boolean;
  /** That something is waited for is said once, until the request that met it is answered; undefined: that one has given up. */
  readonly said: Map<'waits' | 'unsure', Request | undefined>;
}

export function createMemory(): ForgeMemory {
  return { isRight: false, said: new Map() };
}

export interface Http {
  /** Asks until there is an answer. */
  get(path: string): Promise<unknown | ForgeProblem>;
  /** All pages of a list, or none: what is cut off could be our own words. `under`: the field of an answer that holds it. */
  list(path: string, under?: string): Promise<readonly unknown[] | ForgeProblem>;
  /** A text such as a log; what leads to another host is asked there without the token. */
  text(path: string): Promise<string | ForgeProblem>;
  /** Sends it once; where the forge refuses because of a limit, again after it. */
  send(method: Method, path: string, body?: unknown): Promise<unknown | ForgeProblem>;
  /** Sends it until there is an answer: a question, or what is the same however often it is done. */
  resend(method: Method, path: string, body?: unknown): Promise<unknown | ForgeProblem>;
}

type Method = 'POST' | 'PATCH' | 'PUT' | 'DELETE';

const TIMEOUT = 60_000;
/** Milliseconds that a forge may be away before Ralph gives up. */
export const LONGEST_AWAY = 3_600_000;
/** A page of 30 with the longest texts that GitHub takes is no longer. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Of a list: who fills it with words must not fill the memory. */
const MOST_PAGES = 1_000;
const MOST_CHARACTERS = 256 * 1024 * 1024;
const MOST_REDIRECTS = 5;
/** Characters of answers that are kept for conditional requests: who watches asks for months. */
const MOST_KNOWN = 64 * 1024 * 1024;

interface Request {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  /** It does no harm to send it twice. */
  readonly isRepeatable: boolean;
  /** A log, which may be anything, and anywhere. */
  readonly isText?: true;
}

interface Answer extends ForgeReply {
  readonly text: string;
  /** What it says as JSON. */
  readonly value: unknown;
  readonly location: string | null;
}

type Client = HttpOptions & Required<Pick<HttpOptions, 'memory'>>;

interface Page {
  readonly value: unknown;
  readonly size: number;
  readonly next: string | undefined;
}

export function createHttp(options: HttpOptions): Http {
  const { base } = options;
  const client: Client = { memory: createMemory(), ...options };
  const known = new Map<string, Page & { readonly etag: string }>();
  let kept = 0;
  const forget = (url: string) => {
    kept -= known.get(url)?.size ?? 0;
    known.delete(url);
  };
  const page = async (url: string): Promise<Page | ForgeProblem> => {
    const before = known.get(url);
    const answer = await ask({ method: 'GET', url, etag: before?.etag, isRepeatable: true }, client);
    if (isProblem(answer)) return answer;
    if (answer.status === 304 && before) return before;
    const { value, text } = answer;
    const found = { value, size: text.length, next: nextPage(answer.header('link'), base) };
    const etag = answer.header('etag');
    forget(url);
    if (etag === null) return found;
    known.set(url, { ...found, etag });
    kept += found.size;
    for (const old of known.keys()) if (kept > MOST_KNOWN) forget(old);
    return found;
  };
  const send = async (request: Omit<Request, 'url'>, path: string) => {
    const answer = await ask({ ...request, url: base + path }, client);
    return isProblem(answer) ? answer : answer.value;
  };
  return {
    async get(path) {
      const answer = await page(base + path);
      return isProblem(answer) ? answer : answer.value;
    },
    async list(path, under) {
      const all: unknown[] = [];
      let url: string | undefined = base + path;
      let [pages, size] = [0, 0];
      while (url !== undefined) {
        if (pages++ >= MOST_PAGES || size > MOST_CHARACTERS) return { where: path, ...TOO_LONG };
        const answer: Page | ForgeProblem = await page(url);
        if (isProblem(answer)) return answer;
        const { value } = answer;
        const items = under === undefined ? value : (value as Record<string, unknown> | null)?.[under];
        if (!Array.isArray(items))
          return { where: path, what: 'the forge gave an answer that nobody expects', fix: LOOK };
        for (const item of items) all.push(item);
        size += answer.size;
        url = answer.next;
      }
      return all;
    },
    async text(path) {
      const url = base + path;
      const answer = await ask({ method: 'GET', url, isRepeatable: true, isText: true }, client);
      return isProblem(answer) ? answer : answer.text;
    },
    send: (method, path, body) => send({ method, body, isRepeatable: false }, path),
    resend: (method, path, body) => send({ method, body, isRepeatable: true }, path),
  };
}

async function ask(request: Request, client: Client): Promise<Answer | ForgeProblem> {
  const { said } = client.memory;
  const answer = await untilAnswered(request, client);
  if (said.get('waits') === request) said.set('waits', undefined);
  return answer;
}

/** What may be sent twice is sent until it works; all else again only where it was refused before anything was done. */
async function untilAnswered(request: Request, client: Client): Promise<Answer | ForgeProblem> {
  const { clock = systemClock, stopping, memory } = client;
  const { isRepeatable, url } = request;
  const began = clock.ticks();
  for (let attempt = 0; ; attempt++) {
    const answer = await redirected(request, client);
    const pause = pauseFor(answer, attempt, clock.now());
    if (!pause) return answered(answer as Answer, request, client);
    const isUnsure = !isRepeatable && !pause.isRefused;
    const problem = { where: hostOf(url), what: pause.why, ...(isUnsure && { isUnsure }) };
    if (stopping.aborted) return { ...problem, ...STOPPED };
    if ('lost' in answer && answer.isWrong && !memory.isRight) return { ...problem, fix: LOOK };
    if ('lost' in answer && answer.isTooLong) return problem;
    sayOnce(pause, isUnsure ? undefined : request, client);
    if (isUnsure) return problem;
    if (clock.ticks() - began > LONGEST_AWAY)
      return { ...problem, isAway: true, fix: 'the same command continues when it is back' };
    const { until } = pause;
    const longest = Math.max(0, until - clock.now()) + 60_000;
    if (!(await waitFor({ ms: longest, until, longest }, clock, stopping))) return { ...problem, ...STOPPED };
  }
}

/** Of a list that has no end: what is cut off is not known. */
export const TOO_LONG = {
  what: 'the list is longer than Ralph reads, so nothing in it counts',
  fix: 'continue in a new issue or pull request',
};
const STOPPED = { what: 'interrupted', isStopped: true } as const;
const LOOK =
  'look at GITHUB_API_URL, and at what is between here and there; NODE_EXTRA_CA_CERTS names a certificate of your own';

function answered(answer: Answer, request: Request, { memory }: Client): Answer | ForgeProblem {
  const { isRepeatable, url } = request;
  memory.isRight ||= answer.status < 300;
  for (const what of ['waits', ...(isRepeatable ? [] : ['unsure' as const])] as const)
    if ((memory.said.get(what) ?? request) === request) memory.said.delete(what);
  return refusedBy(answer, url) ?? answer;
}

/** A limit is over at a time that is known; of all else it is said once what is done. `request`: the one that waits; undefined: nobody knows whether it was done. */
function sayOnce(
  { why, until, isRefused }: ForgePause,
  request: Request | undefined,
  { base, memory: { said }, say, clock = systemClock }: Client,
): void {
  const what = request ? 'waits' : 'unsure';
  if (said.has(what)) return;
  said.set(what, request);
  const seconds = Math.max(1, Math.ceil((until - clock.now()) / 1_000));
  const tries = request ? 'Ralph tries until it answers' : 'Ralph looks whether it was done';
  say(`The forge at ${hostOf(base)}: ${why}. ${isRefused ? `Retrying in ${seconds} s` : tries}.`);
}

function hostOf(url: string): string {
  return tryTo(() => new URL(url).host) ?? 'the forge';
}

/** Only a question is led elsewhere; to another host a log alone, and never with the token. */
async function redirected(request: Request, client: Client): Promise<Answer | NoReply> {
  let { url } = request;
  for (let hop = 0; ; hop++) {
    const answer = await once({ ...request, url }, client);
    if ('lost' in answer || answer.location === null || request.method !== 'GET') return answer;
    const { location } = answer;
    const next = tryTo(() => new URL(location, url));
    if (!next || hop >= MOST_REDIRECTS || !isAllowed(next, request, client)) return answer;
    url = next.href;
  }
}

/** Not from https to http: what is read there would be anybody's. */
function isAllowed({ protocol, origin }: URL, { isText }: Request, { base }: Client): boolean {
  if (!isText && origin !== new URL(base).origin) return false;
  return protocol === 'https:' || (protocol === 'http:' && base.startsWith('http:'));
}

async function once(request: Request, client: Client): Promise<Answer | NoReply> {
  const { base, token, stopping, timeout = TIMEOUT } = client;
  const { method, url, body, etag, isText } = request;
  const isOwn = new URL(url).origin === new URL(base).origin;
  const headers = {
    accept: 'application/vnd.github+json',
    'user-agent': 'ralph',
    ...(isOwn && { authorization: `Bearer ${token}`, 'x-github-api-version': '2022-11-28' }),
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  // Not AbortSignal.any and AbortSignal.timeout: Node may collect what they are made of, and then nothing ends a request.
  const end = new AbortController();
  const stop = () => end.abort();
  const timer = setTimeout(() => end.abort(SILENT), timeout);
  stopping.addEventListener('abort', stop);
  try {
    if (stopping.aborted) stop();
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: end.signal,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // Whatever the forge repeats of it: the token is in nothing that is read here.
    const bytes = await readBody(response);
    if (!isText && bytes.length > MOST_BYTES) return { lost: 'its answer is too long', isTooLong: true };
    const text = bytes.toString('utf8').replaceAll(token, HIDDEN);
    const value = isText || text === '' ? {} : tryTo(() => JSON.parse(text) as unknown);
    if (value === undefined && response.ok) return { lost: 'its answer is no JSON', isWrong: true };
    return { ...answerOf(response, value), text, value };
  } catch (error) {
    return lostBy(error);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}

const SILENT = new Error('it does not answer');

function answerOf({ status, headers }: Response, value: unknown): Omit<Answer, 'text' | 'value'> {
  const isMoved = status >= 300 && status < 400 && status !== 304;
  const errors = objectsAt(asObject(value), 'errors');
  const [stated = status] = errors.flatMap(({ type }) => GRAPHQL.get(String(type)) ?? []);
  return {
    status: stated,
    header: name => headers.get(name),
    message: [asObject(value) ?? {}, ...errors].flatMap(wordsOf).join(': '),
    location: isMoved ? headers.get('location') : null,
  };
}

/** What GraphQL says with 200. */
const GRAPHQL = new Map([
  ['RATE_LIMITED', 429],
  ['FORBIDDEN', 403],
  ['INSUFFICIENT_SCOPES', 403],
  ['NOT_FOUND', 404],
]);

/** An error may have no sentence, but the name of what is wrong. */
function wordsOf({ message, field, code }: Json): readonly string[] {
  const words = typeof message === 'string' ? [message] : [field, code];
  const said = words.filter(each => typeof each === 'string').join(' ');
  return said === '' ? [] : [said];
}

function lostBy(error: unknown): NoReply {
  if (error === SILENT) return { lost: SILENT.message };
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  const code = cause?.code;
  const why = typeof code === 'string' ? ` (${code})` : '';
  return { lost: `it cannot be reached${why}`, isWrong: /CERT|SSL|TLS|EPROTO|VERIFY/.test(why) };
}

/** Of any size: the rest is not read. */
async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_BYTES) break;
  }
  return Buffer.concat(chunks);
}

const HELP: Readonly<Record<number, string>> = {
  401: 'the token is not valid: set GH_TOKEN, or `gh auth login`',
  403: 'the token may not do this: it needs write permission for contents, pull requests and issues',
  404: 'look at --repo, and whether the token may see it',
};

const MOVED = 'it has moved: look at --repo OWNER/NAME, and at GITHUB_API_URL';

function refusedBy({ status, message }: Answer, where: string): ForgeProblem | undefined {
  if ((status >= 200 && status < 300) || status === 304) return undefined;
  const said = oneLine(hideTokens(message), 300);
  const what = `the forge answers with ${status}${said === '' ? '' : `: ${said}`}`;
  const fix = status < 400 ? MOVED : HELP[status];
  return {
    where: where.replace(/^https?:\/\/[^/]*|\?.*$/g, ''),
    what,
    status,
    ...(fix !== undefined && { fix }),
  };
}

/** `<https://…?page=2>; rel="next"`, of the same host alone. */
function nextPage(link: string | null, base: string): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];
  return next !== undefined && tryTo(() => new URL(next).origin) === new URL(base).origin ? next : undefined;
}
