/** `ralph dashboard`: the page of the report, live. Listens on loopback, serves only what it lists, and trusts no request. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeUri } from '../domain/text/secret-values.ts';
import { systemClock } from '../platform/clock.ts';
import { htmlOfDashboard, type PageAssets, policyOf } from '../report/html.ts';
import { cleanJson } from '../report/read-run.ts';
import { parseMessage } from '../store/inbox.ts';
import { refusal } from './access.ts';
import { type Launch, type Offers, startArguments } from './launch.ts';
import { type FoundRun, type OtherRuns, openProjects, type Projects } from './projects.ts';
import { openStream, streamList } from './stream.ts';

export interface DashboardOptions {
  /** The folders of the projects. */
  readonly projects: readonly string[];
  /** Says where the user's state folder is. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly token: string;
  readonly assets: PageAssets;
  readonly version: string;
  /** Takes secrets out of a line. */
  readonly redact: (line: string) => string;
  /** undefined: no run can be started from here. */
  readonly launch?: Launch | undefined;
  /** What a form may choose from, in the project with this root. */
  readonly offers?: ((root: string) => Offers) | undefined;
  /** The page was asked for by somebody who may have it. */
  onPage?(): void;
  /** Runs on other machines, after those of the projects. */
  readonly elsewhere?: OtherRuns | undefined;
}

export interface Dashboard {
  /** With the token: whoever has it has access. */
  readonly url: string;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Rejects when the port is in use. */
export async function openDashboard(options: DashboardOptions): Promise<Dashboard> {
  const projects = openProjects(options.projects, options.env, options.elsewhere);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const name = options.host.includes(':') ? `[${options.host}]` : options.host;
  const hosts = [...new Set([name, ...(isLoopback(options.host) ? ['localhost'] : [])])].map(
    each => `${each.toLowerCase()}:${port}`,
  );
  const answer = createAnswer(projects, hosts, options);
  server.on('request', (request, response) => {
    answer(request, response).catch(() => fail(response, 500, 'internal error of the dashboard'));
  });
  return {
    url: `http://${name}:${port}/?token=${options.token}`,
    close: () => closeServer(server),
  };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function createAnswer(projects: Projects, hosts: readonly string[], options: DashboardOptions): Answer {
  const { assets, version, redact, token, launch, offers = () => NO_OFFERS } = options;
  const page = htmlOfDashboard(version, assets, launch !== undefined);
  const policy = `${policyOf(assets)}; frame-ancestors 'none'`;
  return async (request, response) => {
    // Not by URL: `//x/` would be a host to it, and `//[` an exception.
    const [path = '', search = ''] = (request.url ?? '/').split(/\?(.*)/s);
    const query = new URLSearchParams(search);
    for (const [header, value] of Object.entries(HEADERS)) response.setHeader(header, value);
    response.setHeader('content-security-policy', policy);
    const refused = refusal(credentialsOf(request, query), { token, hosts });
    if (refused) return fail(response, refused.status, refused.why);
    const [first, second, ...rest] = path.slice(1).split('/').map(decodeUri);
    if (path === '/') {
      options.onPage?.();
      return send(response, 'text/html; charset=utf-8', page);
    }
    if (first !== 'api' || second === undefined) return fail(response, 404, 'no such page');
    if (second === 'runs' && rest.length === 0)
      return streamList(openStream(response), async () => cleanJson(await projects.list(), redact));
    const asked = { request, response, query, redact, launch };
    const root = projects.root(second);
    if (root !== undefined && rest[0] === 'start' && request.method === 'POST')
      return start(asked, root, startArguments((await readBody(request)) ?? '', offers(root)));
    if (root !== undefined && rest[0] === 'start' && launch)
      return send(response, 'application/json', cleanJson(offers(root), redact));
    const run = await projects.find(second, rest[0] ?? '');
    if (run === 'unreachable') return fail(response, 503, 'the database of the fleet does not answer');
    if (!run) return fail(response, 404, 'no such run');
    return answerRun({ ...asked, run }, rest.slice(1));
  };
}

const NO_OFFERS: Offers = {
  agents: [],
  agent: null,
  checks: [],
  maxIterations: { loop: 25, run: 10, prd: 15 },
};

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

function credentialsOf({ method = '', headers }: IncomingMessage, query: URLSearchParams) {
  const header = headers['x-ralph-token'];
  return {
    method,
    host: headers.host,
    origin: headers.origin,
    contentType: headers['content-type'],
    // An order has it in a header, which no other page can send without being asked first whether it may.
    token:
      typeof header === 'string' ? header : method === 'POST' ? undefined : (query.get('token') ?? undefined),
  };
}

interface Asked extends Pick<DashboardOptions, 'redact' | 'launch'> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
}

interface RunRequest extends Asked {
  readonly run: FoundRun;
}

/** Running code: only where the dashboard is reached from this machine alone. */
async function start({ response, redact, launch }: Asked, root: string, args: readonly string[] | undefined) {
  if (!launch) return fail(response, 403, 'runs are started and resumed on a loopback address only');
  if (!args) return fail(response, 400, 'nothing that could be started or resumed');
  return send(response, 'application/json', cleanJson(await launch(root, args), redact));
}

async function answerRun(asked: RunRequest, [what, which]: readonly string[]): Promise<void> {
  const { request, response, run, redact } = asked;
  const json = (value: unknown) => send(response, 'application/json', cleanJson(value, redact));
  if (request.method === 'POST') {
    if (what === 'resume') return start(asked, run.root, run.resumption());
    if (what === 'fork') return start(asked, run.root, run.fork(await readBody(request)));
    return what === 'order' ? order(asked, json) : fail(response, 404, 'no such order');
  }
  switch (what) {
    case undefined:
      return json(run.snapshot());
    case 'events':
      return run.follow(openStream(response), after(asked), redact);
    case 'iterations': {
      const detail = /^\d{1,9}$/.test(which ?? '') ? run.detail(Number(which)) : undefined;
      return detail ? json(detail) : fail(response, 404, 'no such iteration');
    }
    default:
      return fail(response, 404, 'no such page');
  }
}

/** Where a reader that was cut off continues; the browser sends it by itself. */
function after({ request, query }: RunRequest): number {
  const seq = Number(request.headers['last-event-id'] ?? query.get('after'));
  return Number.isSafeInteger(seq) && seq > 0 ? seq : 0;
}

async function order({ request, response, run }: RunRequest, json: (value: unknown) => void): Promise<void> {
  const body = await readBody(request);
  const wanted = body === undefined ? undefined : parseMessage(body);
  if (!wanted) return fail(response, 400, 'unknown order');
  return json(await run.steer(wanted, systemClock.now()));
}

const LONGEST_BODY = 512 * 1024;

/** undefined: longer than any order. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > LONGEST_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': type }).end(body);
}

function fail(response: ServerResponse, status: number, why: string): void {
  if (response.headersSent) response.destroy();
  else
    response
      .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      .end(`${why}\n`);
}
