/**
 * THE table of settings. Flags, settings files, defaults, help, the JSON schema and docs/reference are views of it.
 * A new setting is one row here and one field in `Settings`.
 */
import { type Check, FAIL_ACTIONS } from '../domain/check.ts';
import type { PriceTable } from '../domain/usage.ts';
import { amount, choice, either, integer, type Kind, list, named, object, text, yesNo } from './kinds.ts';

export interface Setting {
  /** Its name in settings.json. */
  readonly key: keyof Settings;
  readonly kind: Kind;
  readonly default?: unknown;
  /** Its flag on the commands that take it, `-s, --long <value>`, or `--[no-]long` for true or false. */
  readonly flag?: string;
  readonly help: string;
}

export interface AgentSettings {
  readonly command?: string;
  readonly flags?: readonly string[];
  readonly model?: string;
  /** Which agent's stream it speaks, for a wrapper with another name. */
  readonly adapter?: string;
  readonly prices?: PriceTable;
}

export interface GuardrailSettings {
  readonly command: string;
  readonly failAction?: Check['failAction'];
  readonly hint?: string;
  readonly timeout?: number;
}

export interface ScmSettings {
  readonly command?: string;
  readonly tasks?: readonly string[];
}

export interface Settings {
  readonly maximumIterations: number;
  readonly completionResponse: string;
  readonly outputTruncateChars: number;
  readonly streamAgentOutput: boolean;
  readonly includeIterationCountInPrompt: boolean;
  readonly agent?: string | AgentSettings;
  readonly agents: Readonly<Record<string, AgentSettings>>;
  readonly model?: string;
  readonly permissions: 'skip' | 'host';
  readonly guardrails: readonly GuardrailSettings[];
  readonly guardrailTimeout: number;
  readonly iterationTimeout: number;
  readonly idleTimeout: number;
  readonly lingerTimeout: number;
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly maxTime?: number;
  readonly maxFailures: number;
  readonly prices: PriceTable;
  readonly scm?: ScmSettings;
}

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
    default: 10,
    flag: '-m, --maximum-iterations <n>',
    help: 'Stop after this many iterations.',
  },
  {
    key: 'completionResponse',
    kind: text(),
    default: 'DONE',
    flag: '-c, --completion-response <text>',
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
    flag: '--[no-]stream-agent-output',
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
    flag: '--agent <name>',
    help: 'The agent: an adapter, a command, or a name from agents. Default: the first installed of claude, codex, opencode, gemini, amp.',
  },
  { key: 'agents', kind: named(agent), default: {}, help: 'Agents by a name of your own.' },
  { key: 'model', kind: text(), flag: '--model <model>', help: 'The model the agent should use.' },
  {
    key: 'permissions',
    kind: choice(['skip', 'host']),
    default: 'host',
    flag: '--permissions <skip|host>',
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
    flag: '--guardrail-timeout <seconds>',
    help: 'End a guardrail that runs longer, with everything it started.',
  },
  {
    key: 'iterationTimeout',
    kind: amount(SECONDS),
    default: 0,
    flag: '--iteration-timeout <seconds>',
    help: 'End an agent turn that runs longer.',
  },
  {
    key: 'idleTimeout',
    kind: amount(SECONDS),
    default: 1800,
    flag: '--idle-timeout <seconds>',
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
    flag: '--max-cost <usd>',
    help: 'Stop when the run has cost this much.',
  },
  {
    key: 'maxTokens',
    kind: integer({ min: 1 }),
    flag: '--max-tokens <n>',
    help: 'Stop when the run has used this many tokens.',
  },
  {
    key: 'maxTime',
    kind: amount({ min: 0, unit: 'seconds' }),
    flag: '--max-time <seconds>',
    help: 'Stop after this much time.',
  },
  {
    key: 'maxFailures',
    kind: integer({ min: 1 }),
    default: 3,
    help: 'Give up after this many failed agent turns in a row.',
  },
  {
    key: 'prices',
    kind: named(price),
    default: {},
    help: 'Prices by model name (or its beginning, or *), for agents that report tokens only.',
  },
  { key: 'scm', kind: scm, help: 'Source control tasks after every iteration whose guardrails pass.' },
];

export function defaultSettings(): Settings {
  const rows = SETTINGS.filter(row => row.default !== undefined).map(row => [row.key, row.default]);
  return Object.fromEntries(rows) as Settings;
}
