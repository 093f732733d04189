/** When to stop, and when to give up. */
import { amount, choice, duration, integer } from '../kinds.ts';
import { both, NO_LIMIT, type Setting } from '../setting.ts';

export const LIMITS = [
  {
    key: 'maximumIterations',
    kind: integer({ min: 1 }),
    defaults: { run: 10, loop: 25, prd: 15 },
    flag: {
      run: '-m, --maximum-iterations <n>',
      loop: '--max-iterations <n>',
      prd: '-n, --max-iterations <n>',
    },
    yaml: { name: 'max_iterations', kind: integer({ min: 1, max: 100 }) },
    help: 'Stop after this many iterations.',
  },
  {
    key: 'maxCost',
    kind: amount({ min: 0, unit: 'dollars' }),
    flag: both('--max-cost <usd>'),
    help: 'Stop when the run has cost this much.',
  },
  {
    key: 'maxTokens',
    kind: integer({ min: 1 }),
    flag: both('--max-tokens <n>'),
    help: 'Stop when the run has used this many tokens: 500000, 500k, 2M.',
  },
  {
    key: 'maxTime',
    kind: duration(''),
    flag: both('--max-time <duration>'),
    help: 'Stop after this much time.',
  },
  {
    key: 'iterationTimeout',
    kind: duration(NO_LIMIT),
    default: 0,
    flag: both('--iteration-timeout <duration>'),
    help: 'End an agent turn that runs longer.',
  },
  {
    key: 'idleTimeout',
    kind: duration(NO_LIMIT),
    default: 1800,
    flag: both('--idle-timeout <duration>'),
    help: 'End an agent turn that prints nothing for this long.',
  },
  {
    key: 'lingerTimeout',
    kind: duration(NO_LIMIT),
    default: 30,
    help: 'How long an agent may keep running without output after it reported the end of its turn.',
  },
  {
    key: 'maxWait',
    kind: duration('0: never'),
    default: 21_600,
    flag: both('--max-wait <duration>'),
    help: 'The longest wait for a rate limit to pass. The wait counts towards --max-time.',
  },
  {
    key: 'maxRetries',
    kind: integer({ min: 0 }),
    default: 5,
    help: 'How often an iteration is retried after a transient error or an empty reply. Rate limits do not count here.',
  },
  {
    key: 'maxFailures',
    kind: integer({ min: 1 }),
    default: 3,
    help: 'Give up after this many failed agent turns in a row.',
  },
  {
    key: 'stuckAfter',
    kind: integer({ min: 0 }),
    default: 3,
    flag: both('--stuck-after <n>'),
    help: 'Warn the agent after the same failure so many times without a change to the files; stop after one more. 0: never; then the next three settings are 0 too, unless they are set.',
  },
  {
    key: 'unchangedAfter',
    kind: integer({ min: 0 }),
    default: 5,
    offWith: 'stuckAfter',
    help: 'Warn the agent after so many iterations in a row that changed no file; stop as stuck after three more. 0: never.',
  },
  {
    key: 'thrashingAfter',
    kind: integer({ min: 0 }),
    default: 6,
    offWith: 'stuckAfter',
    help: 'Warn the agent after so many iterations in a row that changed the files back and forth between two states; stop as stuck after two more. 0: never.',
  },
  {
    key: 'costlyAfter',
    kind: integer({ min: 0 }),
    defaults: { run: 10, loop: 10, prd: 0 },
    offWith: 'stuckAfter',
    help: 'Warn the agent after so many iterations without a further green check, if the second half of them cost at least 50 % more than the first; stop as stuck after five more. 0: never.',
  },
  {
    key: 'keep',
    kind: choice(['best', 'last']),
    default: 'best',
    flag: { loop: '--keep <what>', prd: '--keep <what>' },
    help: 'best: go back to the files of the best iteration when those after it ended worse, and leave them when the run ends unfinished. last: never go back.',
  },
  {
    key: 'patience',
    kind: integer({ min: 0 }),
    default: 2,
    flag: { loop: '--patience <n>', prd: '--patience <n>' },
    help: 'With --keep best: go back after so many iterations in a row that ended worse than the best. 0: only when the run ends.',
  },
] as const satisfies readonly Setting[];
