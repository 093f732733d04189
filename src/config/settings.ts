/**
 * THE table of settings. Flags, settings files, defaults, help, the JSON schema and docs/reference are views of it.
 * A new setting is one row here and one field in `Settings`.
 */
import { FAIL_ACTIONS } from '../domain/check.ts';
import type { LoopCommand } from '../domain/event.ts';
import { amount, choice, either, integer, type Kind, list, named, object, text, yesNo } from './kinds.ts';
import type { Settings } from './settings-shape.ts';

export interface Setting {
  /** Its name in settings.json. */
  readonly key: keyof Settings;
  readonly kind: Kind;
  /** One for all commands, or one for each. */
  readonly default?: unknown;
  readonly defaults?: ByCommand<unknown>;
  /** Its flag, `-s, --long <value>`, `--[no-]long` for yes or no; `…` behind it means that it may be given again. */
  readonly flag?: ByCommand<string>;
  /** Its name in a YAML file, where that is not the key in snake case, and the range there. */
  readonly yaml?: { readonly name: string; readonly kind: Kind };
  readonly help: string;
}

export type SettingsCommand = Extract<LoopCommand, 'run' | 'loop'>;
type ByCommand<Value> = Partial<Record<SettingsCommand, Value>>;
const both = (flag: string): ByCommand<string> => ({ run: flag, loop: flag });

const SECONDS = { min: 0, unit: 'seconds; 0: no limit' };
const ADAPTER_NAMES = ['claude', 'codex', 'amp', 'opencode', 'gemini', 'copilot', 'qwen', 'generic'];

const price = object({
  input: { kind: amount({ min: 0 }), required: true, help: 'Dollars for a million input tokens.' },
  output: { kind: amount({ min: 0 }), required: true, help: 'Dollars for a million output tokens.' },
  cacheRead: {
    kind: amount({ min: 0 }),
    help: 'Dollars for a million tokens read from the cache; else as input.',
  },
  cacheWrite: {
    kind: amount({ min: 0 }),
    help: 'Dollars for a million tokens written to the cache; else as input.',
  },
});

const agent = object({
  command: { kind: text(), help: 'The executable: a name on the PATH or a path.' },
  flags: { kind: list(text()), help: 'Its flags. One string with spaces is split as a shell would.' },
  model: { kind: text(), help: 'The model, given to the agent in its own way.' },
  adapter: { kind: choice(ADAPTER_NAMES), help: 'Whose stream it speaks, for a wrapper with another name.' },
  prices: { kind: named(price), help: 'Prices by model, for an agent that reports tokens only.' },
});

const guardrail = object({
  command: { kind: text(), required: true, help: 'The shell command. Exit code 0 passes.' },
  failAction: { kind: choice(FAIL_ACTIONS), help: 'What a failure does to the next prompt. Default APPEND.' },
  hint: { kind: text({ empty: true }), help: 'Guidance for the agent when it fails. Never cut.' },
  timeout: { kind: amount(SECONDS), help: 'Overrides guardrailTimeout.' },
});

const scm = object({
  command: { kind: text(), help: 'The program, such as git.' },
  tasks: { kind: list(text()), help: 'What to run, in order. commit becomes commit -am MESSAGE.' },
});

export const SETTINGS: readonly Setting[] = [
  {
    key: 'maximumIterations',
    kind: integer({ min: 1 }),
    defaults: { run: 10, loop: 25 },
    flag: { run: '-m, --maximum-iterations <n>', loop: '--max-iterations <n>' },
    yaml: { name: 'max_iterations', kind: integer({ min: 1, max: 100 }) },
    help: 'Stop after this many iterations.',
  },
  {
    key: 'completionResponse',
    kind: text(),
    default: 'DONE',
    flag: { run: '-c, --completion-response <text>' },
    help: 'What the agent says between <response> tags when it is done.',
  },
  {
    key: 'outputTruncateChars',
    kind: integer({ min: 1 }),
    default: 5000,
    help: 'How much of a failed guardrail goes into the next prompt.',
  },
  {
    key: 'streamAgentOutput',
    kind: yesNo,
    default: true,
    flag: both('--[no-]stream-agent-output'),
    help: 'Show what the agent does as it does it.',
  },
  {
    key: 'includeIterationCountInPrompt',
    kind: yesNo,
    default: false,
    help: 'Begin each prompt with "Iteration X of Y, Z remaining."',
  },
  {
    key: 'agent',
    kind: either(text(), agent),
    flag: both('--agent <name>'),
    help: 'The agent: an adapter, a command, or a name from agents. Default: the first installed of claude, codex, opencode, gemini, amp.',
  },
  { key: 'agents', kind: named(agent), default: {}, help: 'Agents by a name of your own.' },
  { key: 'model', kind: text(), flag: both('--model <model>'), help: 'The model the agent should use.' },
  {
    key: 'permissions',
    kind: choice(['skip', 'host']),
    defaults: { run: 'host', loop: 'skip' },
    flag: both('--permissions <skip|host>'),
    help: 'skip: the agent may do everything without asking. host: as the agent is configured.',
  },
  {
    key: 'guardrails',
    kind: list(guardrail),
    default: [],
    help: 'Checks that run after every agent turn; all must pass before the work counts as done.',
  },
  {
    key: 'guardrailTimeout',
    kind: amount(SECONDS),
    default: 1800,
    flag: { run: '--guardrail-timeout <seconds>' },
    help: 'End a guardrail that runs longer, with everything it started.',
  },
  {
    key: 'iterationTimeout',
    kind: amount(SECONDS),
    default: 0,
    flag: both('--iteration-timeout <seconds>'),
    help: 'End an agent turn that runs longer.',
  },
  {
    key: 'idleTimeout',
    kind: amount(SECONDS),
    default: 1800,
    flag: both('--idle-timeout <seconds>'),
    help: 'End an agent turn that prints nothing for so long.',
  },
  {
    key: 'lingerTimeout',
    kind: amount(SECONDS),
    default: 30,
    help: 'How long an agent may stay silent after it said that its turn is over.',
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
    help: 'Stop when the run has used this many tokens.',
  },
  {
    key: 'maxTime',
    kind: amount({ min: 0, unit: 'seconds' }),
    flag: both('--max-time <seconds>'),
    help: 'Stop after this much time.',
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
    defaults: { run: 0, loop: 3 },
    flag: both('--stuck-after <n>'),
    help: 'After the same failure so many times without a change the agent is told; once more, and the run stops. 0: never.',
  },
  {
    key: 'prices',
    kind: named(price),
    default: {},
    help: 'Prices by model name (or its beginning, or *), for agents that report tokens only.',
  },
  { key: 'scm', kind: scm, help: 'Source control tasks after every iteration whose guardrails pass.' },
  {
    key: 'completionTag',
    kind: text(),
    default: 'COMPLETE',
    flag: { loop: '--completion-tag <text>' },
    help: 'What the agent says between <promise> tags when it is done.',
  },
  {
    key: 'checks',
    kind: list(text()),
    default: [],
    flag: { loop: '--check <cmd>…' },
    help: 'A command that must pass; give it again for more. Exit code 0 passes.',
  },
  {
    key: 'checkTimeout',
    kind: amount(SECONDS),
    default: 120,
    flag: { loop: '--check-timeout <seconds>' },
    help: 'End a check that runs longer, with everything it started.',
  },
  {
    key: 'checkParallel',
    kind: yesNo,
    default: false,
    flag: { loop: '--check-parallel' },
    help: 'Run the checks at the same time instead of one after the other.',
  },
  {
    key: 'checkRetries',
    kind: integer({ min: 0, max: 10 }),
    default: 0,
    flag: { loop: '--check-retries <n>' },
    help: 'Run a failed check again up to so many times; one that then passes counts, and the flake is told.',
  },
  {
    key: 'baseline',
    kind: yesNo,
    default: false,
    flag: { loop: '--baseline' },
    help: 'Run the checks before the first iteration and tell the agent which were red already.',
  },
  {
    key: 'baselineUngated',
    kind: yesNo,
    default: false,
    flag: { loop: '--baseline-ungated' },
    help: 'With --baseline: a check that was red before need not pass.',
  },
  {
    key: 'protect',
    kind: list(text()),
    default: [],
    flag: { loop: '--protect <glob>…' },
    help: 'Files the agent must not change, such as test/**; what it changes there is undone before the checks run.',
  },
  {
    key: 'protectNew',
    kind: yesNo,
    default: false,
    flag: { loop: '--protect-new' },
    help: 'New files under a protected path count as changes too; they are moved aside.',
  },
];

export function defaultOf(row: Setting, command: SettingsCommand): unknown {
  return row.defaults?.[command] ?? row.default;
}

export function defaultSettings(command: SettingsCommand): Settings {
  const rows = SETTINGS.map(row => [row.key, defaultOf(row, command)]).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(rows) as Settings;
}
