/**
 * The door of a sandbox that has no network of its own: an HTTP proxy on a unix socket that lets through to the hosts on a
 * list, and reports every other that was requested.
 */
import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ProxyOptions {
  readonly socket: string;
  /** `example.org`, `*.example.org`, `127.0.0.1:8080`. */
  readonly domains: readonly string[];
  /** The proxy that we ourselves must go through. */
  readonly parent?: string;
  deny(what: string): void;
}

export type Door = Awaited<ReturnType<typeof startProxy>>;

interface Target {
  readonly host: string;
  readonly port: number;
}

export async function startProxy(options: ProxyOptions) {
  const sockets = new Set<Duplex>();
  const server = createServer((asked, answer) => void plain(options, asked, answer));
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  server.on('connect', (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    void tunnel(options, asked, client, head);
  });
  await listening(server, options.socket);
  return {
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

const REFUSED = 'Not on the list of hosts that may be reached from inside the sandbox.\n';

async function plain(options: ProxyOptions, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : undefined;
  if (url?.protocol !== 'http:') return void answer.writeHead(400).end();
  const target = { host: url.hostname, port: Number(url.port || 80) };
  if (!(await isAllowed(options, target))) return void answer.writeHead(403).end(REFUSED);
  const { 'proxy-authorization': _, 'proxy-connection': __, ...headers } = asked.headers;
  const parent = options.parent === undefined ? undefined : new URL(options.parent);
  const upstream = request(
    {
      host: parent?.hostname ?? target.host,
      port: parent ? Number(parent.port || 80) : target.port,
      path: parent ? url.href : url.pathname + url.search,
      method: asked.method,
      // The host of the address counts, not one that the inside claims beside it.
      headers: { ...headers, host: url.host },
    },
    reply => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    },
  );
  upstream.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  answer.on('close', () => upstream.destroy());
  asked.pipe(upstream);
}

async function tunnel(
  options: ProxyOptions,
  asked: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  client.on('error', () => {});
  const target = targetOf(asked.url ?? '');
  if (!target || !(await isAllowed(options, target)))
    return void client.end(`HTTP/1.1 403 Forbidden\r\n\r\n${REFUSED}`);
  const parent = options.parent === undefined ? undefined : new URL(options.parent);
  const upstream = parent
    ? connect(Number(parent.port || 80), parent.hostname)
    : connect(target.port, target.host);
  upstream.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  client.on('close', () => upstream.destroy());
  upstream.once('connect', () => {
    const { host, port } = target;
    // The parent's own "200" goes back to the client as ours.
    if (parent) upstream.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
    else client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    upstream.write(head);
    upstream.pipe(client).pipe(upstream);
  });
}

function targetOf(authority: string): Target | undefined {
  const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(authority) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}

async function isAllowed({ domains, parent, deny }: ProxyOptions, target: Target): Promise<boolean> {
  const { host, port } = target;
  const allowed = domains.some(domain => matches(domain, target));
  const isName = isIP(host.replace(/^\[|\]$/g, '')) === 0;
  // A name on the list must not be a way to services of this machine.
  if (allowed && (!isName || parent !== undefined || !(await isLocal(host)))) return true;
  deny(
    `connect to ${host}:${port} (${allowed ? 'its address is on this machine' : 'host is not on the allow list'})`,
  );
  return false;
}

export function matches(domain: string, { host, port }: Target): boolean {
  const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(domain.toLowerCase()) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const asked = host.toLowerCase().replace(/\.$/, '');
  return name.startsWith('*.')
    ? asked.endsWith(name.slice(1)) && asked.length > name.length - 1
    : asked === name;
}

async function isLocal(host: string): Promise<boolean> {
  try {
    const addresses = await lookup(host, { all: true });
    return addresses.some(({ address }) =>
      /^(127\.|0\.|169\.254\.|::1$|::$|fe80:|::ffff:127\.)/i.test(address),
    );
  } catch {
    return false; // the connection will say so
  }
}
