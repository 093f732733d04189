/** All the ways in which a forge refuses, or answers with something else than was asked for. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { keepsOpen } from './keeps-open.ts';

/** `waits`: for a time that is known, and nothing was done. `again`: nobody knows what was done. `stops`: it is the answer. `endless`: it would be the same again, and nobody knows what was done. */
export type Kind = 'waits' | 'again' | 'stops' | 'endless';

/** `elsewhere`: the address of another host. */
type Refuse = (request: IncomingMessage, response: ServerResponse, elsewhere: string) => void;

export interface Refusal {
  readonly name: string;
  readonly kind: Kind;
  readonly refuse: Refuse;
  /** What stands in the sentence for it. */
  readonly said: RegExp;
}

/** What a careless forge says: with the token in it. */
function words({ headers }: IncomingMessage): string {
  return JSON.stringify({ message: `its own words, for ${headers.authorization}` });
}

function status(code: number, headers: Readonly<Record<string, string>> = {}): Refuse {
  return (request, response) => void response.writeHead(code, headers).end(words(request));
}

function leads(code: number): Refuse {
  return (request, response, elsewhere) =>
    void response.writeHead(code, { location: `${elsewhere}/other` }).end(words(request));
}

/** A body that is cut off: less of it comes than was announced. */
const truncated: Refuse = ({ socket }, response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('[{"number":1', () => socket.destroy());
};

const MORE = Buffer.alloc(1_000_000, '[0,');

const endless: Refuse = (_, response) => {
  const more = () => {
    while (!response.destroyed && response.write(MORE));
  };
  response.on('drain', more).writeHead(200);
  more();
};

const LIMIT = /its rate limit is reached/;
const WORDS = /its own words, for/;

const inSeconds = (seconds: number) => String(Math.ceil(Date.now() / 1_000) + seconds);

export const REFUSALS: readonly Refusal[] = [
  ...[401, 403, 404, 405, 409, 410, 422, 451].map(
    (code): Refusal => ({ name: `${code}`, kind: 'stops', refuse: status(code), said: WORDS }),
  ),
  { name: '429', kind: 'waits', refuse: status(429, { 'retry-after': '1' }), said: LIMIT },
  { name: '403, a second limit', kind: 'waits', refuse: status(403, { 'retry-after': '1' }), said: LIMIT },
  {
    name: '403, the limit',
    kind: 'waits',
    refuse: (request, response) => {
      const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inSeconds(0) };
      status(403, headers)(request, response, '');
    },
    said: LIMIT,
  },
  ...[500, 502, 503, 504].map(
    (code): Refusal => ({
      ...{ name: `${code}`, kind: 'again', refuse: status(code) },
      said: new RegExp(`it answers with ${code}`),
    }),
  ),
  {
    name: 'a reset',
    kind: 'again',
    refuse: ({ socket }) => void socket.resetAndDestroy(),
    said: /ECONNRESET/,
  },
  {
    name: 'a hang-up',
    kind: 'again',
    refuse: ({ socket }) => void socket.destroy(),
    said: /cannot be reached/,
  },
  { name: 'a body that is cut off', kind: 'again', refuse: truncated, said: /cannot be reached/ },
  { name: 'silence', kind: 'again', refuse: () => {}, said: /does not answer/ },
  { name: 'a body without an end', kind: 'endless', refuse: endless, said: /answer is too long/ },
  ...Object.entries({ 'no JSON': '{"number":1', 'a page': '<!doctype html><p>Log in</p>' }).map(
    ([name, text]): Refusal => ({
      ...{ name, kind: 'again', refuse: (_, response) => void response.end(text) },
      said: /answer is no JSON/,
    }),
  ),
  ...[301, 302, 307, 308].map(
    (code): Refusal => ({
      ...{ name: `${code} to another host`, kind: 'stops', refuse: leads(code), said: /it has moved/ },
    }),
  ),
];

/** A server on loopback that ends with the test. Returns its address. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = keepsOpen(createServer(listener));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`;
}
