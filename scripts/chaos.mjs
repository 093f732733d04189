// A campaign of the chaos suite: `npm run chaos -- --runs 500 --seed 1` kills; with `--signals TERM,INT,HUP,KILL` runs are stopped in good order.
// `--parallel` kills runs of several stories at a time; `--runs` counts the kills.
// `--fleet` kills the workers of lists of stories, at what they push; `--runs` counts the kills.
// `--forge` kills what is done for pull requests and issues, at requests to the forge; `--runs` counts those of each scenario.
// Every event of every shape as well with --every 1.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    signals: { type: 'string' },
    every: { type: 'string' },
    parallel: { type: 'boolean' },
    forge: { type: 'boolean' },
    fleet: { type: 'boolean' },
  },
});
const runs = values.runs ?? '200';
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const files = values.parallel
  ? ['test/chaos/parallel.test.ts']
  : values.forge
    ? ['test/forge/killed']
    : values.fleet
      ? ['test/chaos/fleet.test.ts']
      : values.every === undefined
        ? ['test/chaos/random.test.ts']
        : ['test/chaos'];
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--reporter=dot', ...files],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      RALPH_CHAOS_RUNS: values.signals === undefined ? runs : '0',
      RALPH_CHAOS_ORDERLY: values.signals === undefined ? '0' : runs,
      ...(values.signals !== undefined && { RALPH_CHAOS_SIGNALS: values.signals }),
      RALPH_CHAOS_PARALLEL: runs,
      RALPH_CHAOS_FORGE: runs,
      RALPH_CHAOS_FLEET: runs,
      RALPH_CHAOS_SEED: values.seed ?? '1',
      RALPH_CHAOS_EVERY: values.every ?? '7',
    },
  },
);
process.exitCode = status ?? 1;
