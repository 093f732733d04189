/** The process table where there is no /proc, as on macOS: `ps`, once for all processes. */
import * as childProcess from 'node:child_process';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  descendants,
  groupBehind,
  groupIsAlive,
  identify,
  isAlive,
} from '../../src/platform/process-table.ts';

vi.mock('node:child_process', async original => {
  const real = await original<typeof childProcess>();
  return { ...real, execFileSync: vi.fn(real.execFileSync) };
});
const platform = Object.getOwnPropertyDescriptor(process, 'platform');
const ps = vi.mocked(childProcess.execFileSync);
const calls = () => ps.mock.calls.length;

beforeEach(() => {
  Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
  ps.mockClear();
});
afterEach(() => {
  if (platform) Object.defineProperty(process, 'platform', platform);
});

test('a tree of processes is found with one call', async () => {
  const child = childProcess.spawn('/bin/sh', ['-c', 'sleep 60 & echo; wait'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = child.pid ?? 0;
  await new Promise(resolve => child.stdout.once('data', resolve));
  expect([descendants(process.pid).some(each => each.pid === pid), calls()]).toEqual([true, 1]);
  expect([groupBehind(pid), calls()]).toEqual([[], 2]);
  expect([groupIsAlive(pid), calls()]).toEqual([true, 3]);
  const itself = identify(pid);
  expect([itself && isAlive(itself), itself && isAlive({ ...itself, started: 'another time' })]).toEqual([
    true,
    false,
  ]);
  const gone = new Promise(resolve => child.once('close', resolve));
  process.kill(-pid, 'SIGKILL');
  await gone;
  const before = calls();
  expect([itself && isAlive(itself), calls() - before]).toEqual([false, 0]);
});
