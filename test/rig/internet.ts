/** A stand-in for the internet: a proxy on loopback behind which every name leads to a server of the test, or nowhere. */
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';

export interface Internet {
  /** For HTTP_PROXY. */
  readonly url: string;
  /** `host:port` of everything that was asked for and let through to here. */
  readonly asked: readonly string[];
}

/** `names` are hosts, and the local ports they lead to. */
export async function internet(names: Readonly<Record<string, number>>): Promise<Internet> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => forward(request, response, names, asked));
  server.on('connection', socket => void sockets.add(socket));
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    const [host = '', port = '443'] = (request.url ?? '').split(':');
    asked.push(`${host}:${port}`);
    const target = names[host];
    if (target === undefined) return void client.end('HTTP/1.1 502 No Such Host\r\n\r\n');
    const upstream = connect(target, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const side of [client, upstream]) side.on('error', () => {});
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  names: Readonly<Record<string, number>>,
  asked: string[],
): void {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  asked.push(`${url.hostname}:${url.port || '80'}`);
  const port = names[url.hostname];
  if (port === undefined) return void response.writeHead(502).end();
  const { method, headers } = request;
  const upstream = ask(
    { host: '127.0.0.1', port, method, path: url.pathname + url.search, headers },
    answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  upstream.on('error', () => response.destroy());
  request.pipe(upstream);
}
