/**
 * A scripted model on loopback that speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini,
 * streaming and not. A bad script or a malformed request is answered 400 with a sentence; the server never crashes.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepsOpen } from '../keeps-open.ts';
import { chooser, replyTo, type Script, scriptProblems } from './answer.ts';
import { chat } from './chat.ts';
import { gemini } from './gemini.ts';
import { isObject, object } from './json.ts';
import { messages } from './messages.ts';
import type { Asked, Protocol } from './protocol.ts';
import { type Ending, type Log, type ModelRequest, requestLog } from './record.ts';
import { responses } from './responses.ts';
import { type Gates, gates, type Reply, send } from './send.ts';

const PROTOCOLS: readonly Protocol[] = [messages, responses, chat, gemini];
const NOTHING: Asked = { model: '', stream: false, system: '', userTexts: [], tools: [] };

/** A request that is none of the four protocols'. */
export interface Stray {
  readonly method: string;
  readonly path: string;
  readonly url: URL;
  readonly body: string;
}

export interface ModelServerOptions extends Script {
  /** Answers what is no model request, with JSON and status 200; undefined leaves it a 404. */
  readonly also?: (stray: Stray) => unknown;
}

export interface ModelServer {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ModelRequest[];
  readonly strays: readonly Stray[];
  /** What was wrong with the script or with a request; empty after a good run. */
  readonly problems: readonly string[];
  request: Log['request'];
  /** Opens a gate for good; before the answer waits there is soon enough. */
  release: Gates['release'];
  close(): Promise<void>;
}

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const log = requestLog();
  const doors = gates();
  const strays: Stray[] = [];
  const problems: string[] = [...scriptProblems(options)];
  const state: State = { options, choose: chooser(options), log, doors, strays, problems };

  const server = createServer((request, response) => {
    handle(request, response, state).catch(error => {
      problems.push(`the model server failed: ${String(error)}`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  keepsOpen(server).on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: log.requests,
    strays,
    problems,
    request: log.request,
    release: doors.release,
    async close() {
      log.close();
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

interface State {
  readonly options: ModelServerOptions;
  readonly choose: ReturnType<typeof chooser>;
  readonly log: Log;
  readonly doors: Gates;
  readonly strays: Stray[];
  readonly problems: string[];
}

async function handle(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) return;
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const method = request.method ?? 'GET';
  const protocol = method === 'POST' ? PROTOCOLS.find(one => one.serves(url.pathname)) : undefined;
  if (protocol === undefined) await stray({ method, path: url.pathname, url, body }, response, state);
  else await converse({ request, response, protocol, url, body }, state);
}

/** Undefined when the client left before its request was whole. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function stray(asked: Stray, response: ServerResponse, state: State): Promise<void> {
  state.strays.push(asked);
  const answer = tried(() => state.options.also?.(asked));
  const status = answer === undefined ? 404 : 200;
  const body = answer ?? {
    error: { message: `the model server does not serve ${asked.method} ${asked.path}` },
  };
  await send(response, plain(status, body), state.doors);
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly protocol: Protocol;
  readonly url: URL;
  readonly body: string;
}

async function converse({ request, response, protocol, url, body }: Exchange, state: State): Promise<void> {
  const json = parsed(body);
  const read = isObject(json) ? protocol.read(json, url) : 'the body is not a JSON object';
  const asked = typeof read === 'string' ? NOTHING : read;
  const known = {
    ...asked,
    n: state.log.requests.length + 1,
    protocol: protocol.name,
    path: url.pathname,
    headers: request.headers,
    lastUserText: asked.userTexts.at(-1) ?? '',
    toolNames: asked.tools.map(tool => tool.name),
    body,
    json: object(json),
  };
  const choice = typeof read === 'string' ? { kind: 'refused' as const, play: read } : state.choose(known);
  const id = String(known.n).padStart(4, '0');
  const reply =
    typeof choice.play === 'string' ? choice.play : replyTo(choice.play, asked, protocol, url, id);

  const kind = typeof reply === 'string' ? 'refused' : choice.kind;
  const step = 'index' in choice && choice.index !== undefined ? { step: choice.index } : {};
  const ended = deferred<Ending>();
  state.log.add({ ...known, kind, ...step, ended: ended.promise });
  if (typeof reply === 'string') state.problems.push(`request ${known.n}: ${reply}`);
  const wire = typeof reply === 'string' ? plain(400, protocol.error(400, reply)) : reply;
  ended.resolve(await send(response, wire, state.doors));
}

function plain(status: number, body: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json' }, parts: [JSON.stringify(body)] };
}

function parsed(body: string): unknown {
  return tried(() => JSON.parse(body) as unknown);
}

function tried<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}
