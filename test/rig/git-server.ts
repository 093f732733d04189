/** A git server over HTTP that asks for a name and a password. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Repo } from './repo.ts';

export const LOGIN = { name: 'worker', password: 'open-sesame' };
const WANTED = `Basic ${Buffer.from(`${LOGIN.name}:${LOGIN.password}`).toString('base64')}`;

/** Returns the address of the repository, without a password in it. */
export async function serveGit(remote: Repo): Promise<string> {
  remote.git('config', 'http.receivepack', 'true');
  const server = createServer((request, response) => {
    if (request.headers.authorization === WANTED) return answer(remote, request, response);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/${basename(remote.dir)}`;
}

/** For a server of a test's own that lets whoever it wants in. */
export function serveGitOver(remote: Repo) {
  remote.git('config', 'http.receivepack', 'true');
  return (request: IncomingMessage, response: ServerResponse) => answer(remote, request, response);
}

/** By git's own program, as a web server calls it. */
function answer(remote: Repo, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH ?? '',
      GIT_PROJECT_ROOT: dirname(remote.dir),
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: LOGIN.name,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on('data', chunk => chunks.push(chunk));
  child.on('close', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    const headers = all.subarray(0, end).toString('latin1').split('\r\n');
    let status = 200;
    for (const line of headers) {
      const [name = '', value = ''] = line.split(/: (.*)/s);
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status).end(all.subarray(end + 4));
  });
}
