/** A dashboard in this process, and requests to it as no browser would send them. */
import { readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Dashboard, type DashboardOptions, openDashboard } from '../../src/dashboard/server.ts';
import { BIN, startRalph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

export const TOKEN = 'the-token-of-this-test';

export async function serve(
  projects: readonly string[],
  port = 0,
  more: Pick<DashboardOptions, 'launch'> = {},
): Promise<Dashboard & { readonly port: number }> {
  const read = (name: string) => readFileSync(join(BIN, '../../page', name), 'utf8');
  const dashboard = await openDashboard({
    projects,
    env: process.env,
    host: '127.0.0.1',
    port,
    token: TOKEN,
    assets: { script: read('page.js'), style: read('page.css') },
    version: '0.0.0',
    ...more,
    redact: line => line.replaceAll('sk-secret-0123', '[redacted]'),
  });
  onTestFinished(() => dashboard.close());
  return { ...dashboard, port: Number(new URL(dashboard.url).port) };
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The path goes out as it is, dots and all. */
export function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body = '' }: Asked = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { port, host: '127.0.0.1', path, method, headers: { 'x-ralph-token': TOKEN, ...headers } },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

export interface Told {
  readonly id: number;
  readonly entry: { readonly seq: number; readonly type: string };
}

export interface Listening {
  readonly told: readonly Told[];
  /** Resolves when it has been told so many events. */
  until(count: number): Promise<void>;
  /** Cuts the connection, as a network does. */
  cut(): void;
}

/** Reads a stream of events as they come. */
export function listen(port: number, path: string, lastEventId?: number): Listening {
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  let buffer = '';
  const headers = {
    'x-ralph-token': TOKEN,
    ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
  };
  const asked = request({ port, host: '127.0.0.1', path, headers }, response => {
    response.setEncoding('utf8').on('data', chunk => {
      buffer += chunk;
      const events = buffer.split('\n\n');
      buffer = events.pop() ?? '';
      for (const event of events) {
        const id = /^id: (\d+)$/m.exec(event)?.[1];
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (id !== undefined && data !== undefined) told.push({ id: Number(id), entry: JSON.parse(data) });
      }
      for (const look of waiting) look();
    });
    response.on('error', () => {});
  });
  asked.on('error', () => {});
  asked.end();
  onTestFinished(() => void asked.destroy());
  return {
    told,
    cut: () => void asked.destroy(),
    until: count =>
      new Promise(resolve => {
        const look = () => {
          if (told.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

/** The data of a stream's events, one after the other. */
export async function* listenTo(port: number, path: string): AsyncGenerator<string> {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { 'x-ralph-token': TOKEN },
    signal: abort.signal,
  });
  const decoder = new TextDecoder();
  let buffer = '';
  for await (const chunk of response.body ?? []) {
    buffer += decoder.decode(chunk, { stream: true });
    const events = buffer.split('\n\n');
    buffer = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield data;
    }
  }
}

/** On a machine that has nothing but the address of the database. */
export async function dashboardOf(database: string): Promise<number> {
  const { dir: cwd } = folder('ralph-elsewhere-');
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), RALPH_DASHBOARD_TOKEN: TOKEN };
  const running = startRalph(['dashboard', '--database', database, '--json'], { cwd, env });
  let said = '';
  running.process.stdout?.on('data', chunk => {
    said += chunk;
  });
  await running.until('"url"');
  return Number(new URL(JSON.parse(said).url).port);
}
