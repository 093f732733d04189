/** Starts a loop: its run folder, its reporters, its signals; and ends with its exit code. */
import { existsSync } from 'node:fs';
import type { Emit, LoopCommand } from '../domain/event.ts';
import type { Past } from '../domain/past.ts';
import { type ExitCode, exitCodeOf } from '../domain/stop-reason.ts';
import { drive } from '../engine/drive.ts';
import type { LoopPlan, LoopWorld } from '../engine/plan.ts';
import { createSteering } from '../engine/steering.ts';
import { serveHooks } from '../hooks/server.ts';
import { type ChosenSandbox, chooseSandbox, openSandbox, type Sandbox } from '../opening/sandbox.ts';
import { systemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import { readIfThere } from '../platform/files.ts';
import { ownerName } from '../platform/spawn.ts';
import type { ProjectPaths, RunPaths } from '../store/paths.ts';
import { rememberProject } from '../store/projects.ts';
import { CANCEL_NOW, createRun, type Given, type RunFile, retire, runsAtWork } from '../store/run-file.ts';
import { createHookDoor } from '../turns/hook-door.ts';
import type { PlanParts } from '../turns/plan-parts.ts';
import { createRoster } from '../turns/roster.ts';
import { guardNotice, type HookNeeds, hooksOfRun, type RunHooks } from '../turns/run-hooks.ts';
import { leaveTraces } from './afterwards.ts';
import { type Call, orThrow } from './command.ts';
import { createReporters, openEvents } from './reporters.ts';
import { type SetUp, withoutSecrets } from './set-up.ts';
import { listenForSignals } from './signals.ts';
import { VERSION } from './version.ts';

/** What a command makes its plan from: everything but what is its own. */
export type Parts = PlanParts & { readonly notices: readonly string[]; readonly runId: string };

export interface StartOptions {
  /** Chosen before a worktree was made for it. */
  readonly sandbox?: ChosenSandbox;
  /** Where the agent works, when that is not the project itself. */
  readonly workplace?: string;
  /** What the run is given beside its settings, and the user's words: with them it can be resumed. */
  readonly given?: Given;
  readonly task?: string;
  /** The run that goes on. */
  readonly resumed?: {
    readonly file: RunFile;
    readonly paths: RunPaths;
    readonly past: Past;
    readonly repairs: NonNullable<LoopWorld['repairs']>;
  };
}

export async function startLoop(
  command: LoopCommand,
  call: Call,
  ready: SetUp,
  makePlan: (parts: Parts) => Promise<LoopPlan>,
  options: StartOptions = {},
): Promise<ExitCode> {
  const { env, output } = call;
  const { project, settings, agent, fallbacks } = ready;
  const { workplace = call.cwd, resumed } = options;
  const chosen = options.sandbox ?? orThrow(await chooseSandbox({ settings, cwd: workplace, env }));
  const sandboxed = chosen.provider !== undefined;
  const events = openEvents(call);
  const { file, paths } = resumed ?? newRun(command, ready, options);
  rememberProject(project.root, env);
  const disk = createDisk();
  const reporters = createReporters({
    output,
    disk,
    env,
    journal: paths.events,
    events,
    streamAgentOutput: settings.streamAgentOutput,
    cwd: project.root,
    ...(settings.notify !== undefined && { notify: settings.notify }),
  });
  const signals = listenForSignals(
    // Not behind the live line.
    text => output.error(output.humanIsTTY && !output.quiet ? `\n${text}` : text),
    () => readIfThere(paths.cancelled) === CANCEL_NOW,
  );
  const { emit } = reporters;
  const { stopping, abort } = signals;
  disk.signal.addEventListener('abort', signals.endNow);
  const steering = createSteering({ paths, emit, clock: systemClock, stopping });
  let sandbox: Sandbox | undefined;
  const hooks = hooksOf({ command, settings, paths, cwd: workplace, sandboxed }, env, emit);
  try {
    const adapters = [agent, ...fallbacks].map(each => each.adapter);
    const place = { settings, adapters, project, cwd: workplace, env };
    sandbox = orThrow(await openSandbox(chosen, place, paths, what => emit({ type: 'denied', what })));
    const world = { runId: file.id, cwd: workplace, clock: systemClock, emit, steering, stopping, sandbox };
    const plan = await makePlan({
      ...world,
      settings,
      agent,
      roster: createRoster([agent, ...fallbacks], resumed?.past.limits),
      env,
      abort,
      disk,
      hooks,
      project,
      paths,
      notices: noticesOf(ready, call, sandboxed, file.id),
    });
    const stopReason = () => (existsSync(paths.cancelled) ? 'cancelled' : 'interrupted');
    const result = await drive(plan, {
      ...world,
      stopReason,
      disk,
      ...(resumed && { past: resumed.past, repairs: resumed.repairs }),
    });
    leaveTraces(call, { command, agent: agent.name, sandbox: sandbox.words }, result);
    await reporters.settled();
    if (output.json) output.answer(`${JSON.stringify(result)}\n`);
    return exitCodeOf(result.stopReason);
  } finally {
    await hooks.door?.close();
    await sandbox?.close();
    reporters.close();
    retire(paths);
    signals.dispose();
  }
}

/** What is in a sandbox does not reach this process. */
function hooksOf(needs: HookNeeds, env: Call['env'], emit: Emit): RunHooks {
  const hooks = hooksOfRun(needs);
  if (needs.sandboxed || hooks.points.length === 0) return hooks;
  const serve = () => serveHooks({ ...hooks.orders, given: true }, env);
  return { ...hooks, door: createHookDoor(serve, emit) };
}

function newRun(command: LoopCommand, { project, settings }: SetUp, { given, task }: StartOptions) {
  return createRun(project, {
    command,
    version: VERSION,
    config: withoutSecrets(settings),
    now: systemClock.now(),
    owner: ownerName(),
    ...(given && { given }),
    ...(task !== undefined && { task }),
  });
}

/** What a user would want to know before he leaves it alone. */
function noticesOf(
  { settings, agent, project }: SetUp,
  { env }: Call,
  isConfined: boolean,
  own: string,
): readonly string[] {
  return [
    ...(settings.agent === undefined ? [`Agent: ${agent.name}, because ${agent.why}.`] : []),
    ...(settings.permissions === 'skip' && !isConfined ? skipNotices(agent, settings, env) : []),
    ...otherRuns(project, own),
  ];
}

function skipNotices(
  { adapter }: SetUp['agent'],
  settings: SetUp['settings'],
  env: Call['env'],
): readonly string[] {
  const { rootNeeds = [], name } = adapter;
  const isRefused =
    process.getuid?.() === 0 && rootNeeds.length > 0 && !rootNeeds.some(variable => env[variable]);
  return [
    'The agent may do everything without asking, and there is no sandbox around it. --sandbox puts one there.',
    guardNotice(adapter, settings, false),
    ...(isRefused
      ? [
          `As root, ${name} refuses to skip its permissions: run as another user, set ${rootNeeds[0]}=1 if this machine is a sandbox, or give --permissions host.`,
        ]
      : []),
  ];
}

function otherRuns(project: ProjectPaths, own: string): readonly string[] {
  const others = runsAtWork(project).filter(({ id }) => id !== own);
  return others.map(({ id }) => `Another run is working in this folder: ${id}.`);
}
