/** Requests to a forge: its token goes to its own host and nowhere else, its limits are waited for, and what was lost is said. */
import { type ForgePause, type ForgeReply, pauseFor } from '../domain/forge/pause.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { hideTokens } from '../domain/text/secret-formats.ts';
import { waitFor } from '../engine/wait.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { tryTo } from '../platform/files.ts';
import { oneLine } from '../platform/text.ts';

export interface ForgeProblem extends Problem {
  /** What the forge answered; absent: nothing. */
  readonly status?: number;
  /** Nobody knows whether it was done: ask before it is sent again. */
  readonly isUnsure?: true;
  /** The user has stopped it. */
  readonly isStopped?: true;
}

export interface HttpOptions {
  /** `https://api.github.com`, without a slash at its end. */
  readonly base: string;
  readonly token: string;
  readonly stopping: AbortSignal;
  readonly clock?: Clock;
  /** Whether what is waited for was said already. */
  readonly trouble?: { isSaid: boolean };
  /** Prints what is waited for. */
  say(text: string): void;
}

export interface Http {
  /** Asks until there is an answer. */
  get(path: string): Promise<unknown | ForgeProblem>;
  /** All pages of a list. `under`: the field of an answer that holds it. */
  list(path: string, under?: string): Promise<readonly unknown[] | ForgeProblem>;
  /** A text such as a log; what leads to another host is asked there without the token. */
  text(path: string): Promise<string | ForgeProblem>;
  /** Sends it once; where the forge refuses because of a limit, again after it. */
  send(
    method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<unknown | ForgeProblem>;
}

/** Milliseconds without an answer. */
const TIMEOUT = 60_000;
/** Milliseconds that a forge may be away before Ralph gives up. */
export const LONGEST_AWAY = 3_600_000;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_PAGES = 50;
const MOST_REDIRECTS = 5;
/** Answers that are kept for conditional requests: who watches asks for months. */
const MOST_KNOWN = 1_000;

interface Request {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  readonly accept: string;
}

interface Answer extends ForgeReply {
  readonly text: string;
  readonly location: string | null;
}

export function createHttp(options: HttpOptions): Http {
  const { base } = options;
  const quiet = { ...options, trouble: { isSaid: false } };
  const known = new Map<
    string,
    { readonly etag: string; readonly text: string; readonly next: string | undefined }
  >();
  const ask = async (url: string) => {
    const before = known.get(url);
    const answer = await untilAnswered({ method: 'GET', url, etag: before?.etag, accept: JSON_TYPE }, quiet);
    if (isProblem(answer)) return answer;
    if (answer.status === 304 && before) return before;
    const problem = refusedBy(answer, url);
    if (problem) return problem;
    const found = { text: answer.text, next: nextPage(answer.header('link'), base) };
    const etag = answer.header('etag');
    known.delete(url);
    if (etag !== null) known.set(url, { ...found, etag });
    for (const old of known.keys()) if (known.size > MOST_KNOWN) known.delete(old);
    return found;
  };
  return {
    async get(path) {
      const answer = await ask(base + path);
      return isProblem(answer) ? answer : parsed(answer.text, path);
    },
    async list(path, under) {
      const all: unknown[] = [];
      let url: string | undefined = base + path;
      for (let page = 0; url !== undefined && page < MOST_PAGES; page++) {
        const answer: Awaited<ReturnType<typeof ask>> = await ask(url);
        if (isProblem(answer)) return answer;
        const value = parsed(answer.text, path);
        if (isProblem(value)) return value;
        const items = under === undefined ? value : (value as Record<string, unknown> | null)?.[under];
        if (!Array.isArray(items)) return noJson(path);
        all.push(...items);
        url = answer.next;
      }
      return all;
    },
    async text(path) {
      const answer = await untilAnswered({ method: 'GET', url: base + path, accept: JSON_TYPE }, quiet);
      if (isProblem(answer)) return answer;
      return refusedBy(answer, path) ?? answer.text;
    },
    async send(method, path, body) {
      const request = { method, url: base + path, body, accept: JSON_TYPE };
      const answer = await untilAnswered(request, quiet);
      if (isProblem(answer)) return answer;
      const problem = refusedBy(answer, path);
      return problem ?? (answer.text === '' ? {} : parsed(answer.text, path));
    },
  };
}

const JSON_TYPE = 'application/vnd.github+json';

/** Reading is repeated until it works; what writes is repeated only where it was refused before anything was done. */
async function untilAnswered(request: Request, options: HttpOptions): Promise<Answer | ForgeProblem> {
  const { clock = systemClock, stopping, trouble } = options;
  const began = clock.ticks();
  for (let attempt = 0; ; attempt++) {
    const answer = await redirected(request, options);
    if (stopping.aborted) return stopped(request, answer);
    const pause = pauseFor(answer, attempt, clock.now());
    if (!pause && trouble) trouble.isSaid = false;
    if (!pause) return answer as Answer;
    if (request.method !== 'GET' && !pause.isRefused) return { ...away(request.url, pause), isUnsure: true };
    if (clock.ticks() - began > LONGEST_AWAY) return away(request.url, pause);
    if (!(await waitOut(pause, options))) return stopped(request, answer);
  }
}

/** Returns whether it waited to the end. A limit is over at a time that is known; of all else it is said once that it is tried again. */
export function waitOut(
  pause: ForgePause,
  { clock = systemClock, stopping, say, trouble }: HttpOptions,
): Promise<boolean> {
  const seconds = Math.ceil((pause.until - clock.now()) / 1_000);
  const then = pause.isRefused ? `Retrying in ${seconds} s` : 'Ralph tries until it answers';
  if (seconds > 0 && !trouble?.isSaid) say(`The forge: ${pause.why}. ${then}.`);
  if (trouble) trouble.isSaid = true;
  const { until } = pause;
  const longest = Math.max(0, until - clock.now()) + 60_000;
  return waitFor({ ms: longest, until, longest }, clock, stopping);
}

function stopped({ url, method }: Request, answer: Answer | 'lost'): ForgeProblem {
  const isUnsure = method !== 'GET' && answer === 'lost';
  return { where: hostOf(url), what: 'interrupted', isStopped: true, ...(isUnsure && { isUnsure }) };
}

function away(url: string, { why }: ForgePause): ForgeProblem {
  return { where: hostOf(url), what: why, fix: 'the same command continues when it is back' };
}

function hostOf(url: string): string {
  return tryTo(() => new URL(url).host) ?? 'the forge';
}

/** Another host never gets the token, and only a GET is led there. */
async function redirected(request: Request, options: HttpOptions): Promise<Answer | 'lost'> {
  let { url } = request;
  for (let hop = 0; ; hop++) {
    const answer = await once({ ...request, url }, options);
    if (answer === 'lost' || answer.location === null || request.method !== 'GET') return answer;
    const next = tryTo(() => new URL(answer.location ?? '', url));
    if (!next || hop >= MOST_REDIRECTS || !isAllowed(next, options.base)) return answer;
    url = next.href;
  }
}

/** Not from https to http: what is read there would be anybody's. */
function isAllowed({ protocol }: URL, base: string): boolean {
  return protocol === 'https:' || (protocol === 'http:' && base.startsWith('http:'));
}

async function once(request: Request, { base, token, stopping }: HttpOptions): Promise<Answer | 'lost'> {
  const { method, url, body, etag, accept } = request;
  const isOwn = new URL(url).origin === new URL(base).origin;
  const headers = {
    accept,
    'user-agent': 'ralph',
    ...(isOwn && { authorization: `Bearer ${token}`, 'x-github-api-version': '2022-11-28' }),
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT)]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await readBody(response);
    const { status } = response;
    const isMoved = status >= 300 && status < 400 && status !== 304;
    return {
      status,
      text,
      header: name => response.headers.get(name),
      message: messageIn(text),
      location: isMoved ? response.headers.get('location') : null,
    };
  } catch {
    return 'lost';
  }
}

/** A log may be of any size: the rest is not read. */
async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string, path: string): unknown | ForgeProblem {
  const value = tryTo(() => ({ value: JSON.parse(text) as unknown }));
  return value ? value.value : noJson(path);
}

function noJson(path: string): ForgeProblem {
  return { where: path, what: 'the forge gave an answer that nobody expects', fix: 'look at GITHUB_API_URL' };
}

function messageIn(text: string): string {
  const { message, errors } = (tryTo(() => JSON.parse(text)) ?? {}) as {
    message?: unknown;
    errors?: unknown;
  };
  const more = Array.isArray(errors)
    ? errors.flatMap(each => (typeof each?.message === 'string' ? [each.message] : []))
    : [];
  return [message, ...more].filter(each => typeof each === 'string').join(': ');
}

const HELP: Readonly<Record<number, string>> = {
  401: 'the token is not valid: set GH_TOKEN, or `gh auth login`',
  403: 'the token may not do this: it needs write permission for contents, pull requests and issues',
  404: 'look at --repo, and whether the token may see it',
};

const MOVED = 'it has moved: look at --repo OWNER/NAME, and at GITHUB_API_URL';

function refusedBy({ status, message }: Answer, where: string): ForgeProblem | undefined {
  if (status >= 200 && status < 300) return undefined;
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
