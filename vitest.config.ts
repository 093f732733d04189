import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PROMISE_IDS } from './test/promises.ts';

/**
 * Three levels, by name: docs/development.md says what each proves, and when.
 * - `npm test` (`RALPH_LEVEL=quick`): every test of a function, and of those that run programs the ones that hold a promise of the contract.
 * - `npm run test:all`: all of them; first those of `npm test`, then the rest (`RALPH_LEVEL=rest`).
 * - `npm run campaign`: all of them, with more kills, attacks and examples (test/rig/thorough.ts).
 */
const level = process.env.RALPH_LEVEL;
const isQuick = level === 'quick';
/** What depends on the version of Node, for the other versions in CI. */
const isCore = process.env.RALPH_SUITE === 'core';

/** Tests of functions leave nothing behind in their process, so that a worker can go through many files without starting anew. */
const UNITS = new RegExp(
  [
    'agents|config|domain|guard|library/sim|mutation|opening|page|parallel|platform|report|run|store',
    'dashboard/(access|session|stream)',
    'fleet/(artifacts|database-url|examples|programs|unit)',
    'hooks/(arguments|story-stop|tool-calls)',
    'ledgers/prefix|sandbox/proxy|workspace/(lock|propose-checks|snapshot)|(architecture|docs|words)\\.test',
  ].join('|'),
);
/** Of these what starts the program, or git, again and again. */
const PROGRAMS =
  /agents\/(opencode-)?plugin|platform\/code-cache|mutation\/(commit|narrow)|report\/damaged-ledger/;

/**
 * What depends on the version of Node: functions, and of the whole program how it starts, runs, is stopped, resumed and called. The rest is
 * tried on one version, where it takes most of the time: docs/development.md says what CI runs where.
 */
const CORE =
  /^(library|package|consumer)|scenarios\/(001-demo|001-run|001-signals|resume|interrupt|hangs|keys)\.|hooks\/stop|fleet\/worker/;

/** A test that runs a program and holds a promise of the contract says so: `{ tags: ['promise', 'P-json'] }`. */
const PROMISE = 'promise';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => name.endsWith('.test.ts') && !/^(hosts|browser)\//.test(name));
const isUnit = (name: string) => new RegExp(`^(${UNITS.source})`).test(name) && !PROGRAMS.test(name);
/** A file costs a process of its own, whatever is run in it: so only those with such a test. Of the red team the first of each class is one. */
const isPromise = (name: string) =>
  /tags: \[?\s*'promise'|^attacks\(/m.test(readFileSync(`test/${name}`, 'utf8'));
const isWanted = (name: string) => (!isCore || CORE.test(name)) && (!isQuick || isPromise(name));
const paths = (names: readonly string[]) => names.map(name => `test/${name}`);

/** The longest first: a long file that starts last keeps one core waiting for the other. */
const LONG = [
  ...['repositories/kinds', 'redteam/', 'fleet/', 'chaos/', 'repositories/', 'forge/'],
  ...['scenarios/simulate', 'scenarios/parallel', 'scenarios/best', 'scenarios/002-prd', 'scenarios/prd'],
  ...['scenarios/mutate', 'scenarios/resume', 'scenarios/fuzz', 'scenarios/hangs', 'scenarios/trouble'],
  ...['first-hour', 'package', 'generated', 'workspace/', 'hooks/'],
];

class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex(part => moduleId.includes(`/test/${part}`));
      return at === -1 ? LONG.length : at;
    };
    const sorted = specs.toSorted((a, b) => rank(a) - rank(b));
    // Those of the fleet wait for most of their time, for leases and beats to pass: two of them side by side leave a core idle.
    const waiting = sorted.filter(({ moduleId }) => moduleId.includes('/test/fleet/'));
    const others = sorted.filter(spec => !waiting.includes(spec));
    return [
      ...others.flatMap((spec, at) => [spec, ...waiting.slice(at, at + 1)]),
      ...waiting.slice(others.length),
    ];
  }
}

const UNIT_TESTS = {
  extends: true as const,
  test: { name: 'units', include: paths(files.filter(isUnit)), isolate: false },
};

export default defineConfig({
  test: {
    // Far longer than any test takes: what hangs fails, and what is slow on a busy machine does not.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    globalSetup: ['test/rig/places.ts', 'test/rig/compiled.ts'],
    setupFiles: ['test/rig/seed.ts'],
    tags: [
      { name: PROMISE, description: 'Runs a program, and holds a promise of the contract.' },
      ...PROMISE_IDS.map(name => ({ name })),
    ],
    // More than the cores of CI: many tests wait for a time to pass, or for a process to end.
    maxWorkers: level === 'rest' ? 5 : 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      ...(level === 'rest' ? [] : [UNIT_TESTS]),
      {
        extends: true,
        test: {
          name: 'programs',
          include: paths(files.filter(name => !isUnit(name) && isWanted(name))),
          // A few tests of many files: most of the time would go into starting workers.
          ...(isQuick && { tagsFilter: [PROMISE], isolate: false }),
          ...(level === 'rest' && { tagsFilter: [`!${PROMISE}`] }),
        },
      },
    ],
  },
});
