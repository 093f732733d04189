import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  HEARTBEAT,
  isRunning,
  LEASE_TIME,
  type LeaseHolder,
  readLease,
  takeLease,
} from '../../src/store/lease.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { createRun, liveRuns } from '../../src/store/run-file.ts';
import { folder } from '../rig/repo.ts';

const pathsOf = () => runPaths(projectPaths(folder().dir), 'r');
const OTHER: LeaseHolder = { process: { pid: 1, started: 'x' }, host: 'another-machine', token: 'other' };

describe('a lease', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  test('is there while the run is driven, and gone afterwards', () => {
    const paths = pathsOf();
    const lease = takeLease(paths, () => {});
    expect(readLease(paths)).toMatchObject({ host: hostname(), process: { pid: process.pid } });
    lease.release();
    expect(existsSync(paths.live)).toBe(false);
  });

  test('is renewed by its heartbeat, and written again when somebody deletes it', () => {
    const paths = pathsOf();
    const lease = takeLease(paths, () => {});
    const holder = readLease(paths);
    utimesSync(paths.live, 0, 0);
    vi.advanceTimersByTime(HEARTBEAT);
    expect(statSync(paths.live).mtimeMs).toBeGreaterThan(Date.now() - LEASE_TIME);
    writeFileSync(paths.live, '');
    vi.advanceTimersByTime(HEARTBEAT);
    expect(readLease(paths)).toEqual(holder);
    lease.release();
  });

  test('is lost to whoever takes the run over: that is said once, and the file is theirs', () => {
    const paths = pathsOf();
    let lost = 0;
    const lease = takeLease(paths, () => lost++);
    writeFileSync(paths.live, JSON.stringify(OTHER));
    vi.advanceTimersByTime(HEARTBEAT * 3);
    lease.release();
    expect([lost, readLease(paths)]).toEqual([1, OTHER]);
  });
});

describe('who holds it', () => {
  test('on this machine is the process, however old the heartbeat', () => {
    const paths = pathsOf();
    takeLease(paths, () => {});
    utimesSync(paths.live, 0, 0);
    expect(isRunning(paths)).toBe(true);
    const { pid = 0 } = spawnSync('true');
    for (const other of [
      { pid, started: '' },
      { pid: process.pid, started: 'another' },
    ]) {
      writeFileSync(paths.live, JSON.stringify({ ...readLease(paths), process: other }));
      expect(isRunning(paths)).toBe(false);
    }
  });

  test('on another machine is whoever gave a sign of life lately', () => {
    const paths = pathsOf();
    takeLease(paths, () => {}).release();
    writeFileSync(paths.live, JSON.stringify(OTHER));
    expect(isRunning(paths)).toBe(true);
    const old = (Date.now() - LEASE_TIME - 1000) / 1000;
    utimesSync(paths.live, old, old);
    expect(isRunning(paths)).toBe(false);
  });

  test.each(['', 'nothing', '[]', 'null', '{"process":{"pid":"1"}}', '{"host":1}'])(
    'is nobody in %j',
    text => {
      const paths = pathsOf();
      takeLease(paths, () => {}).release();
      writeFileSync(paths.live, text);
      expect(readLease(paths)).toBeUndefined();
    },
  );
});

describe('a run', () => {
  test('is running while its holder lives, and what a dead holder left is cleared away', async () => {
    const project = projectPaths(folder().dir);
    const { file, paths } = createRun(project, { command: 'run', version: '', config: {}, now: 0 });
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const held = { process: { pid: child.pid, started: '' }, host: hostname(), token: 't' };
    writeFileSync(paths.live, JSON.stringify(held));
    expect(liveRuns(project).map(({ id }) => id)).toEqual([file.id]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect([isRunning(paths), liveRuns(project), existsSync(paths.live)]).toEqual([false, [], false]);
  });
});
