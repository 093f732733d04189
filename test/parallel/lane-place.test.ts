/** What a lane has for itself: a name that databases take, and ports that nobody else has. */
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { createCheckGate } from '../../src/parallel/check-gate.ts';
import { laneSlug, openLanePlace } from '../../src/parallel/lane-place.ts';
import { stateEnv } from '../rig/repo.ts';

const RUN = '20261115-015913-k3f9';

async function placeOf(env: Record<string, string>, lane: string, index = 0) {
  const place = await openLanePlace(env, { run: RUN, lane, index });
  if (isProblem(place)) throw new Error(place.what);
  return { ...place, port: Number(place.env.RALPH_PORT) };
}

test.each([
  ['US-001', 0, 'r20261115015913k3f9n0us001'],
  ['us001', 1, 'r20261115015913k3f9n1us001'],
  ['Ünï/cödé "; drop', 2, 'r20261115015913k3f9n2ncddrop'],
  ['x'.repeat(200), 3, `r20261115015913k3f9n3${'x'.repeat(27)}`],
])('the name of the lane %s', (lane, index, slug) => {
  expect(laneSlug({ run: RUN, lane, index })).toBe(slug);
});

describe('ports', () => {
  test('of two lanes are ten each, and not the same', async () => {
    const env = stateEnv();
    const places = await Promise.all(['A', 'B', 'C'].map((lane, at) => placeOf(env, lane, at)));
    const ports = new Set(places.map(({ port }) => port));
    expect(ports.size).toBe(3);
    for (const port of ports) expect(port % 10).toBe(0);
    for (const { release } of places) release();
  });

  test('of a lane that comes back are the same', async () => {
    const env = stateEnv();
    const first = await placeOf(env, 'A');
    expect((await placeOf(env, 'A')).port, 'it is there already').not.toBe(first.port);
    first.release();
    expect((await placeOf(env, 'A')).port).toBe(first.port);
  });

  test.each(['127.0.0.1', '0.0.0.0'])('on which somebody listens (%s) are left out', async host => {
    const env = stateEnv();
    const { port, release } = await placeOf(env, `listened on ${host}`);
    release();
    const server = createServer();
    await new Promise<void>(resolve => server.listen(port + 9, host, resolve));
    expect((await placeOf(env, `listened on ${host}`)).port).not.toBe(port);
    server.close();
  });
});

test('a round that runs alone begins when the others have ended, and others wait for it', async () => {
  const gate = createCheckGate();
  const told: string[] = [];
  let end = () => {};
  const first = gate.beside(async () => {
    told.push('first');
    await new Promise<void>(resolve => {
      end = resolve;
    });
    told.push('first ends');
  });
  const alone = gate.alone(async () => void told.push('alone'));
  const last = gate.beside(async () => void told.push('last'));
  end();
  await Promise.all([first, alone, last]);
  expect(told).toEqual(['first', 'first ends', 'alone', 'last']);
  await expect(gate.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.beside(async () => 'open again')).toBe('open again');
});
