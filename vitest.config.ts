import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

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
 * What takes long and does not depend on the version of Node: campaigns (kills, attacks, fuzz), and what is decided in `domain/` tried through the
 * whole program. `RALPH_SUITE=core` leaves it out; docs/development.md says what CI runs where.
 */
const LENGTHY = [
  'test/{chaos,redteam}/**',
  'test/scenarios/{fuzz,simulate,mutate*,standstill,trouble,limits,deleted-folder,parallel*}.test.ts',
  'test/scenarios/{002-prd-hostile,002-prd-killed,prd-*,example-stories,proof}.test.ts',
  'test/scenarios/{001-bad-input,001-output,explain,notify,old-runs,report,replay,prune}.test.ts',
  'test/fleet/{faults,stories,up,backup}.test.ts',
  'test/bundle/**',
  'test/workspace/{worktree,diff,protect}.test.ts',
];

const exclude = [
  'test/hosts/**',
  'test/browser/**',
  'node_modules/**',
  ...(process.env.RALPH_SUITE === 'core' ? LENGTHY : []),
];

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 30_000,
    setupFiles: ['test/rig/seed.ts'],
    // Two more than cores: many tests wait for a time to pass, or for a process to end.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'units', include: [UNITS], exclude, isolate: false } },
      {
        extends: true,
        test: { name: 'programs', include: ['test/**/*.test.ts'], exclude: [...exclude, UNITS] },
      },
    ],
  },
});
