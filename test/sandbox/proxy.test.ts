import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { matches, startProxy } from '../../src/sandbox/proxy.ts';
import { internet } from '../rig/internet.ts';
import { folder } from '../rig/repo.ts';

test.each([
  ['example.org', 'example.org', 443, true],
  ['example.org', 'EXAMPLE.org.', 80, true],
  ['example.org', 'www.example.org', 443, false],
  ['example.org', 'example.org.evil.test', 443, false],
  ['*.example.org', 'www.example.org', 443, true],
  ['*.example.org', 'a.b.example.org', 443, true],
  ['*.example.org', 'example.org', 443, false],
  ['*.example.org', 'notexample.org', 443, false],
  ['example.org:8080', 'example.org', 8080, true],
  ['example.org:8080', 'example.org', 80, false],
  ['127.0.0.1:5432', '127.0.0.1', 5432, true],
  ['127.0.0.1:5432', '127.0.0.1', 22, false],
])('%s lets %s:%i through: %s', (domain, host, port, expected) => {
  expect(matches(domain, { host, port })).toBe(expected);
});

async function proxied(domains: readonly string[], parent?: string) {
  const socket = join(folder('rp').dir, 'door');
  const denied: string[] = [];
  const door = await startProxy({
    socket,
    domains,
    deny: what => denied.push(what),
    ...(parent && { parent }),
  });
  onTestFinished(() => door.close());
  const get = (url: string, headers: Record<string, string> = {}) =>
    new Promise<string>(resolve => {
      request({ socketPath: socket, path: url, headers: { host: new URL(url).host, ...headers } }, answer => {
        let text = `${answer.statusCode} `;
        answer.on('data', chunk => (text += chunk)).on('end', () => resolve(text));
      }).end();
    });
  const tunnel = (target: string, words = '') =>
    new Promise<string>(resolve => {
      let text = '';
      const client = connect(socket, () => client.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`));
      client.on('data', chunk => {
        text += chunk;
        if (words && text.endsWith('\r\n\r\n') && text.includes(' 200 ')) client.write(words);
      });
      client.on('close', () => resolve(text));
    });
  return { get, tunnel, denied };
}

async function server() {
  const heard: string[] = [];
  const made = createServer((asked, answer) => {
    heard.push(String(asked.headers.host));
    answer.writeHead(200, { connection: 'close' }).end('hello');
  });
  await new Promise<void>(resolve => made.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void made.close());
  return { port: (made.address() as AddressInfo).port, heard };
}

describe('the door', () => {
  test('lets through to an address on the list, plain and as a tunnel, and tells of others', async () => {
    const { port } = await server();
    const { get, tunnel, denied } = await proxied([`127.0.0.1:${port}`]);
    expect(await get(`http://127.0.0.1:${port}/`)).toBe('200 hello');
    const words = `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
    expect(await tunnel(`127.0.0.1:${port}`, words)).toMatch(/ 200 [\s\S]*hello/);
    expect(await get('http://evil.test/')).toMatch(/^403/);
    expect(await tunnel('evil.test:443')).toMatch(/ 403 /);
    expect(denied).toEqual(
      ['connect to evil.test:80', 'connect to evil.test:443'].map(
        what => `${what} (host is not on the allow list)`,
      ),
    );
  });

  test('does not take a name on the list for a way to this machine', async () => {
    const { port, heard } = await server();
    const { get, denied } = await proxied(['localhost']);
    expect(await get(`http://localhost:${port}/`)).toMatch(/^403/);
    expect([heard, denied]).toEqual([[], [`connect to localhost:${port} (its address is on this machine)`]]);
  });

  test('goes by the address, not by the host that is claimed beside it', async () => {
    const { port, heard } = await server();
    const { get } = await proxied([`127.0.0.1:${port}`]);
    await get(`http://127.0.0.1:${port}/`, { host: 'evil.test' });
    expect(heard).toEqual([`127.0.0.1:${port}`]);
  });

  test('goes through the proxy that Ralph itself must use', async () => {
    const { port } = await server();
    const net = await internet({ 'good.test': port });
    const { get, tunnel } = await proxied(['good.test'], net.url);
    expect(await get('http://good.test/')).toBe('200 hello');
    const words = `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
    expect(await tunnel('good.test:443', words)).toContain('hello');
    expect(net.asked).toEqual(['good.test:80', 'good.test:443']);
  });

  test.each(['ftp://good.test/', '/', 'https://good.test/'])('answers %j with a refusal', async path => {
    const { get } = await proxied(['good.test']);
    const asked = path === '/' ? 'http://x/' : path;
    expect(await get(asked)).toMatch(/^4/);
  });

  test.each(['good.test', ':443', 'good.test:443:1', ''])('takes %j for no target', async target => {
    const { tunnel } = await proxied(['good.test']);
    expect(await tunnel(target)).not.toContain(' 200 ');
  });
});
