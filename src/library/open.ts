/** Opens runs for a program, each by the same way as the command of the same name. Loaded when the first one is begun. */
import { resolve } from 'node:path';
import { holdsSecrets } from '../config/secrets.ts';
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { pick } from '../domain/text/fields.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { loopJob, parallelProblems } from '../opening/jobs/parallel-tasks.ts';
import { promptJob } from '../opening/jobs/prompt.ts';
import { type OpenedRun, openRun, type RunRequest } from '../opening/open-run.ts';
import { findResumable, resumeRun as reopenRun } from '../opening/resume-run.ts';
import { type SetUp, type SetUpRequest, setUpRun } from '../opening/set-up.ts';
import { openStories as prepareStories } from '../opening/stories-run.ts';
import type { Env } from '../platform/git.ts';
import { environment } from '../platform/shell.ts';
import { VERSION } from '../platform/version.ts';
import { openOtel } from '../report/otel.ts';
import { createStopRequest, type StopRequest } from '../run/stop.ts';
import { promptSource, specSource } from '../run/turns/prompt-source.ts';
import { type ProjectPaths, projectAt, projectPaths, projectRoot } from '../store/paths.ts';
import { prdPaths } from '../store/prd-paths.ts';
import {
  type LoopConfig,
  LoopConfigError,
  type PromptConfig,
  type ResumeConfig,
  type RunConfig,
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
  /** `own`: what is wrong with what only this call takes. */
  setUp(command: SettingsCommand, own: NonNullable<SetUpRequest['own']>): SetUp | readonly Problem[];
}

type Begun = RunOptions & { readonly stop?: StopRequest };

export async function openPrompt(config: PromptConfig, options: Begun): Promise<LibraryRun> {
  const { prompt, promptFile, ...rest } = config;
  const world = worldOf(rest, options);
  const source = promptSource({ prompt, promptFile }, world.project.root);
  const ready = world.setUp('run', () => (isProblem(source) ? [source] : []));
  if (!('settings' in ready)) throw new LoopConfigError(ready);
  return start(world, { ready, job: promptJob({ source: orThrow(source), prompt, promptFile }) });
}

export async function openLoop(config: LoopConfig, options: Begun): Promise<LibraryRun> {
  const { task: words, specFile, tasksFile, worktree, ...rest } = config;
  const world = worldOf(rest, options);
  const { root } = world.project;
  const file = tasksFile ?? specFile;
  const task = file === undefined ? (words ?? '') : specSource(file, root).read();
  const ready = world.setUp('loop', settings => [
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
  if (!('settings' in ready)) throw new LoopConfigError(ready);
  const spec = specFile === undefined ? undefined : { name: specFile, source: specSource(specFile, root) };
  const given = { task: orThrow(task), tasks: tasksFile, spec, worktree };
  return start(world, { ready, job: loopJob(given, ready.settings) });
}

export async function openStories(config: StoriesConfig, options: Begun): Promise<LibraryRun> {
  const { ralphDir, worktree, trustTasks = false, ...rest } = config;
  const world = worldOf(rest, options);
  const { project, env, checks } = world;
  const opened = await prepareStories({
    ...{ root: project.root, env, worktree, isTrusted: trustTasks, functions: checks.functions },
    paths: prdPaths(project.root, ralphDir),
    setUp: own =>
      world.setUp('prd', settings => [
        ...own(settings),
        ...ownInParallel(world, settings.parallel > 1, settings),
      ]),
  });
  if (!('job' in opened)) throw new LoopConfigError(opened);
  return start(world, opened);
}

export async function openAgain(config: ResumeConfig, options: Begun): Promise<LibraryRun> {
  const { run: wanted, acceptChanges = false, checks: given = [], ...settings } = config;
  const world = worldOf({ checks: given }, options);
  const { env, checks } = world;
  const project = projectAt(resolve(options.cwd ?? process.cwd()), env);
  const id = orThrow(findResumable(project, wanted));
  const opened = await reopenRun(
    {
      ...{ project, env, acceptChanges, agent: agentOf(options) },
      brought: programOf(options, checks),
      functions: checks.functions,
      flags: command => settingsLayer(command, settings, []),
    },
    id,
  );
  if (!('job' in opened)) throw new LoopConfigError(opened);
  return start(world, opened);
}

function worldOf(config: RunConfig, options: Begun): World {
  const env = options.env ?? environment();
  const project = projectPaths(projectRoot(resolve(options.cwd ?? process.cwd())), env);
  const { stop = createStopRequest() } = options;
  const checks = readChecks(config.checks ?? []);
  const { functions } = checks;
  return {
    ...{ ...options, project, env, stop, checks },
    setUp(command, own) {
      const { layer, problems } = settingsLayer(command, config, checks.listed);
      const flags = { layer, problems: [...problems, ...checks.problems] };
      return setUpRun(command, { project, env, flags, agent: agentOf(options), functions, own });
    },
  };
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

interface Prepared extends Pick<RunRequest, 'job' | 'resumed'> {
  readonly ready: SetUp;
  release?(): void;
}

async function start(world: World, { job, ready, resumed, release }: Prepared): Promise<LibraryRun> {
  const { env, stop, checks } = world;
  const { flags, ...rest } = ready;
  const program = programOf(world, checks);
  const listener = createListener(world, stop);
  const failed = (text: string) => process.emitWarning(text, 'RalphWarning');
  const otel = openOtel(ready.settings.otel, { env, version: VERSION, failed });
  const finish = () => {
    listener.close();
    release?.();
  };
  const opened = await openRun({
    ...{ ...rest, job, env, stop, ...(resumed && { resumed }), ...pick(world, 'clock', 'random') },
    // What must not be kept cannot be given again.
    ...(!holdsSecrets(flags, createRedactor(env)) && { flags }),
    ...(program.length > 0 && { program }),
    ...(checks.own.length > 0 && { ownChecks: checks.own }),
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
      await otel?.allSent();
    }
  };
  return { id, project: ready.project, env, ...(worktree && { worktree }), run };
}

export function orThrow<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new LoopConfigError([value]);
  return value;
}
