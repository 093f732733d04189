/** `ralph loop` as a call: seed 004's API in TypeScript words. Everything the command does, without its terminal. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { readValue } from '../config/kinds.ts';
import { loadSettings } from '../config/load.ts';
import { SETTINGS } from '../config/settings.ts';
import type { AgentSettings, Settings } from '../config/settings-shape.ts';
import type { RecordedEvent } from '../domain/event.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import { createStopRequest } from '../engine/stop.ts';
import type { Clock } from '../platform/clock.ts';
import { environment } from '../platform/shell.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { type ChosenAgent, chooseAgent, chooseFallbacks } from '../turns/choose-agent.ts';
import { adapterOf, type FunctionAgent } from '../turns/function-agent.ts';
import { limitProblems } from '../turns/limit-notices.ts';
import { specSource } from '../turns/prompt-source.ts';
import { removeWorktree } from '../workspace/remove-worktree.ts';
import { createEventQueue } from './event-queue.ts';
import { type TaskGiven, taskKind } from './kind.ts';
import { type OpenedRun, openRun } from './open-run.ts';

export interface LoopConfig {
  /** What to do; not needed with `specFile`. */
  readonly task?: string;
  readonly specFile?: string;
  /** Commands that must all pass. */
  readonly checks: readonly string[];
  readonly completionTag?: string;
  readonly maxIterations?: number;
  /** Dollars. */
  readonly maxCost?: number;
  readonly maxTokens?: number;
  /** Seconds. */
  readonly maxTime?: number;
  /** An adapter, a command, or a name from the settings. */
  readonly agent?: string | AgentSettings;
  readonly model?: string;
  /** true, or the name of the worktree. */
  readonly worktree?: boolean | string;
  readonly protect?: readonly string[];
  /** Any other setting of docs/reference/settings.md. */
  readonly settings?: Partial<Settings>;
}

export interface LoopOptions {
  /** An agent that is a function; it wins over `config.agent`. */
  readonly agent?: FunctionAgent;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Ends the run at once; its stop reason is `cancelled`. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** The chance in the back-off, from 0 to 1; without it Math.random. */
  readonly random?: () => number;
  /** Noted in run.json. */
  readonly version?: string;
}

export interface Loop {
  /** Runs it to its end. Rejects with a LoopConfigError when the configuration is invalid. Call it once. */
  run(): Promise<LoopResult>;
  /** Every event from the first one on; ends with the run. */
  readonly events: AsyncIterable<RecordedEvent>;
  /** Removes the worktree and its branch, unless that would lose work: then it says why not. */
  cleanupWorktree(): Promise<string | undefined>;
  cleanupProgress(): void;
}

export class LoopConfigError extends Error {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'LoopConfigError';
    this.problems = problems;
  }
}

export function createLoop(config: LoopConfig, options: LoopOptions = {}): Loop {
  const { cwd = process.cwd(), env = environment() } = options;
  const project = projectPaths(resolve(cwd), env);
  const queue = createEventQueue();
  let opened: OpenedRun | undefined;
  return {
    events: queue,
    async run() {
      try {
        const ready = prepare(config, options, project, env);
        opened = orThrow(await open(ready, { ...options, project, env, onEvent: queue.push }));
        return await opened.run();
      } finally {
        queue.end();
      }
    },
    async cleanupWorktree() {
      if (!opened?.worktree) return undefined;
      const problem = await removeWorktree({ root: project.root, env, name: opened.worktree.name });
      return problem && formatProblem(problem);
    },
    cleanupProgress: () => rmSync(project.progress, { force: true }),
  };
}

/** The shortest way: make a loop and run it. */
export function runLoop(config: LoopConfig, options?: LoopOptions): Promise<LoopResult> {
  return createLoop(config, options).run();
}

interface Ready {
  readonly given: TaskGiven;
  readonly settings: Settings;
  readonly agents: readonly [ChosenAgent, ...ChosenAgent[]];
}

function prepare(
  config: LoopConfig,
  options: LoopOptions,
  project: ProjectPaths,
  env: LoopOptions['env'] = {},
): Ready {
  const layer = settingsOf(config);
  const loaded = loadSettings(project, 'loop', layer);
  const task = taskOf(config, project.root);
  const agent = options.agent
    ? functionAgent(options.agent)
    : chooseAgent(loaded.settings, loaded.fromFiles, { cwd: project.root, env });
  const others = chooseFallbacks(loaded.settings, loaded.fromFiles, { cwd: project.root, env });
  const problems = [
    ...checkLayer(layer),
    ...loaded.problems,
    ...(loaded.settings.checks.length === 0 ? [{ where: 'checks', what: 'at least one is needed' }] : []),
    ...(typeof task === 'string' ? [] : [task]),
    ...(isProblem(agent) ? [agent] : limitProblems(loaded.settings, agent)),
    ...others.flatMap(each => (isProblem(each) ? [each] : limitProblems(loaded.settings, each))),
  ];
  if (problems.length > 0 || typeof task !== 'string' || 'where' in agent)
    throw new LoopConfigError(problems);
  const fallbacks = others.filter((each): each is ChosenAgent => !isProblem(each));
  const { specFile: name, worktree } = config;
  const spec = name === undefined ? undefined : { name, source: specSource(name, project.root) };
  return { given: { task, spec, worktree }, settings: loaded.settings, agents: [agent, ...fallbacks] };
}

function settingsOf(config: LoopConfig): Readonly<Record<string, unknown>> {
  const { maxIterations, settings, task: _, specFile: __, worktree: ___, ...rest } = config;
  const given = {
    ...settings,
    ...rest,
    ...(maxIterations !== undefined && { maximumIterations: maxIterations }),
  };
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([key, value]) => {
      const kind = SETTINGS.find(row => row.key === key)?.kind;
      return [key, kind ? readValue(kind, value) : value];
    }),
  );
}

function checkLayer(layer: Readonly<Record<string, unknown>>): readonly Problem[] {
  return Object.entries(layer).flatMap(([key, value]) => {
    const setting = SETTINGS.find(row => row.key === key);
    return setting ? setting.kind.check(value, key) : [{ where: key, what: 'there is no such setting' }];
  });
}

function taskOf({ task, specFile }: LoopConfig, root: string): string | Problem {
  if (specFile !== undefined) return specSource(specFile, root).read();
  return task?.trim() ? task : { where: 'task', what: 'there is none' };
}

function functionAgent(agent: FunctionAgent): ChosenAgent {
  const { name } = agent;
  return {
    adapter: adapterOf(agent),
    name,
    command: name,
    prefix: [],
    flags: [],
    prices: {},
    why: 'it was given',
    function: agent,
  };
}

interface World extends LoopOptions {
  readonly project: ProjectPaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  onEvent(event: RecordedEvent): void;
}

function open({ given, ...ready }: Ready, world: World): Promise<OpenedRun | Problem> {
  const { signal, version = '', ...rest } = world;
  const stop = createStopRequest();
  const cancel = () => stop.request('cancelled', 'now');
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  return openRun({ ...rest, ...ready, kind: taskKind(given), stop, version });
}

function orThrow<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new LoopConfigError([value]);
  return value;
}
