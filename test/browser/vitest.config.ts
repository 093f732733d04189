import { defineConfig } from 'vitest/config';
import { PROMISE_IDS } from '../promises.ts';

export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    globalSetup: ['test/rig/places.ts', 'test/rig/compiled.ts'],
    setupFiles: ['test/rig/seed.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    tags: PROMISE_IDS.map(name => ({ name })),
    maxWorkers: 1,
  },
});
