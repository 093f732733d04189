/** `ralph loop` as a call: seed 004's API in TypeScript words. Everything the command does, without its terminal. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadSettings } from '../config/load.ts';
import { SETTINGS } from '../config/settings.ts';
import type { AgentSettings, Settings } from '../config/settings-shape.ts';
import type { RunEvent } from '../domain/event.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import { createRedactor } from '../domain/secrets.ts';
import { drive } from '../engine/drive.ts';
import { createSteering } from '../engine/steering.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import { environment } from '../platform/shell.ts';
import { createJournal } from '../store/journal.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { createRun, retire } from '../store/run-file.ts';
import { limitProblems } from '../turns/agent-turn.ts';
import { type ChosenAgent, chooseAgent, chooseFallbacks } from '../turns/choose-agent.ts';
import { adapterOf, type FunctionAgent } from '../turns/function-agent.ts';
import { type PromptSource, specSource } from '../turns/prompt-source.ts';
import { createRoster } from '../turns/roster.ts';
import { hooksOfRun } from '../turns/run-hooks.ts';
import { removeWorktree } from '../workspace/worktree.ts';
import { createEventQueue } from './event-queue.ts';
import { openWorkplace, planLoop, type Workplace } from './open-loop.ts';
import { chooseSandbox, openSandbox, type Sandbox } from './sandbox.ts';

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
  /** Runs it to its end. Rejects with a LoopConfigError when there is something to fix first. Call it once. */
  run(): Promise<LoopResult>;
  /** Every event from the first one on; ends with the run. */
  readonly events: AsyncIterable<RunEvent>;
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
  const project = projectPaths(resolve(cwd));
  const queue = createEventQueue();
  let workplace: Workplace | undefined;
  return {
    events: queue,
    async run() {
      try {
        const ready = prepare(config, options, project, env);
        workplace = orThrow(await openWorkplace({ root: project.root, env, worktree: config.worktree }));
        return await start(ready, workplace, { ...options, project, env, emit: queue.push });
      } finally {
        queue.end();
      }
    },
    async cleanupWorktree() {
      const { worktree } = workplace ?? {};
      if (!worktree) return undefined;
      const problem = await removeWorktree({ root: project.root, env, name: worktree.name });
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
  readonly task: string;
  readonly spec?: PromptSource;
  readonly settings: Settings;
  readonly agent: ChosenAgent;
  readonly fallbacks: readonly ChosenAgent[];
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
  const { specFile } = config;
  const spec = specFile === undefined ? {} : { spec: specSource(specFile, project.root) };
  return { task, ...spec, settings: loaded.settings, agent, fallbacks };
}

function settingsOf(config: LoopConfig): Readonly<Record<string, unknown>> {
  const { maxIterations, settings, task: _, specFile: __, worktree: ___, ...rest } = config;
  const given = {
    ...settings,
    ...rest,
    ...(maxIterations !== undefined && { maximumIterations: maxIterations }),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
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
  emit(event: RunEvent): void;
}

async function start(
  { task, spec, settings, agent, fallbacks }: Ready,
  workplace: Workplace,
  world: World,
): Promise<LoopResult> {
  const { project, env, signal, clock = systemClock, random = Math.random, version = '' } = world;
  const disk = createDisk();
  const abort = either(signal, disk.signal);
  const { file, paths } = createRun(project, {
    command: 'loop',
    version,
    config: settings,
    now: clock.now(),
  });
  const journal = createJournal(paths.events, clock.now, createRedactor(env));
  const emit = (event: RunEvent) => {
    journal.append(event);
    world.emit(event);
    const trouble = journal.trouble();
    if (trouble !== undefined) disk.failed(trouble);
  };
  let sandbox: Sandbox | undefined;
  try {
    const { cwd } = workplace;
    const place = { settings, adapters: [agent, ...fallbacks].map(each => each.adapter), project, cwd, env };
    const chosen = orThrow(await chooseSandbox(place));
    sandbox = orThrow(await openSandbox(chosen, place, paths, what => emit({ type: 'denied', what })));
    const sandboxed = chosen.provider !== undefined;
    const hooks = hooksOfRun({ command: 'loop', settings, paths, cwd, sandboxed });
    const roster = createRoster([agent, ...fallbacks]);
    const steering = createSteering({ paths, emit, clock, stopping: abort });
    const parts = {
      settings,
      agent,
      roster,
      steering,
      cwd,
      env,
      clock,
      random,
      emit,
      abort,
      disk,
      hooks,
      stopping: abort,
      project,
      paths,
      sandbox,
    };
    const plan = orThrow(await planLoop({ ...parts, task, workplace, notices: [], ...(spec && { spec }) }));
    return await drive(plan, {
      runId: file.id,
      cwd,
      clock,
      emit,
      steering,
      stopping: abort,
      disk,
      sandbox,
      stopReason: () => 'cancelled',
    });
  } finally {
    await sandbox?.close();
    journal.flush();
    journal.close();
    retire(paths);
  }
}

/** Aborted when one of the two is. Node 20.0 has no `AbortSignal.any`. */
function either(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  const both = new AbortController();
  const abort = () => both.abort();
  for (const signal of [one, other]) {
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
  }
  return both.signal;
}

function orThrow<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new LoopConfigError([value]);
  return value;
}
