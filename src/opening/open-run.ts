/**
 * The one way to open a run, new or resumed: its folder, its lease and ledger, its inbox, its sandbox, its hooks, its steps. The command
 * line adds a terminal and signals, the library an iterator.
 */

import { shownSettings } from '../config/secrets.ts';
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Emit, RecordedEvent, RunEvent, RunHead } from '../domain/run/event.ts';
import { resumedStep } from '../domain/run/next.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { fold, NOTHING_YET, type RunState } from '../domain/run/state.ts';
import { defined, pick } from '../domain/text/fields.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { serveHooks } from '../hooks/server.ts';
import type { ChildRequest } from '../parallel/lane-work.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import { ensureFolder } from '../platform/files.ts';
import { hurryGit } from '../platform/git-watch.ts';
import { otelEnv, otlpTarget } from '../platform/otlp-target.ts';
import { endOwned } from '../platform/process.ts';
import { owners } from '../platform/process-table.ts';
import { ownerName } from '../platform/spawn.ts';
import { runTrace } from '../platform/trace.ts';
import { VERSION } from '../platform/version.ts';
import { drive } from '../run/drive.ts';
import { createMeter } from '../run/meter.ts';
import { createSteering } from '../run/steering.ts';
import type { EngineWorld, LaneDrive, Sandbox, Steps } from '../run/steps.ts';
import { createRoster } from '../run/turns/agent-pool.ts';
import type { Budget } from '../run/turns/budget.ts';
import type { ChosenAgent } from '../run/turns/choose-agent.ts';
import type { RunContext } from '../run/turns/context.ts';
import { DONE_RULES, limitsOf, standstillLimits } from '../run/turns/goal.ts';
import { createHookDoor } from '../run/turns/hook-door.ts';
import { type HookNeeds, hooksOfRun, type RunHooks } from '../run/turns/run-hooks.ts';
import { overviewOf } from '../store/overview.ts';
import { type ProjectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { rememberProject } from '../store/projects.ts';
import { removeRun } from '../store/prune.ts';
import { createRun, listRuns, liveRuns, ownerOfRun } from '../store/run-file.ts';
import { openRunStore, type RunCopy, type RunStore } from '../store/run-store.ts';
import { openState } from '../store/state-check.ts';
import { withLock } from '../workspace/lock.ts';
import { worktreeAgain } from '../workspace/worktree-again.ts';
import type { Job, LaneRuns, Workplace } from './job.ts';
import { laneSettings } from './jobs/parallel.ts';
import { makeReady, protectEarly } from './make-ready.ts';
import { type ResumedRun, reopen } from './reopen.ts';
import { beginRepository } from './repository-start.ts';
import { chooseSandbox, openSandbox } from './sandbox.ts';
import type { SetUp } from './set-up.ts';
import { startNotices } from './start-notices.ts';

export interface RunRequest
  extends Omit<SetUp, 'flags' | 'files'>,
    Pick<RunContext, 'env' | 'stop' | 'random' | 'ownChecks' | 'onChildEvent'>,
    Partial<Pick<RunContext, 'clock'>> {
  readonly job: Job;
  /** Settings from flags: with them the run can be resumed. A program that opens a run may hold what is in no file. */
  readonly flags?: SetUp['flags'];
  /** It is refused while another run works in the same tree. A program may know better. */
  readonly alone?: boolean;
  /** What that program must bring again, for the run to be resumed. */
  readonly program?: readonly string[];
  /** What else the user should know before the first iteration. */
  readonly notices?: readonly string[];
  /** What happened before it could be on record. */
  readonly begins?: readonly RunEvent[];
  readonly resumed?: ResumedRun;
  /** It belongs to another run: its id and what it spends with the others. */
  readonly child?: Pick<ChildRequest, 'id' | 'budget'> & Partial<Pick<ChildRequest, 'laneSetUp' | 'gate'>>;
  /** What it spends with others that it does not belong to. */
  readonly budget?: Budget | undefined;
  /** The project is a checkout that nothing has been done in yet. */
  readonly isFresh?: boolean | undefined;
  /** The folder that the project is in, with those of other runs. */
  readonly places?: string;
  /** Of a run on another machine than the user's. */
  readonly sendCommit?: RunContext['sendCommit'];
  /** Where the run is kept as well: a fleet keeps it in its database. */
  readonly copy?: RunCopy | undefined;
  /** Sees every event once it is on the ledger, and what the run has done by then. Must not throw. */
  onEvent(event: RecordedEvent, past: RunState): void;
}

export interface OpenedRun extends Pick<Workplace, 'worktree'> {
  readonly id: string;
  readonly paths: RunPaths;
  /** What agent and checks run in, in a few words. */
  readonly sandbox?: string;
  /** Drives it to its end, and closes it. Call it once. */
  run(): Promise<LoopResult>;
}

export async function openRun(request: RunRequest): Promise<OpenedRun | Problem> {
  const cleanUp = createCleanUp();
  try {
    if (request.resumed) cleanUp.later(request.resumed.release);
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
  const { job, project, settings, env, resumed, clock = systemClock } = request;
  const unfit = openState(project.root, env);
  if (unfit) return unfit;
  const chosen = await chooseSandbox(request);
  if (isProblem(chosen)) return chosen;
  const workplace = await job.enter({ project, env, settings, resumed: resumed?.file.id });
  if (isProblem(workplace)) return workplace;
  later(() => workplace.leave?.());
  const { cwd, worktree } = workplace;
  const sandboxed = chosen.provider !== undefined;
  const start = await beginRepository(request, workplace, sandboxed);
  if (isProblem(start)) return start;
  if (start) later(hurryGit(start.own.top, request.stop.abort));
  const orphans = request.alone && !resumed ? await endOrphans(project) : [];
  const begun = await beginRun(request, workplace, clock);
  if (isProblem(begun)) return begun;
  const { file, paths } = begun;
  let isOpen = false;
  // Nothing was done: there is nothing to look at, and nothing to resume. What belongs to another run is said there.
  if (!resumed && !request.child) later(() => isOpen || removeRun(project, file.id));
  rememberProject(project.root, env);
  const world = openWorld(request, { id: file.id, workplace, clock }, later);
  const { agents, reviewer } = request;
  const adapters = [...agents, ...(reviewer ? [reviewer] : [])].map(({ adapter }) => adapter);
  const here = { ...request, ...world, cwd, paths, start };
  const [sandbox, protection] = await Promise.all([
    openSandbox(chosen, { ...here, adapters, among: amongOthers(request, workplace) }),
    protectEarly(here, workplace, request),
  ]);
  if (isProblem(sandbox)) return sandbox;
  later(sandbox.close);
  if (isProblem(protection)) return protection;
  const hooks = openHooks({ command: job.command, settings, paths, cwd, sandboxed }, env, world.emit);
  later(() => hooks.door?.close());
  const flags = file.given?.flags ?? {};
  const opened = { ...world, ...{ sandbox, cwd, hooks, paths, start, flags, protection } };
  const context = contextOf(request, opened);
  const whole = await makeReady(context, workplace, request);
  if (isProblem(whole)) return whole;
  const steps = await workplace.steps(whole, laneRuns(whole));
  if (isProblem(steps)) return steps;
  later(() => steps.close?.());
  const notices = [
    ...sandbox.notices,
    ...startNotices(request, sandboxed, file.id),
    ...[...orphans, ...(request.notices ?? []), ...(workplace.notices ?? [])],
    ...(whole.protection?.notes ?? []),
  ];
  isOpen = true;
  return {
    ...{ id: file.id, paths, ...defined({ sandbox: sandbox.words, worktree }) },
    async run() {
      announce(request, whole, { workplace, steps, sandbox });
      for (const event of request.begins ?? []) world.emit(event);
      for (const text of notices) world.emit({ type: 'notice', level: 'warning', text });
      return driveRun(steps, whole);
    },
  };
}

/** What an agent writes into the place of another run would pass for the work of that one. */
function amongOthers({ project, places: folder }: RunRequest, { worktree }: Workplace) {
  if (worktree) return { folder: project.worktrees, own: worktree.path };
  return folder === undefined ? undefined : { folder, own: project.root };
}

async function driveRun(steps: Steps | LaneDrive, whole: RunContext) {
  if ('drive' in steps) return steps.drive();
  await recall(steps, whole);
  return drive(steps, whole);
}

/** Makes the folder of a run, unless another run works in the same tree: the two would edit the same files, and neither could be believed. */
async function beginRun(request: RunRequest, workplace: Workplace, clock: Clock) {
  const { project, resumed, alone = false } = request;
  const make = () => resumed ?? newRun(request, workplace, clock);
  if (!alone) return make();
  const { runs, beginLock } = project.state();
  ensureFolder(runs);
  return withLock(beginLock, async () => busyTree(project, workplace, resumed?.file.id) ?? make());
}

/** `own`: the run that may be in it. */
function busyTree(
  project: ProjectPaths,
  { given: { worktree } }: Workplace,
  own: string | undefined,
): Problem | undefined {
  const other = liveRuns(project).find(({ id, file }) => id !== own && file.given?.worktree === worktree);
  if (!other) return undefined;
  const { id } = other;
  const where = worktree === undefined ? project.root : `worktree ${worktree}`;
  const fix = `\`ralph log ${id} --follow\` shows it, \`ralph cancel ${id}\` stops it, and \`ralph loop … --worktree auto\` works beside it`;
  return { where, what: `the run ${id} is working here`, fix };
}

function newRun(
  { job, project, settings, flags, program, env, child }: RunRequest,
  { given, task }: Workplace,
  clock: Clock,
) {
  return createRun(project, {
    command: job.command,
    version: VERSION,
    config: shownSettings(settings, createRedactor(env)),
    now: clock.now(),
    owner: ownerName(),
    ...(child && { id: child.id }),
    ...(flags && { given: { ...given, flags, ...(program && { program }) } }),
    ...(task !== undefined && { task }),
  });
}

interface Opening {
  readonly id: string;
  readonly workplace: Workplace;
  readonly clock: Clock;
}

/** The ledger, the lease and the inbox of a run, and who stops it. */
function openWorld(request: RunRequest, { id, workplace, clock }: Opening, later: Later): EngineWorld {
  const { project, env, stop, settings, copy, job } = request;
  const { worktree } = workplace;
  const disk = createDisk();
  disk.signal.addEventListener('abort', () => stop.request('disk_failed', 'now'));
  const lost = () => stop.request('cancelled', 'now', 'Another process has taken this run over.');
  const times = { now: () => clock.now(), ticks: () => clock.ticks() };
  const store = openRunStore({ project, id, env, ...times, lost, copy });
  later(store.close);
  const { emit, past } = createRecorder(request, store, disk.failed);
  const steering = createSteering({ store, emit, clock, stop, past });
  later(steering.close);
  const name = request.resumed?.file.given.worktree ?? workplace.given.worktree;
  const again = async () =>
    name === undefined
      ? undefined
      : worktreeAgain({ root: project.root, env, name }, past().last?.judged?.snapshot);
  return {
    ...{ runId: id, clock, emit, past, meter: createMeter(clock, past()), steering, stop, disk },
    goal: { ...DONE_RULES[job.command as SettingsCommand](settings), limits: limitsOf(settings) },
    standstill: standstillLimits(settings),
    place: worktree && { worktreePath: worktree.path, branch: worktree.branch },
    flushed: store.flushed,
    secure: store.secure,
    async restoreOwn() {
      const restored = store.restore();
      const gone = await again();
      return { restored, lost: gone === undefined ? [] : [gone] };
    },
  };
}

type Opened = EngineWorld &
  Pick<RunContext, 'cwd' | 'hooks' | 'paths' | 'sandbox' | 'start' | 'flags' | 'protection'> & {
    readonly sandbox: Sandbox;
  };

function contextOf(request: RunRequest, opened: Opened): RunContext {
  const { project, settings, agents, reviewer, env, resumed, random, ownChecks, onChildEvent, sendCommit } =
    request;
  const { stopping, abort } = opened.stop;
  const limits = resumed?.past.limits;
  return {
    ...opened,
    ...{ stopping, abort, project, settings, agent: agents[0], ownChecks, onChildEvent, sendCommit },
    included: undefined,
    roster: createRoster(agents, limits),
    ...(reviewer && { reviewers: createRoster([reviewer, ...agents.slice(1)], limits) }),
    ...tracingOf(settings, env, opened.runId),
    ...(random && { random }),
    budget: request.child?.budget ?? request.budget,
    gate: request.child?.gate,
    isLane: (request.child?.gate ?? request.child?.laneSetUp ?? request.places) !== undefined,
    isExposed: request.child !== undefined && opened.sandbox.contained === 'none',
  };
}

/** The first event of a run, or of its resumption: what it is, for every reader. */
function announce(
  { job, settings, resumed, child }: RunRequest,
  { emit, runId, past, meter, goal, agent, cwd }: RunContext,
  { workplace, steps, sandbox }: { workplace: Workplace; steps: Steps | LaneDrive; sandbox: Sandbox },
): void {
  // A lane is about what it works on, whatever the whole is called.
  const title = child ? workplace.title : (settings.title ?? workplace.title);
  const head: RunHead = {
    runId,
    command: job.command,
    agent: agent.name,
    ...defined({ model: agent.model, title }),
    maxIterations: goal.limits.maxIterations,
    checks: steps.checks.map(check => check.command),
    cwd,
    ...defined({ sandbox: sandbox.words, forkOf: workplace.given.forkOf }),
    contained: sandbox.contained,
    ...(settings.proof === 'sealed' && { sealed: settings.only }),
  };
  if (resumed) {
    const draft = { type: 'run-resumed', ...head, ...resumed.repairs, step: 'next', iteration: 0 } as const;
    const after = fold(past(), { ...draft, time: past().time.latest });
    emit({ ...draft, ...resumedStep(after, goal) });
  } else emit({ type: 'run-started', ...head });
  meter.begin();
}

/** The runs of a parallel run, with what that gives them. */
function laneRuns(context: RunContext): LaneRuns {
  const own = laneSettings(context.settings);
  const settingsOf = ({ checks }: ChildRequest) => (checks ? { ...own, checks } : own);
  const requestOf = (child: ChildRequest, job: Job, agent?: ChosenAgent): RunRequest => {
    const [first, ...others] = context.roster.agents as readonly [ChosenAgent, ...ChosenAgent[]];
    const reviewer = context.reviewers?.agents[0];
    return {
      ...{ job, settings: settingsOf(child), agents: [agent ?? first, ...others], child },
      ...pick(context, 'project', 'clock', 'flags', 'random'),
      ...pick(child, 'env', 'stop', 'onEvent'),
      ...(reviewer && { reviewer }),
    };
  };
  return {
    open: (child, job, agent) => openRun(requestOf(child, job, agent)),
    async resume(child, lane, agent) {
      const { id, worktree } = child;
      const again = await reopen(id, {
        ...{ project: context.project, env: child.env, lane },
        async continueWith({ doubts: [what] }) {
          worktree.release(); // it is opened again with the run
          const fix = `look at it with \`ralph log ${id}\`; \`ralph cancel --remove ${worktree.name}\` gives it up`;
          return what === undefined ? { settings: settingsOf(child) } : [{ where: id, what, fix }];
        },
      });
      if (!('job' in again)) return again[0] as Problem;
      return openRun({ ...requestOf(child, again.job, agent), resumed: again.resumed });
    },
  };
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

/** A job that was prepared before the run was cut off has to know it: what counts now may be something else. */
async function recall(steps: Steps, { emit, past }: EngineWorld): Promise<void> {
  const before = past().prepared;
  if (!before) return;
  const prepared = await steps.recall(past(), before);
  if (prepared.kept !== before.kept || prepared.inputs !== before.inputs)
    emit({ type: 'prepared', ...prepared });
}

/** What was opened is closed in the opposite order, each thing once, and all of it whatever fails. */
function createCleanUp() {
  const actions: (() => unknown)[] = [];
  const now = async (): Promise<void> => {
    const action = actions.pop();
    if (!action) return;
    try {
      await action();
    } finally {
      await now();
    }
  };
  return { later: (action: () => unknown): void => void actions.push(action), now };
}

/** What agent and checks of a run get of OpenTelemetry: the trace to join, and the variables only where the user wants that. */
function tracingOf(
  { otel, otelEnv: passesOn }: Pick<Settings, 'otel' | 'otelEnv'>,
  env: Env,
  runId: string,
): { readonly env: Env; readonly trace?: string } {
  const target = otlpTarget(env, otel);
  if (!target || 'refused' in target) return { env };
  const trace = runTrace(runId, env);
  if (passesOn) return { env: otelEnv(env, runId), trace };
  // Several agents begin to send traces as soon as they see one of these.
  const others = Object.entries(env).filter(([name]) => !name.startsWith('OTEL_'));
  return { env: Object.fromEntries(others), trace };
}

/** Of all runs of a project the latest: what an older one has left running would have been found by those. */
const MOST_LOOKED_AT = 200;

/** What a run that was killed has left running would work beside the next one: it is ended first. Returns what the user should know of it. */
async function endOrphans(project: ProjectPaths): Promise<readonly string[]> {
  const running = new Set<unknown>(owners());
  running.delete(ownerName());
  const said: string[] = [];
  if (running.size === 0) return said; // then the runs need not be looked at
  for (const id of listRuns(project).slice(-MOST_LOOKED_AT)) {
    const paths = runPaths(project, id);
    const owner = ownerOfRun(paths);
    // A program may run several: of one that has ended nothing is left, whoever has its name.
    if (!running.has(owner) || !['crashed', 'unstarted'].includes(overviewOf(id, paths).state)) continue;
    const ended = await endOwned(owner);
    if (ended > 0)
      said.push(`${ended} process(es) of the run ${id}, which was killed, were still running: ended.`);
  }
  return said;
}
