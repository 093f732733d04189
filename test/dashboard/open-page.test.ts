/** `ralph dashboard --open`: what other users of the machine can see of it. */
import { readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createGate } from '../rig/gate.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

interface Seen {
  readonly argv: readonly string[];
  readonly path: string;
  readonly html: string;
  readonly status: number;
}

/** A browser that follows the page it is given, and says what it was started with. */
const browser = (port: number) => `#!${process.execPath}
const { readFileSync } = require('node:fs');
const { fileURLToPath } = require('node:url');
const path = fileURLToPath(process.argv[2]);
const html = readFileSync(path, 'utf8');
const [, url] = /url=([^"]+)/.exec(html);
fetch(url).then(({ status }) =>
  fetch('http://127.0.0.1:${port}', { method: 'POST', body: JSON.stringify({ argv: process.argv.slice(2), path, html, status }) }),
);
`;

test('the token is on no command line, and the file that has it is gone once the page is open', async () => {
  const { dir, path, script } = folder();
  const { open, opened } = createGate<Seen>();
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    response.end();
    open(JSON.parse(Buffer.concat(chunks).toString()));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  script('xdg-open', browser((server.address() as AddressInfo).port));
  const env = { HOME: dir, XDG_STATE_HOME: path('state') };
  const running = startRalph(['dashboard', '--open', dir], { cwd: dir, env, path: [dir] });
  let printed = '';
  running.process.stdout?.on('data', chunk => {
    printed += chunk;
  });
  const seen = await opened;
  const token = new URL(printed.trim()).searchParams.get('token') ?? '';
  expect(token).not.toBe('');
  expect(seen.html).toContain(token);
  expect([seen.status, seen.argv.join(' ').includes(token)]).toEqual([200, false]);
  expect(statSync(dirname(seen.path)).mode & 0o077).toBe(0);
  expect(readdirSync(dirname(seen.path))).toEqual([]);
  running.process.kill('SIGINT');
  await running.finished;
});
