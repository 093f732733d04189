/** Opens runs for a program, each by the same way as the command of the same name. Loaded when the first one is begun. */
import { resolve } from 'node:path';
import { holdsSecrets } from '../config/secrets.ts';
import type { SettingsLayer } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import { createRedactor } from '../domain/secrets.ts';
import { createStopRequest, type StopRequest } from '../engine/stop.ts';
import { promptKind, type RunKind } from '../opening/kind.ts';
import { loopKind, parallelProblems } from '../opening/loop-kind.ts';
import { type OpenedRun, openRun } from '../opening/open-run.ts';
import type { ResumedRun } from '../opening/resume.ts';
import { findResumable, resumeRun as reopenRun } from '../opening/resume-run.ts';
import { type SetUp, type SetUpRequest, setUpRun } from '../opening/set-up.ts';
import { openStories as prepareStories } from '../opening/stories-run.ts';
import type { Env } from '../platform/git.ts';
import { environment } from '../platform/shell.ts';
import { VERSION } from '../platform/version.ts';
import { openOtel } from '../report/otel.ts';
import { deletedRuns, putRunsBack } from '../store/keep-folder.ts';
import { type ProjectPaths, projectAt, projectPaths, projectRoot } from '../store/paths.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { promptSource, specSource } from '../turns/prompt-source.ts';
import {
  type LoopConfig,
  LoopConfigError,
  type PromptConfig,
  type ResumeConfig,
  type RunOptions,
  type StoriesConfig,
} from './config.ts';
import { agentOf, type GivenChecks, programOf, readChecks, settingsLayer } from './given.ts';
import { createListener } from './listen.ts';

export interface LibraryRun extends Pick<OpenedRun, 'id' | 'worktree'> {
  readonly project: ProjectPaths;
  readonly env: Env;
  run(): Promise<LoopResult>;
}

/** A call, with what is known of it before any settings. */
interface World extends RunOptions {
  readonly project: ProjectPaths;
  readonly env: Env;
  readonly stop: StopRequest;
  readonly checks: GivenChecks;
}

type Begun = RunOptions & { readonly stop?: StopRequest };

export async function openPrompt(config: PromptConfig, options: Begun): Promise<LibraryRun> {
  const { prompt, promptFile, ...rest } = config;
  const world = worldOf(config, options);
  const source = promptSource({ prompt, promptFile }, world.project.root);
  const ready = setUp('run', world, settingsLayer('run', rest, world.checks.listed), () =>
    isProblem(source) ? [source] : [],
  );
  return start({ ...world, kind: promptKind({ source: orThrow(source), prompt, promptFile }), ready });
}

export async function openLoop(config: LoopConfig, options: Begun): Promise<LibraryRun> {
  const { task: words, specFile, tasksFile, worktree, ...rest } = config;
  const world = worldOf(config, options);
  const { root } = world.project;
  const file = tasksFile ?? specFile;
  const task = file === undefined ? (words ?? '') : specSource(file, root).read();
  const ready = setUp('loop', world, settingsLayer('loop', rest, world.checks.listed), settings => [
    ...(settings.checks.length === 0 ? [{ where: 'checks', what: 'at least one is needed' }] : []),
    ...(isProblem(task) ? [task] : task.trim() === '' ? [{ where: 'task', what: 'there is none' }] : []),
    ...parallelProblems(
      {
        ...{ task: words, tasks: tasksFile, spec: specFile, worktree: Boolean(worktree) },
        ...{ parallel: false, bestOf: (rest.settings?.bestOf ?? 1) > 1, agents: false },
      },
      settings,
      task,
    ),
    ...ownInParallel(world, tasksFile !== undefined || settings.bestOf > 1, settings),
  ]);
  const spec = specFile === undefined ? undefined : { name: specFile, source: specSource(specFile, root) };
  const given = { task: orThrow(task), tasks: tasksFile, spec, worktree };
  return start({ ...world, kind: loopKind(given, ready.settings), ready });
}

export async function openStories(config: StoriesConfig, options: Begun): Promise<LibraryRun> {
  const { ralphDir, worktree, trustTasks = false, ...rest } = config;
  const world = worldOf(config, options);
  const { project, env, checks } = world;
  const { root } = project;
  const layer = settingsLayer('prd', rest, checks.listed);
  const opened = await prepareStories({
    ...{ root, env, worktree, isTrusted: trustTasks, functions: checks.functions },
    paths: ralphDir === undefined ? prdPaths(root) : prdPaths(root, ralphDir),
    setUp: own =>
      tryToSetUp('prd', world, layer, settings => [
        ...own(settings),
        ...ownInParallel(world, settings.parallel > 1, settings),
      ]),
  });
  if (!('kind' in opened)) throw new LoopConfigError(opened);
  return start({ ...world, ...opened });
}

export async function openAgain(config: ResumeConfig, options: Begun): Promise<LibraryRun> {
  const { run: wanted, acceptChanges = false, ...rest } = config;
  const world = worldOf(config, options);
  const { env, checks } = world;
  const project = projectAt(resolve(options.cwd ?? process.cwd()), env);
  putRunsBack(project, deletedRuns(project, wanted));
  const id = orThrow(findResumable(project, wanted));
  const { checks: _, ...settings } = rest;
  const opened = await reopenRun(
    {
      ...{ project, env, version: VERSION, acceptChanges, agent: agentOf(options) },
      brought: programOf(options, checks),
      functions: checks.functions,
      flags: command => settingsLayer(command, settings, []),
    },
    id,
  );
  if (!('kind' in opened)) throw new LoopConfigError(opened);
  return start({ ...world, ...opened, project });
}

function worldOf({ checks }: { readonly checks?: LoopConfig['checks'] }, options: Begun): World {
  const env = options.env ?? environment();
  const project = projectPaths(projectRoot(resolve(options.cwd ?? process.cwd())), env);
  const { stop = createStopRequest() } = options;
  return { ...options, project, env, stop, checks: readChecks(checks ?? []) };
}

/** What needs the program in each of many runs, or a command line for each check. */
function ownInParallel(
  { checks: { own, functions }, stopWhen, onIteration }: World,
  isParallel: boolean,
  { mutate, mutateMin }: Settings,
): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (where: string, what: string) => problems.push({ where, what });
  if (isParallel && own.length > 0) refuse('checks', 'a parallel run takes commands only, as strings');
  if (isParallel && (stopWhen || onIteration))
    refuse('stopWhen, onIteration', 'a parallel run has no iterations of its own: use onEvent');
  if (functions.length > 0 && (mutate || mutateMin !== undefined))
    refuse('mutate', `faults are tried with commands, and ${functions.join(', ')} is a function`);
  return problems;
}

function setUp(
  command: 'run' | 'loop',
  world: World,
  layer: SettingsLayer,
  own: NonNullable<SetUpRequest['own']>,
): SetUp {
  const ready = tryToSetUp(command, world, layer, own);
  if (!('settings' in ready)) throw new LoopConfigError(ready);
  return ready;
}

function tryToSetUp(
  command: 'run' | 'loop' | 'prd',
  { project, env, checks, ...options }: World,
  layer: SettingsLayer,
  own: NonNullable<SetUpRequest['own']>,
): SetUp | readonly Problem[] {
  const flags = { ...layer, problems: [...layer.problems, ...checks.problems] };
  const { functions } = checks;
  return setUpRun(command, { project, env, flags, agent: agentOf(options), functions, own });
}

interface Start extends World {
  readonly kind: RunKind;
  readonly ready: SetUp;
  readonly resumed?: ResumedRun;
  release?(): void;
}

async function start(request: Start): Promise<LibraryRun> {
  const { project, env, stop, kind, ready, resumed, clock, random, checks, release } = request;
  const { settings, agent, fallbacks, reviewer, flags } = ready;
  const program = programOf(request, checks);
  const listener = createListener(request, stop);
  const failed = (text: string) => process.emitWarning(text, 'RalphWarning');
  const otel = openOtel(settings.otel, { env, version: VERSION, failed });
  const finish = () => {
    listener.close();
    release?.();
  };
  const opened = await openRun({
    ...{ kind, project, settings, agents: [agent, ...fallbacks], env, stop, version: VERSION },
    // What must not be kept cannot be given again.
    ...(!holdsSecrets(flags, createRedactor(env)) && { flags }),
    ...(program.length > 0 && { program }),
    ...(checks.own.length > 0 && { ownChecks: checks.own }),
    ...(reviewer && { reviewer }),
    ...(clock && { clock }),
    ...(random && { random }),
    ...(resumed && { resumed }),
    onEvent: (event, past) => {
      otel?.emit(event);
      listener.onEvent(event, past);
    },
    onChildEvent: (_lane, event) => {
      otel?.emit(event);
      listener.onChildEvent(event);
    },
  }).catch((error: unknown) => {
    finish();
    throw error;
  });
  if (isProblem(opened)) {
    finish();
    throw new LoopConfigError([opened]);
  }
  const { id, worktree } = opened;
  const run = async () => {
    try {
      return listener.conclude(await opened.run());
    } finally {
      finish();
      await otel?.settled();
    }
  };
  return { id, project, env, ...(worktree && { worktree }), run };
}

export function orThrow<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new LoopConfigError([value]);
  return value;
}
