import { defineConfig } from 'vitest/config';
import { PROMISE_IDS } from '../promises.ts';

/** Apart from `npm test`: these need the agents that `npm run hosts:install` puts into its cache. */
export default defineConfig({
  root: `${import.meta.dirname}/../..`,
  test: {
    globalSetup: ['test/rig/compiled.ts'],
    include: [process.env.RALPH_RECORD ? 'test/hosts/record.ts' : 'test/hosts/**/*.test.ts'],
    // Four turns of the slowest agent on a busy machine; nothing here waits by the clock.
    tags: PROMISE_IDS.map(name => ({ name })),
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // One more than the cores of CI: half of the time an agent waits, for a retry, a limit or a grace to pass.
    maxWorkers: 3,
    maxConcurrency: 2,
    // The columns of one page are written one after the other.
    fileParallelism: process.env.RALPH_GENERATE === undefined,
  },
});
