import { defineConfig } from 'vitest/config';
import { retry } from '../rig/second-tries.ts';

export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    setupFiles: ['test/rig/seed.ts'],
    reporters: ['default', './test/rig/second-tries.ts'],
    retry,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});
