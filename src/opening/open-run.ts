/**
 * The one way to open a run, new or resumed: its folder, its lease and ledger, its inbox, its sandbox, its hooks, its plan. The command
 * line adds a terminal and signals, the library an iterator.
 */

import type { Settings } from '../config/settings-shape.ts';
import type { OwnCheck } from '../domain/check.ts';
import type { Emit, RecordedEvent, RunEvent } from '../domain/event.ts';
import { pick } from '../domain/fields.ts';
import { fold, NOTHING_YET, type Past } from '../domain/past.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import { drive } from '../engine/drive.ts';
import { createMeter } from '../engine/meter.ts';
import type { CrewPlan, EngineWorld, LoopPlan } from '../engine/plan.ts';
import { createSteering } from '../engine/steering.ts';
import type { StopRequest } from '../engine/stop.ts';
import { serveHooks } from '../hooks/server.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import type { ProjectPaths, RunPaths } from '../store/paths.ts';
import { rememberProject } from '../store/projects.ts';
import { openRunStore, type RunCopy, type RunStore } from '../store/run-store.ts';
import { openState } from '../store/state-check.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import { createHookDoor } from '../turns/hook-door.ts';
import { createRoster } from '../turns/roster.ts';
import { type HookNeeds, hooksOfRun, type RunHooks } from '../turns/run-hooks.ts';
import { type Shared, withShared } from '../turns/shared.ts';
import { worktreeAgain } from '../workspace/worktree-again.ts';
import { announce } from './announce.ts';
import { beginRun } from './begin.ts';
import { createCleanUp } from './clean-up.ts';
import type { Entered, Parts, RunKind } from './kind.ts';
import { endOrphans } from './orphans.ts';
import { beginRepository } from './repository-start.ts';
import type { ResumedRun } from './resume.ts';
import { chooseSandbox, openSandbox, type Sandbox } from './sandbox.ts';
import { startNotices } from './start-notices.ts';
import { tracingOf } from './tracing.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface RunRequest {
  readonly kind: RunKind;
  readonly project: ProjectPaths;
  readonly settings: Settings;
  /** The agent, and after it those that stand in for it. */
  readonly agents: readonly [ChosenAgent, ...ChosenAgent[]];
  /** Who reviews stories, where that is not the agent. */
  readonly reviewer?: ChosenAgent;
  /** Settings from flags: with them the run can be resumed. A program that opens a run may hold what is in no file. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env: Env;
  readonly stop: StopRequest;
  /** Noted in run.json. */
  readonly version: string;
  readonly clock?: Clock;
  /** The chance in the back-off, from 0 to 1. */
  readonly random?: () => number;
  /** It is refused while another run works in the same tree. A program may know better. */
  readonly alone?: boolean;
  /** What a program knows of checks that the settings only name: that one is a function. */
  readonly ownChecks?: readonly OwnCheck[];
  /** What that program must bring again, for the run to be resumed. */
  readonly program?: readonly string[];
  /** What else the user should know before the first iteration. */
  readonly notices?: readonly string[];
  readonly resumed?: ResumedRun;
  /** It belongs to another run: its id and what it shares with the others. */
  readonly child?: { readonly id: string; readonly shared: Shared };
  /** Sees what happens in the runs of a parallel run, by what they work on. Must not throw. */
  readonly onChildEvent?: Parts['onChildEvent'];
  readonly isFresh?: Parts['isFresh'];
  readonly elsewhere?: Parts['elsewhere'];
  /** Where the run is kept as well: a fleet keeps it in its database. */
  readonly copy?: RunCopy | undefined;
  /** Sees every event once it is on the ledger, and what the run has done by then. Must not throw. */
  onEvent(event: RecordedEvent, past: Past): void;
}

export interface OpenedRun {
  readonly id: string;
  readonly paths: RunPaths;
  /** What agent and checks run in, in a few words. */
  readonly sandbox?: string;
  readonly worktree?: Entered['worktree'];
  readonly advice?: Entered['advice'];
  /** Drives it to its end, and closes it. Call it once. */
  run(): Promise<LoopResult>;
}

export async function openRun(request: RunRequest): Promise<OpenedRun | Problem> {
  const cleanUp = createCleanUp();
  try {
    const opened = await open(request, cleanUp.later);
    if (isProblem(opened)) await cleanUp.now();
    return isProblem(opened) ? opened : { ...opened, run: () => opened.run().finally(cleanUp.now) };
  } catch (error) {
    await cleanUp.now();
    throw error;
  }
}

type Later = (action: () => unknown) => void;

async function open(request: RunRequest, later: Later): Promise<OpenedRun | Problem> {
  const { kind, project, settings, env, resumed, clock = systemClock } = request;
  const unfit = openState(project.root, env);
  if (unfit) return unfit;
  const chosen = await chooseSandbox({ settings, cwd: project.root, env });
  if (isProblem(chosen)) return chosen;
  const entered = await kind.enter({ project, env, ...(resumed && { resumed: resumed.file.id }) });
  if (isProblem(entered)) return entered;
  later(entered.leave);
  const { cwd } = entered;
  const repository = await beginRepository({
    ...{ cwd, env, settings, isSandboxed: chosen.provider !== undefined },
    began: resumed?.past.prepared?.start,
    isResumed: resumed?.past.prepared !== undefined,
    isOwnBranch: entered.worktree !== undefined || entered.given.from !== undefined,
  });
  if (isProblem(repository)) return repository;
  const orphans = request.alone && !resumed ? await endOrphans(project) : [];
  const begun = await beginRun(request, entered, clock);
  if (isProblem(begun)) return begun;
  const { file, paths } = begun;
  rememberProject(project.root, env);
  const world = openWorld(
    request,
    { id: file.id, worktree: file.given?.worktree ?? entered.given.worktree },
    clock,
    later,
  );
  const { emit } = world;

  const { agents, reviewer } = request;
  const adapters = [...agents, ...(reviewer ? [reviewer] : [])].map(({ adapter }) => adapter);
  const reports = { deny: (what: string) => emit({ type: 'denied', what }), failed: world.disk.failed };
  const sandbox = await openSandbox(chosen, { settings, adapters, project, cwd, env }, paths, reports);
  if (isProblem(sandbox)) return sandbox;
  later(sandbox.close);
  const sandboxed = chosen.provider !== undefined;
  const hooks = openHooks({ command: kind.command, settings, paths, cwd, sandboxed }, env, emit);
  later(() => hooks.door?.close());
  const told = { ...request, notices: [...orphans, ...(request.notices ?? [])] };
  const made = await makePlan(told, entered, { ...world, sandbox, cwd, hooks, paths, sandboxed });
  if (isProblem(made)) return made;
  const plan = 'drive' in made ? made : repository.withStart(withShared(made, request.child?.shared));
  later(plan.close);
  return {
    id: file.id,
    paths,
    ...(sandbox.words !== undefined && { sandbox: sandbox.words }),
    ...(entered.worktree && { worktree: entered.worktree }),
    ...(entered.advice !== undefined && { advice: entered.advice }),
    async run() {
      // A lane is about what it works on, whatever the whole is called.
      const title = request.child ? entered.title : (settings.title ?? entered.title);
      announce(plan, world, { cwd, title, sandbox, resumed });
      if ('drive' in plan) return plan.drive({ ...world, sandbox });
      await recall(plan, world);
      return drive(plan, { ...world, sandbox });
    },
  };
}

/** The ledger, the lease and the inbox of a run, and who stops it. */
function openWorld(
  request: RunRequest,
  { id, worktree: name }: { readonly id: string; readonly worktree: string | undefined },
  clock: Clock,
  later: Later,
): EngineWorld {
  const { project, env, stop } = request;
  const disk = createDisk();
  disk.signal.addEventListener('abort', () => stop.request('disk_failed', 'now'));
  const lost = () => stop.request('cancelled', 'now', 'Another process has taken this run over.');
  const { copy } = request;
  const times = { now: () => clock.now(), ticks: () => clock.ticks() };
  const store = openRunStore({ project, id, env, ...times, lost, copy });
  later(store.close);
  const { emit, past } = createRecorder(request, store, disk.failed);
  const steering = createSteering({ store, emit, clock, stop, past });
  later(steering.close);
  const meter = createMeter(clock, past());
  const { settled, secure } = store;
  const restoreOwn = async () => {
    const { restored, lost } = store.restore();
    const tree = past().last?.judged?.snapshot;
    const again =
      name === undefined ? undefined : await worktreeAgain({ root: project.root, env, name }, tree);
    return { restored, lost: again === undefined ? lost : [...lost, again] };
  };
  return { runId: id, clock, emit, past, meter, steering, stop, disk, settled, secure, restoreOwn };
}

type Opened = EngineWorld & Pick<Parts, 'cwd' | 'hooks' | 'paths'> & { sandbox: Sandbox; sandboxed: boolean };

function makePlan(
  request: RunRequest,
  entered: Entered,
  opened: Opened,
): Promise<LoopPlan | CrewPlan | Problem> {
  const { project, settings, agents, reviewer, env, resumed, random } = request;
  const [agent] = agents;
  const { sandboxed, ...world } = opened;
  const { stop, runId, past } = world;
  const notices = startNotices({
    settings,
    agents: [...agents, ...(reviewer ? [reviewer] : [])],
    project,
    env,
    sandboxed,
    own: runId,
  });
  const parts: Parts = {
    ...world,
    stopping: stop.stopping,
    abort: stop.abort,
    settings,
    agent,
    roster: createRoster(agents, resumed?.past.limits),
    ...(reviewer && {
      reviewers: createRoster([reviewer, ...agents.slice(1)], resumed?.past.limits),
    }),
    ...tracingOf(settings, env, runId),
    project,
    notices: [...notices, ...(request.notices ?? [])],
    ...(random && { random }),
    shared: request.child?.shared,
    ownChecks: request.ownChecks,
    ...pick(request, 'isFresh', 'elsewhere'),
    onChildEvent: request.onChildEvent,
  };
  // What the user did while it was paused is the new start.
  const kept = past().time.isPaused ? undefined : past().prepared?.kept;
  return entered.plan(parts, kept);
}

/** The ledger first, then the past, then those who look on. */
function createRecorder(
  { resumed, onEvent, clock = systemClock }: RunRequest,
  store: RunStore,
  failed: (what: string) => void,
) {
  let past = resumed?.past ?? NOTHING_YET;
  // The wall clock may be set while the run is running; what it has done is measured by the steady one.
  const zero = clock.now() - clock.ticks();
  return {
    past: () => past,
    emit(event: RunEvent): void {
      const recorded = store.append(event);
      past = fold(past, { ...recorded, time: zero + clock.ticks(), ticks: clock.ticks() });
      if (IS_BOUNDARY.has(event.type)) store.checkpoint(past);
      onEvent(recorded, past);
      const trouble = store.trouble();
      if (trouble !== undefined) failed(trouble);
    },
  };
}

/** Between these at most a turn of an agent is read again. */
const IS_BOUNDARY: ReadonlySet<RunEvent['type']> = new Set(['turn-ended', 'iteration-ended', 'run-ended']);

/** What is in a sandbox does not reach this process. */
function openHooks(needs: HookNeeds, env: Env, emit: Emit): RunHooks {
  const hooks = hooksOfRun(needs);
  if (needs.sandboxed || hooks.points.length === 0) return hooks;
  const serve = () => serveHooks({ ...hooks.orders, given: true }, env);
  return { ...hooks, door: createHookDoor(serve, emit) };
}

/** A plan that was prepared before the run was cut off is told so; what counts now may be something else. */
async function recall(plan: LoopPlan, { emit, past }: EngineWorld): Promise<void> {
  const before = past().prepared;
  if (!before) return;
  const prepared = await plan.recall(past(), before);
  if (prepared.kept !== before.kept || prepared.inputs !== before.inputs)
    emit({ type: 'prepared', ...prepared });
}
