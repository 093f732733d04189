/** What must pass, and what must not be changed. */
import { FAIL_ACTIONS } from '../../domain/checks/check.ts';
import { choice, duration, integer, list, object, text, yesNo } from '../kinds.ts';
import { both, NO_LIMIT, type Setting } from '../setting.ts';

const guardrail = object({
  command: { kind: text(), required: true, help: 'The shell command. Exit code 0 passes.' },
  failAction: { kind: choice(FAIL_ACTIONS), help: 'What a failure does to the next prompt. Default APPEND.' },
  hint: { kind: text({ empty: true }), help: 'Guidance for the agent when it fails. Never cut.' },
  timeout: { kind: duration(NO_LIMIT), help: 'Overrides checkTimeout and guardrailTimeout.' },
});

export const CHECKS = [
  {
    key: 'guardrails',
    kind: list(guardrail),
    default: [],
    help: 'Checks of every loop, with what a failure does to the next prompt: all must pass before the work counts as done.',
  },
  {
    key: 'guardrailTimeout',
    kind: duration(NO_LIMIT),
    flag: { run: '--guardrail-timeout <duration>' },
    help: 'checkTimeout for those of guardrails alone.',
  },
  {
    key: 'checks',
    kind: list(text()),
    default: [],
    flag: both('--check <cmd>…'),
    help: 'A command that must pass: exit code 0; those of the settings count too. Give it again for more.',
  },
  {
    key: 'checkTimeout',
    kind: duration(NO_LIMIT),
    default: 600,
    flag: both('--check-timeout <duration>'),
    help: 'End a check that runs longer, with everything it started.',
  },
  {
    key: 'checkParallel',
    kind: yesNo,
    default: false,
    flag: { loop: '--check-parallel', prd: '--check-parallel' },
    help: 'Run the checks at the same time instead of one after the other.',
  },
  {
    key: 'checkRetries',
    kind: integer({ min: 0, max: 10 }),
    default: 0,
    flag: { loop: '--check-retries <n>', prd: '--check-retries <n>' },
    help: 'Run a failed check again up to so many times; one that then passes counts as green and is reported as flaky.',
  },
  {
    key: 'baseline',
    kind: yesNo,
    default: false,
    flag: { loop: '--baseline', prd: '--baseline' },
    help: 'Run the checks before the first iteration, and list in the prompt which of them failed.',
  },
  {
    key: 'baselineUngated',
    kind: yesNo,
    default: false,
    flag: { loop: '--baseline-ungated' },
    help: 'With --baseline: a check that failed before the first iteration need not pass.',
  },
  {
    key: 'protect',
    kind: list(text()),
    default: [],
    flag: both('--protect <glob>…'),
    help: 'Files the agent must not change, such as test/**; its changes there are undone before the checks run.',
  },
  {
    key: 'protectNew',
    kind: yesNo,
    default: false,
    flag: both('--protect-new'),
    help: 'New files under a protected path count as changes too; they are moved aside.',
  },
  {
    key: 'only',
    kind: list(text()),
    default: [],
    flag: both('--only <glob>…'),
    help: 'The paths that the run may change, such as src/**; everything else is protected, and new files there are moved aside.',
  },
  {
    key: 'proof',
    kind: choice(['place', 'clean', 'sealed']),
    default: 'place',
    flag: both('--proof <place|clean|sealed>'),
    help: 'clean: before a run is done, every check passes once more in a clean checkout of what is handed over. sealed: that with --only and --strict, in a sandbox: it holds against an agent that looks for a way.',
  },
  {
    key: 'setup',
    kind: text(),
    flag: both('--setup <cmd>'),
    help: 'The command that makes a fresh checkout ready, such as npm ci: for --proof clean and new worktrees.',
  },
  {
    key: 'setupTimeout',
    kind: duration(NO_LIMIT),
    default: 600,
    flag: both('--setup-timeout <duration>'),
    help: 'End the setup command when it runs longer.',
  },
  {
    key: 'laneSetup',
    kind: text(),
    help: 'With --parallel, --best-of and on a fleet: the command that makes what a lane has for itself, such as createdb $RALPH_LANE. Once a lane, in its worktree.',
  },
  {
    key: 'laneTeardown',
    kind: text(),
    help: 'The command that takes it away when the lane is over, such as dropdb $RALPH_LANE. In the project, also after a kill, when the run is resumed.',
  },
  {
    key: 'strict',
    kind: yesNo,
    default: false,
    flag: both('--strict'),
    help: 'A change to what the checks rest on, such as the test script in package.json, voids the proof instead of being reported only; a review counts only when it is said.',
  },
  {
    key: 'mutate',
    kind: yesNo,
    default: false,
    flag: { loop: '--mutate', prd: '--mutate' },
    help: 'Before a run is done, put faults into the lines it changed, in copies, and tell the agent once which of them no check notices.',
  },
  {
    key: 'mutateMax',
    kind: integer({ min: 1 }),
    default: 60,
    flag: { loop: '--mutate-max <n>', prd: '--mutate-max <n>' },
    help: 'Try at most so many faults.',
  },
  {
    key: 'mutateTime',
    kind: duration(''),
    default: 600,
    flag: { loop: '--mutate-time <duration>', prd: '--mutate-time <duration>' },
    help: 'Take at most so long for them.',
  },
  {
    key: 'mutateMin',
    kind: integer({ min: 0, max: 100, unit: 'percent' }),
    flag: { loop: '--mutate-min <percent>', prd: '--mutate-min <percent>' },
    help: 'The run is not done before the checks notice so many of the faults. Switches --mutate on.',
  },
] as const satisfies readonly Setting[];
