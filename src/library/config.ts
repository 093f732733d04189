/** What the calls of the library take. Every field but what to do may be left out: then the settings files of the project count, as on the command line. */
import type { AgentSettings, Settings } from '../config/settings-shape.ts';
import type { CheckFunction, FailAction } from '../domain/checks/check.ts';
import type { RecordedEvent } from '../domain/run/event.ts';
import type { IterationResult } from '../domain/run/result.ts';
import { formatProblem, type Problem } from '../domain/text/problem.ts';
import type { Clock } from '../platform/clock.ts';
import type { FunctionAgent } from '../run/turns/define-agent.ts';
import type { AdapterAgent } from './define-adapter.ts';
import type { StopCondition } from './stop-when.ts';

/** Any part of a value: objects merge with what is below them, lists replace it. */
export type DeepPartial<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> | undefined }
    : Value;

/** A check that is a command, with more to say of it. */
export interface CommandCheck {
  /** Run by the shell; exit code 0 passes. */
  readonly command: string;
  /** What the agent gets to read when it fails. */
  readonly hint?: string;
  /** Seconds after which it is ended and has failed. */
  readonly timeout?: number;
  /** What its failure does to the next prompt of `runPrompt`. */
  readonly failAction?: FailAction;
}

/** A check that is a function, under a name. */
export interface FunctionCheck extends Omit<CommandCheck, 'command'> {
  /** How people and the agent know it; no other check has it. */
  readonly name: string;
  /** Runs in the program itself, outside of any sandbox. */
  readonly check: CheckFunction;
}

/** A command, or a function; a function without a name of its own is called by its position. */
export type CheckInput = string | CheckFunction | CommandCheck | FunctionCheck;

/** What all runs can be given. */
export interface RunConfig {
  /** Instead of those of the settings. All must pass. */
  readonly checks?: readonly CheckInput[];
  readonly maxIterations?: number;
  /** Dollars. Refused with an agent that reports no cost. */
  readonly maxCost?: number;
  readonly maxTokens?: number;
  /** Seconds. */
  readonly maxTime?: number;
  /** An adapter, a command, or a name from the settings. */
  readonly agent?: string | AgentSettings;
  readonly model?: string;
  /** Globs of files that the agent may not change. */
  readonly protect?: readonly string[];
  /** Any other setting of docs/reference/settings.md, laid over those of the files. */
  readonly settings?: DeepPartial<Settings>;
}

/** `ralph run`: a prompt, given to the agent anew until it says that it is done and every check passes. */
export interface PromptConfig extends RunConfig {
  /** This or `promptFile`. */
  readonly prompt?: string;
  /** Read anew for every iteration. */
  readonly promptFile?: string;
  /** What the agent says in `<response>…</response>` when it is done; default: DONE, and `<promise>COMPLETE</promise>` counts too. */
  readonly completionResponse?: string;
}

/** `ralph loop`: a task, a clean context each time, and checks that must all pass. */
export interface LoopConfig extends RunConfig {
  /** What to do; this, `specFile` or `tasksFile`. */
  readonly task?: string;
  /** A file that says what to do. */
  readonly specFile?: string;
  /** A Markdown list of tasks, each worked on for itself; `settings.parallel` says how many at a time. */
  readonly tasksFile?: string;
  /** What the agent says in `<promise>…</promise>` when it is done; default: COMPLETE, and `<response>DONE</response>` counts too. */
  readonly completionTag?: string;
  /** true, or the name of the worktree. */
  readonly worktree?: boolean | string;
}

/** `ralph prd run`: a list of stories, each built and reviewed with a fresh context. */
export interface StoriesConfig extends RunConfig {
  /** The folder of `tasks.json` in the project; default: ralph. */
  readonly ralphDir?: string;
  readonly completionTag?: string;
  /** true, or the name of the worktree. */
  readonly worktree?: boolean | string;
  /** Take the list as it is, with what it calls approved. */
  readonly trustTasks?: boolean;
}

/** What a run that is resumed can be given anew. What a program gave it when it began must be given again. */
export interface ResumeConfig
  extends Pick<
    RunConfig,
    'checks' | 'maxIterations' | 'maxCost' | 'maxTokens' | 'maxTime' | 'agent' | 'model'
  > {
  /** The run, or part of its id; without it the latest that can be resumed. */
  readonly run?: string;
  /** Resume although the settings, or the ledger, have changed since. */
  readonly acceptChanges?: boolean;
}

/** Around a run: who works, where, who listens, and what stops it. */
export interface RunOptions {
  /** An agent that is a function, or a command line of your own; it wins over `agent` of the configuration. */
  readonly agent?: FunctionAgent | AdapterAgent;
  /** A folder of the project; default: the current one. */
  readonly cwd?: string;
  /** Instead of the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Ends the run at once: its stop reason is `cancelled`, its detail the reason of the signal. */
  readonly signal?: AbortSignal;
  /** Asked after each iteration that does not end the run. The first that holds stops it: the stop reason is `cancelled`, the detail says which. */
  readonly stopWhen?: StopCondition | readonly StopCondition[];
  /** Sees every event once it is on the ledger. One that throws ends the run, and the call rejects with its error. */
  onEvent?(event: RecordedEvent): void;
  /** Sees each iteration when it is over; the same holds if it throws. */
  onIteration?(iteration: IterationResult): void;
  readonly clock?: Clock;
  /** The chance in the back-off, from 0 to 1; default: Math.random. */
  readonly random?: () => number;
}

/** The caller can fix it: all problems of a configuration at once. Nothing was begun. */
export class LoopConfigError extends Error {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'LoopConfigError';
    this.problems = problems;
  }
}
