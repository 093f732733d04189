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
      reopened: false,
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

const PARTS: Omit<FleetView, 'units'> = { workers: [worker(1)], budgets: [], accounts: [] };

/** The line of a unit, by its words: what is in front of them is the table. */
function wordsOf(unit: Partial<Unit>, more: Partial<FleetView> = {}): string | undefined {
  const one = { ...unitOf(7, unit.state ?? 'ready'), ...unit };
  return fleetLines({ ...PARTS, ...more, units: [one] })[1]
    ?.split('  ')
    .at(-1)
    ?.trim();
}

test.each<[string, Partial<Unit>, Partial<FleetView>?]>([
  ['Task 7', { state: 'running' }],
  ['Task 7', { state: 'done', stopReason: 'all_checks_passed' }],
  ['Task 7 — out of iterations', { state: 'stopped', stopReason: 'max_iterations' }],
  [
    'Task 7 — the remote said no',
    { state: 'stopped', stopReason: 'scm_failed', detail: 'the remote said no' },
  ],
  ['Task 7 — cancelled', { state: 'cancelled', stopReason: 'cancelled' }],
  ['Task 7 — waits for unit-0001', { state: 'waiting', depends: ['unit-0001'] }],
  ['Task 7 — waits for a worker: none is running', { state: 'ready' }, { workers: [] }],
  ['Task 7 — waits for a worker: none is running', {}, { workers: [{ ...worker(1), silence: 20 }] }],
  ['Task 7 — waits for a worker with gpu: none has it', { needs: ['gpu'] }],
  ['Task 7 — waits for a worker with a newer Ralph', { minVersion: 3 }],
  ['Task 7 — waits for a free slot', {}, { workers: [{ ...worker(1), busy: 4 }] }],
  [
    'Task 7 — waits for the account claude, which is limited for another 90 s',
    {},
    { accounts: [{ id: 'claude', slots: null, limited: 89.2 }] },
  ],
  ['Task 7 — waits for a while', { state: 'parked' }],
  ['Task 7 — the remote is away', { state: 'parked', detail: 'the remote is away' }],
])('says: %s', (words, unit, more) => {
  expect(wordsOf(unit, more)).toBe(words);
});

test('an empty fleet, one without a worker, a worker that takes nothing, an account that is limited', () => {
  const lines = fleetLines({
    ...PARTS,
    units: [],
    workers: [
      { ...worker(1), draining: true },
      { ...worker(2), silence: 61 },
    ],
    accounts: [{ id: 'claude', slots: 2, limited: 12.1 }],
  });
  expect(lines).toEqual([
    'UNIT  STATE  WORKER  ITER  COST  WHAT',
    'There are no units: `ralph fleet submit loop "…" --check "…"` adds one.',
    '',
    'WORKER  BUSY  LABELS',
    'w1      1/4   claude  takes nothing more',
    'w2      1/4   claude  not seen for 61 s',
    'The account claude is limited for another 13 s.',
  ]);
  expect(fleetLines({ ...PARTS, units: [], workers: [] }).at(-1)).toBe(
    'No worker is running: start one with `ralph worker`.',
  );
});

test('what others have written into the database does nothing to the terminal', () => {
  const evil = '\u001b[2J\u001b]0;x\u0007a\nb\rc\u202e';
  const lines = fleetLines({
    units: [{ ...unitOf(1, 'stopped'), title: evil, worker: evil, detail: evil }],
    workers: [{ ...worker(1), id: evil, labels: [evil] }],
    budgets: [],
    accounts: [{ id: evil, slots: null, limited: 1 }],
  });
  for (const line of lines) expect(line).not.toMatch(/[\x00-\x1f\x7f\u202e]/);
});
