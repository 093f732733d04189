import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { folder } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';
import { ask, listen, listenTo, serve } from './serve.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

test('every event is told once, in order, with its number, as it is written', async () => {
  const { dir } = folder();
  const run = writeRun(dir, { iterations: 2 });
  const { port } = await serve([dir]);
  const stream = listen(port, `/api/0/${run.id}/events`);
  const before = linesOf(run.paths.events);
  await stream.until(before);
  run.iterate();
  run.end('max_iterations');
  const after = linesOf(run.paths.events);
  expect(after).toBeGreaterThan(before);
  await stream.until(after);
  expect(stream.told.map(({ id }) => id)).toEqual(upTo(after));
  expect(stream.told.map(({ entry }) => entry.seq)).toEqual(upTo(after));
  expect(stream.told.at(-1)?.entry.type).toBe('run-ended');
});

test('a reader that was cut off, and a server that was started again, miss nothing and double nothing', async () => {
  const { dir } = folder();
  const run = writeRun(dir, { iterations: 1 });
  const first = await serve([dir]);
  const told: number[] = [];
  const hear = async (port: number, count: number) => {
    const stream = listen(port, `/api/0/${run.id}/events`, told.at(-1));
    await stream.until(count);
    stream.cut();
    told.push(...stream.told.map(({ id }) => id));
  };
  await hear(first.port, 5);
  run.iterate();
  await hear(first.port, 3);
  await first.close();
  run.iterate();
  const second = await serve([dir], first.port);
  await hear(second.port, linesOf(run.paths.events) - told.length);
  expect(told).toEqual(upTo(linesOf(run.paths.events)));
});

test('a page goes on from what the server has folded', async () => {
  const { dir } = folder();
  const run = writeRun(dir, { iterations: 3 });
  const { port } = await serve([dir]);
  const { view, since, state } = JSON.parse((await ask(port, `/api/0/${run.id}`)).body);
  expect([view.iterations.length, view.seq, state]).toEqual([3, linesOf(run.paths.events), 'running']);
  const stream = listen(port, `/api/0/${run.id}/events?after=${since - 1}`);
  await stream.until(1);
  expect(stream.told[0]?.entry).toMatchObject({ type: 'iteration-started', iteration: 3 });
});

test('a ledger that was put back after somebody deleted it is told on from where it was', async () => {
  const { dir } = folder();
  const run = writeRun(dir, { iterations: 1 });
  const { port } = await serve([dir]);
  const stream = listen(port, `/api/0/${run.id}/events`);
  const before = linesOf(run.paths.events);
  await stream.until(before);
  const content = readFileSync(run.paths.events, 'utf8');
  rmSync(run.paths.events);
  writeFileSync(
    `${run.paths.events}.new`,
    `${content}${content
      .trimEnd()
      .split('\n')
      .at(-1)
      ?.replace(/"seq":\d+/, `"seq":${before + 1}`)}\n`,
  );
  renameSync(`${run.paths.events}.new`, run.paths.events);
  await stream.until(before + 1);
  expect(stream.told.map(({ id }) => id)).toEqual(upTo(before + 1));
});

function linesOf(path: string): number {
  return readFileSync(path, 'utf8').trimEnd().split('\n').length;
}

test('the list of runs is told again when a run begins, goes on or ends', async () => {
  const { dir } = folder();
  const first = writeRun(dir, { iterations: 1, ends: 'stuck', start: Date.parse('2026-03-01T10:00:00Z') });
  const { port } = await serve([dir]);
  const list = listenTo(port, '/api/runs');
  const states = async (wanted: string) => {
    for (;;) {
      const { value = '[]' } = await list.next();
      const told = JSON.parse(value)[0]?.runs.map((run: { id: string; now: string; iteration: number }) => [
        run.id,
        run.now,
        run.iteration,
      ]);
      if (JSON.stringify(told)?.includes(wanted)) return told;
    }
  };
  expect(await states('stopped')).toEqual([[first.id, 'stopped', 1]]);
  const second = writeRun(dir, { iterations: 1, start: Date.parse('2026-03-02T10:00:00Z') });
  expect(await states('running')).toEqual([
    [second.id, 'running', 1],
    [first.id, 'stopped', 1],
  ]);
  second.iterate();
  second.end('all_checks_passed');
  expect(await states('done')).toEqual([
    [second.id, 'done', 2],
    [first.id, 'stopped', 1],
  ]);
});
