/** What a worker tells those who watch over it: whether it is well, and its figures as Prometheus reads them. */
import { createServer } from 'node:http';
import type { Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import type { WorkerFigures } from './worker.ts';

/** Milliseconds without an answer of the database after which a worker is not well. */
const UNWELL_AFTER = 15_000;

export async function serveFigures(
  address: string,
  figures: () => WorkerFigures,
): Promise<{ close(): void } | Problem> {
  const match = /^(?:(\[[^\]]+\]|[^:]+):)?(\d+)$/.exec(address);
  const port = Number(match?.[2]);
  if (!match || port > 65_535)
    return { where: `--metrics ${address}`, what: 'is no address', fix: '--metrics 127.0.0.1:9464' };
  const server = createServer(({ url, method }, response) => {
    const now = figures();
    const isWell = Date.now() - now.answeredAt < UNWELL_AFTER && !now.isDraining;
    const [status, text] =
      method !== 'GET'
        ? [405, '']
        : url === '/healthz'
          ? [
              isWell ? 200 : 503,
              isWell ? 'ok\n' : now.isDraining ? 'draining\n' : 'the database does not answer\n',
            ]
          : url === '/metrics'
            ? [200, prometheus(now)]
            : [404, ''];
    response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
  });
  const host = (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, '');
  return new Promise(resolve => {
    server.once('error', error => resolve({ where: `--metrics ${address}`, what: errorWords(error) }));
    server.listen(port, host, () => resolve({ close: () => server.close() }));
  });
}

function prometheus({ busy, slots, taken, finished, lost, isDraining, answeredAt }: WorkerFigures): string {
  const rows: readonly (readonly [string, 'gauge' | 'counter', string, number])[] = [
    ['ralph_worker_slots', 'gauge', 'Units that the worker can hold at a time.', slots],
    ['ralph_worker_busy', 'gauge', 'Units that it holds.', busy],
    ['ralph_worker_units_taken_total', 'counter', 'Units that it has claimed.', taken],
    ['ralph_worker_units_finished_total', 'counter', 'Units that it has given up, done or not.', finished],
    ['ralph_worker_units_lost_total', 'counter', 'Units that another worker took over.', lost],
    ['ralph_worker_draining', 'gauge', '1 while it takes nothing more.', isDraining ? 1 : 0],
    [
      'ralph_worker_database_silence_seconds',
      'gauge',
      'Since the last answer of the database.',
      (Date.now() - answeredAt) / 1000,
    ],
  ];
  return rows
    .map(([name, type, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join('');
}
