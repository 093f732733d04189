/** What `ralph fleet status` prints of a fleet of any size. */
import { expect, test } from 'vitest';
import { fleetLines } from '../../src/cli/commands/fleet/status.ts';
import type { Unit, UnitState } from '../../src/fleet/unit.ts';
import type { FleetView } from '../../src/fleet/view.ts';

function unitOf(number: number, state: UnitState): Unit {
  const id = `unit-${String(number).padStart(4, '0')}`;
  const ended = ['done', 'stopped'].includes(state) ? new Date(number) : null;
  return {
    ...{ id, kind: 'loop', parent: null, title: `Task ${number}`, owner: 'ada', repoUrl: '/r', base: 'f' },
    ...{ config: { flags: {} }, needs: [], account: 'claude', budget: null, priority: 0, depends: [] },
    ...{
      minVersion: 1,
      state,
      fence: 1,
      worker: state === 'running' ? 'w1' : null,
      takeovers: 0,
      cancel: null,
    },
    ...{ carry: null, carryFence: null, headSha: null, stopReason: null, detail: null, cost: null },
    ...{ iterations: 1, readyAt: null, submittedAt: new Date(number), startedAt: null, endedAt: ended },
  };
}

const STATES = (at: number): UnitState =>
  at < 900 ? 'done' : at === 900 ? 'stopped' : at < 905 ? 'running' : 'ready';
const worker = (at: number) => ({
  ...{
    id: `w${at}`,
    labels: ['claude'],
    repos: [],
    version: 2,
    slots: 4,
    busy: 1,
    draining: false,
    silence: 0,
  },
});
const view = (workers: number): FleetView => ({
  units: Array.from({ length: 1_000 }, (_, at) => unitOf(at, STATES(at))),
  workers: Array.from({ length: workers }, (_, at) => worker(at)),
  budgets: [],
  accounts: [],
});

test('of 1,000 units as many lines as fit: what is worked on and what needs somebody first, the rest counted', () => {
  const lines = fleetLines(view(40), 23);
  expect(lines).toHaveLength(23);
  expect(lines.slice(1, 6).map(line => line.split(/ +/, 2))).toEqual([
    ['unit-0904', 'running'],
    ['unit-0903', 'running'],
    ['unit-0902', 'running'],
    ['unit-0901', 'running'],
    ['unit-0900', 'stopped'],
  ]);
  expect(lines.join('\n')).toMatch(
    /\n\d+ of 1,?000 units: 4 running, 1 stopped, 95 ready, 900 done\. `ralph fleet status` lists them all\.\n/,
  );
  expect(lines.at(-1)).toBe('5 of 40 workers, which have 40/160 units.');
});

test('all of them where nobody watches', () => {
  expect(fleetLines(view(3))).toHaveLength(1_000 + 1 + 1 + 4);
});
