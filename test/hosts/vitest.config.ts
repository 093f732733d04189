import { defineConfig } from 'vitest/config';

/** Apart from `npm test`: these need the agents that `npm run hosts:install` puts into its cache. */
export default defineConfig({
  root: `${import.meta.dirname}/../..`,
  test: {
    include: ['test/hosts/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
