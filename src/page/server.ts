/** What the page asks of its dashboard. The token is in the page's own address. */
import type { IterationDetail, Snapshot } from '../report/run-view.ts';

/** Which run: the place of its project in the list, and its id. */
export interface Place {
  readonly project: number;
  readonly id: string;
}

export type Order =
  | { readonly kind: 'pause' | 'continue' }
  | { readonly kind: 'cancel'; readonly gently: boolean }
  | { readonly kind: 'tell'; readonly text: string }
  | { readonly kind: 'answer'; readonly story: string; readonly text: string };

const token = new URLSearchParams(location.search).get('token') ?? '';

function address({ project, id }: Place, ...more: readonly (string | number)[]): string {
  return ['/api', project, encodeURIComponent(id), ...more].join('/');
}

async function ask<Answer>(url: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { ...init.headers, 'x-ralph-token': token };
  const response = await fetch(url, { ...init, headers });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as Answer;
}

export function askRun(place: Place): Promise<Snapshot> {
  return ask(address(place));
}

export function askDetail(place: Place, iteration: number): Promise<IterationDetail> {
  return ask(address(place, 'iterations', iteration));
}

export function giveOrder(place: Place, order: Order): Promise<{ readonly message: string }> {
  return post(address(place, 'order'), order);
}

/** What a page may start: with the settings of the project, and what was chosen in the form. */
export type Start = Chosen &
  (
    | { readonly kind: 'run'; readonly text: string }
    | { readonly kind: 'loop'; readonly text: string; readonly worktree: boolean }
    | { readonly kind: 'prd' }
  );

export interface Chosen {
  readonly agent?: string | undefined;
  /** Beside those of the settings. */
  readonly checks?: readonly string[] | undefined;
  readonly maxIterations?: number | undefined;
}

/** What a form begins with: as the settings of the project are. */
export interface Offers {
  readonly agents: readonly string[];
  readonly agent: string | null;
  readonly checks: readonly string[];
  readonly maxIterations: Readonly<Record<Start['kind'], number>>;
}

export function askOffers(project: number): Promise<Offers> {
  return ask(`/api/${project}/start`);
}

export interface Launched {
  readonly message: string;
  /** undefined: it has not begun. */
  readonly runId?: string;
}

export function startRun(project: number, what: Start): Promise<Launched> {
  return post(`/api/${project}/start`, what);
}

export function resumeRun(place: Place): Promise<Launched> {
  return post(address(place, 'resume'), {});
}

export function forkRun(place: Place, at: number): Promise<Launched> {
  return post(address(place, 'fork'), { at });
}

function post<Answer>(url: string, body: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  return ask(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** A stream that reconnects by itself, and continues where it was cut off. */
export interface Following {
  close(): void;
}

interface Listeners {
  message(data: string): void;
  /** Whether there is a connection. */
  live(is: boolean): void;
}

const AGAIN = 1_000;

export function followList(listeners: Listeners): Following {
  return follow(() => `/api/runs?token=${encodeURIComponent(token)}`, 'runs', listeners);
}

/** `after` is called whenever the stream reconnects. */
export function followRun(place: Place, after: () => number, listeners: Listeners): Following {
  const url = () => `${address(place, 'events')}?after=${after()}&token=${encodeURIComponent(token)}`;
  return follow(url, 'message', listeners);
}

/** Not left to EventSource alone: it gives up for good when the server is back and at first answers with an error. */
function follow(url: () => string, name: string, { message, live }: Listeners): Following {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    source = new EventSource(url());
    source.addEventListener('open', () => live(true));
    source.addEventListener(name, event => message((event as MessageEvent<string>).data));
    source.addEventListener('error', () => {
      live(false);
      source.close();
      timer = setTimeout(connect, AGAIN);
    });
  };
  connect();
  return {
    close() {
      clearTimeout(timer);
      source.close();
    },
  };
}
