import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { retry } from './test/rig/second-tries.ts';

/** Tests of functions leave nothing behind in their process, so that a worker can go through many files without starting anew. */
const UNITS =
  'test/{agents,dashboard,domain,engine,guard,mutation,opening,page,platform,plugins,report,sandbox,store,turns,workspace}/**/*.test.ts';

/** The longest first: a long file that starts last keeps one core waiting for the other. */
const LONG = [
  ...['redteam/git', 'redteam/checks', 'redteam/reviews', 'redteam/processes', 'chaos/random'],
  ...[
    'fleet/up',
    'chaos/',
    'scenarios/simulate',
    'scenarios/004-loop',
    'scenarios/standstill',
    'scenarios/resume',
  ],
  ...[
    'scenarios/fuzz',
    'scenarios/hangs',
    'scenarios/trouble',
    'scenarios/002-prd',
    'hooks/',
    'workspace/tree-state',
  ],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex(part => moduleId.includes(`/test/${part}`));
      return at === -1 ? LONG.length : at;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/**
 * What depends on the version of Node: functions, and of the whole program how it starts, runs, is stopped, resumed and called. The rest is
 * tried on one version, where it takes most of the time. `RALPH_SUITE=core` runs these; docs/development.md says what CI runs where.
 */
const CORE = [
  'test/{library,package,consumer}*.test.ts',
  'test/library/**/*.test.ts',
  'test/scenarios/{001-demo,001-run,001-signals,resume,interrupt,hangs,keys}.test.ts',
  'test/hooks/stop.test.ts',
  'test/fleet/worker.test.ts',
];
/** They start git, over and over, and git is the same for every version of Node. */
const GIT = 'test/workspace/**';
const isCore = process.env.RALPH_SUITE === 'core';

const exclude = ['test/hosts/**', 'test/browser/**', 'node_modules/**'];

export default defineConfig({
  test: {
    // Far longer than any test takes: what hangs fails, and what is slow on a busy machine does not.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    setupFiles: ['test/rig/seed.ts'],
    reporters: ['default', './test/rig/second-tries.ts'],
    retry,
    // Two more than cores: many tests wait for a time to pass, or for a process to end.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: [UNITS],
          exclude: [...exclude, ...(isCore ? [GIT] : [])],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          include: isCore ? CORE : ['test/**/*.test.ts'],
          exclude: [...exclude, UNITS],
        },
      },
    ],
  },
});
