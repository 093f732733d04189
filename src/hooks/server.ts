/** The hooks of a run, answered in its own process: the same answers as those of the program, without starting it. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HOOK_ORDERS, type HookOrders } from '../domain/session/hook-orders.ts';
import { runHook } from './main.ts';

/** More than a tool call ever holds. */
const MOST = 64 * 1024 * 1024;

/** On loopback, for whoever knows the secret in the address. */
export async function serveHooks(orders: HookOrders, env: NodeJS.ProcessEnv) {
  const secret = randomBytes(18).toString('base64url');
  const hookEnv = { ...env, [HOOK_ORDERS]: JSON.stringify(orders) };
  let calls = 0;
  const server = createServer((request, response) => {
    calls++;
    answer(secret, hookEnv, request, response).catch(() => end(response, 500));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  server.unref(); // it keeps nobody waiting
  return {
    url: `http://127.0.0.1:${port}/${secret}`,
    calls: () => calls,
    close() {
      server.closeAllConnections();
      return new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
}

/** What is not an answer of a hook is an error to the agent: before a tool it refuses then, elsewhere it continues. */
async function answer(
  secret: string,
  env: NodeJS.ProcessEnv,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, given, host = '', event = '', ...rest] = (request.url ?? '').split('/');
  if (request.method !== 'POST' || given !== secret || rest.length > 0) return end(response, 404);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MOST) return end(response, 413);
    chunks.push(chunk);
  }
  const said = await runHook(host, event, Buffer.concat(chunks).toString('utf8'), env, true);
  response.writeHead(200, { 'content-type': 'application/json' }).end(said);
}

function end(response: ServerResponse, status: number): void {
  if (!response.headersSent) response.writeHead(status);
  response.end();
}
