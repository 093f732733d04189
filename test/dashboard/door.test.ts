import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { folder } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';
import { type Asked, ask, serve, TOKEN } from './serve.ts';

async function house() {
  const { dir, path } = folder();
  const run = writeRun(dir, { iterations: 2 });
  const { port } = await serve([dir]);
  return { port, path, run, own: `127.0.0.1:${port}` };
}

describe('whoever knocks', () => {
  const orders = (port: number, over: Asked['headers'] = {}): Asked => ({
    method: 'POST',
    headers: { origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json', ...over },
    body: '{"kind":"pause"}',
  });

  test.each<[string, number, (port: number) => Asked]>([
    ['with the token', 200, () => ({})],
    ['as localhost', 200, port => ({ headers: { host: `localhost:${port}` } })],
    ['without a token', 401, () => ({ headers: { 'x-ralph-token': '' } })],
    ['with another token', 401, () => ({ headers: { 'x-ralph-token': `${TOKEN}x` } })],
    ['with a part of the token', 401, () => ({ headers: { 'x-ralph-token': TOKEN.slice(0, -1) } })],
    ['under a name that leads here', 403, port => ({ headers: { host: `evil.example:${port}` } })],
    ['under our address without the port', 403, () => ({ headers: { host: '127.0.0.1' } })],
    ['from another page', 403, () => ({ headers: { origin: 'http://evil.example' } })],
    [
      'from another port of this machine',
      403,
      port => ({ headers: { origin: `http://127.0.0.1:${port + 1}` } }),
    ],
    ['from a page that has no origin', 403, () => ({ headers: { origin: 'null' } })],
    ['with another method', 405, () => ({ method: 'DELETE' })],
  ])('%s gets %i', async (_, status, asked) => {
    const { port } = await house();
    expect((await ask(port, '/', asked(port))).status).toBe(status);
  });

  test.each<[string, number, (port: number) => Asked]>([
    ['with everything', 200, port => orders(port)],
    [
      'without an origin',
      403,
      port => ({ ...orders(port), headers: { 'content-type': 'application/json' } }),
    ],
    ['as a form', 415, port => orders(port, { 'content-type': 'application/x-www-form-urlencoded' })],
    ['as plain text, which a form can send', 415, port => orders(port, { 'content-type': 'text/plain' })],
    ['without a type', 415, port => orders(port, { 'content-type': '' })],
    ['that is none', 400, port => ({ ...orders(port), body: '{"kind":"explode"}' })],
    ['that is not JSON', 400, port => ({ ...orders(port), body: '{' })],
    ['that never ends', 400, port => ({ ...orders(port), body: `"${'x'.repeat(600_000)}"` })],
    ['without words', 400, port => ({ ...orders(port), body: '{"kind":"tell","text":"  "}' })],
  ])('an order %s gets %i', async (_, status, asked) => {
    const { port, run } = await house();
    expect((await ask(port, `/api/0/${run.id}/order`, asked(port))).status).toBe(status);
  });

  test('the token in the address opens the page too, since a link can carry nothing else', async () => {
    const { port } = await house();
    const { status, headers, body } = await ask(port, `/?token=${TOKEN}`, {
      headers: { 'x-ralph-token': '' },
    });
    // A header that is there wins, even if it is empty.
    expect(status).toBe(401);
    expect(headers['content-security-policy']).toBeDefined();
    expect(body).not.toContain(TOKEN);
    expect((await fetch(`http://127.0.0.1:${port}/?token=${TOKEN}`)).status).toBe(200);
  });
});

describe('what is served', () => {
  test('allows nothing but the page itself', async () => {
    const { port } = await house();
    const { headers, body } = await ask(port, '/');
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|http/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(body).not.toContain(TOKEN);
  });

  test.each([
    '/api/0/..%2f..%2f..',
    '/api/0/../../../etc',
    '/api/0/%2e%2e',
    '/api/0/.',
    '/api/0/',
    '/api/1/RUN',
    '/api/-1/RUN',
    '/api/__proto__/RUN',
    '/api/0/RUN/iterations/..%2f1',
    '/api/0/RUN/iterations/999',
    '/api/0/RUN/prompt.md',
    '/api/0/RUN%00',
    '/api/0/%zz',
    '/etc/passwd',
    '//evil.example/',
    '//[',
  ])('%s is not there', async address => {
    const { port, run, path } = await house();
    writeFileSync(path('.ralph/runs/elsewhere'), 'not a run');
    const { status, body } = await ask(port, address.replace('RUN', run.id));
    expect([status, body.length < 60]).toEqual([404, true]);
  });

  test('has no secret in it', async () => {
    const { dir } = folder();
    const run = writeRun(dir, { iterations: 1, words: () => 'use sk-secret-0123', prompt: 'sk-secret-0123' });
    const { port } = await serve([dir]);
    const { body } = await ask(port, `/api/0/${run.id}/iterations/1`);
    expect(body).toContain('[redacted]');
    expect(body).not.toContain('sk-secret');
  });
});
