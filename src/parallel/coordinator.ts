/**
 * Drives a parallel run: begins lanes, works the queue, and ends when nothing is left to do. All it knows is the board, which is folded from its
 * ledger, and where the integration branch stands: after a crash it continues from there.
 */

import { proofOfRun } from '../domain/checks/proof.ts';
import { admit } from '../domain/lanes/admit.ts';
import { type Board, boardUsage, type Lane, laneUsage } from '../domain/lanes/board.ts';
import { highest, type Paid, type Sum, sumOf } from '../domain/run/budget.ts';
import type { RecordedEvent } from '../domain/run/event.ts';
import { timeIsUp } from '../domain/run/limits.ts';
import { isRefusal } from '../domain/run/remote-answer.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { successOf } from '../domain/run/verdict.ts';
import { defined } from '../domain/text/fields.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { addUsage } from '../domain/turn/usage.ts';
import { type EngineWorld, warn } from '../run/steps.ts';
import type { Budget } from '../run/turns/budget.ts';
import type { RunContext } from '../run/turns/context.ts';
import { limitsOf } from '../run/turns/goal.ts';
import { createWakeUp } from '../run/wait.ts';
import { sendMessage } from '../store/inbox.ts';
import { runPaths } from '../store/paths.ts';
import { createIntegration, type Integration } from '../workspace/integration.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import { commitOf } from '../workspace/refs.ts';
import { createAccounts } from './accounts.ts';
import { type Before, createBudget } from './budget.ts';
import { createCheckGate } from './check-gate.ts';
import { type Ended, endRun } from './ending.ts';
import { createPlaces } from './lane-place.ts';
import type { LaneWork } from './lane-work.ts';
import { createLanes, endedChild, type Lanes, type LaneWorld, type RemoteLanes } from './lanes.ts';
import { worktreeName } from './names.ts';
import { changedInputs, clearAway, createQueue, type MergeQueue, movedWords } from './queue.ts';

export interface CoordinatorOptions {
  readonly work: LaneWork;
  readonly parts: RunContext;
  readonly runId: string;
  /** How many lanes at a time. */
  readonly slots: number;
  /** Absent: all of it is here. */
  readonly elsewhere?: RemoteLanes | undefined;
  onChildEvent(lane: string, event: RecordedEvent): void;
}

/** Milliseconds after which it looks again, also when nothing has woken it. */
const LOOK_EVERY = 200;

export async function coordinate(options: CoordinatorOptions, world: EngineWorld): Promise<LoopResult> {
  const { parts, runId } = options;
  const own = await openOwnGit({ cwd: parts.project.root, env: parts.env });
  if (isProblem(own)) return endRun(options, world, { reason: 'invalid_config', detail: formatProblem(own) });
  const here = createIntegration(own, runId);
  const integration = (await options.elsewhere?.integration(here, world)) ?? here;
  if (isProblem(integration)) return endRun(options, world, endedBy(integration));
  const problem = await begin(options, world, integration);
  if (problem) return endRun(options, world, endedBy(problem));
  const ended = await untilOver(options, world, integration);
  return endRun({ ...options, integration }, world, ended);
}

/** What can be had later is tried again; of all else somebody hears in words. */
function endedBy(problem: Problem | string): Pick<Ended, 'reason' | 'detail'> {
  if (typeof problem === 'string') return { reason: 'needs_you', detail: problem };
  const isAway = isRefusal(problem) && problem.answer !== 'stop';
  return { reason: isAway ? 'interrupted' : 'needs_you', detail: formatProblem(problem) };
}

/** The board of a new run, or what a crash has left between two lines of the ledger. */
async function begin(
  { work, parts }: CoordinatorOptions,
  world: EngineWorld,
  integration: Integration,
): Promise<Problem | string | undefined> {
  const { past, emit } = world;
  const { board } = past();
  if (board) return reconcile({ parts, work }, world, integration, board);
  const { base, isThere } = await startOf(integration, work.branch);
  if (base === undefined)
    return 'There is no commit to start from: `git commit --allow-empty -m start` makes one.';
  const tip = await firstTip(work, world, integration, base);
  if (isProblem(tip)) return tip;
  const now = await integration.tip();
  const made = now === tip || (await integration.swap(now, tip));
  if (made !== true) return isProblem(made) ? made : movedWords(integration);
  const undelivered = tip === base ? undefined : await integration.deliver(tip, base);
  if (undelivered) return undelivered;
  await integration.publish(undefined);
  work.record?.();
  emit({
    type: 'board-set',
    base,
    tip,
    branch: work.branch,
    ...(isThere && { isThere }),
    lanes: work.lanes(),
  });
  const short = tooFew(work, limitsOf(parts.settings).maxIterations);
  if (short !== undefined) warn(emit, short);
  return undefined;
}

/** One iteration each, and a review of each, where there are reviews, is the least. undefined: it may be enough. */
export function tooFew(
  { command, isReviewed, lanes }: Pick<LaneWork, 'command' | 'isReviewed' | 'lanes'>,
  most: number,
): string | undefined {
  const { length } = lanes();
  const least = length * (isReviewed ? 2 : 1);
  if (most === 0 || least <= most) return undefined;
  const what = command === 'prd' ? 'stories' : 'tasks';
  const why = isReviewed ? 'one to build and one to review each' : 'one each';
  return `${length} ${what} need ${least} iterations at least, ${why}, and the limit for all together is ${most}. The rest waits: --max-iterations ${2 * least} gives room.`;
}

async function startOf(
  { own }: Integration,
  branch: string | null,
): Promise<{ readonly base?: string; readonly isThere?: true }> {
  const named = branch === null ? undefined : await commitOf(own.repository, `refs/heads/${branch}`);
  const base = named ?? (await own.head()).commit;
  if (base === undefined || isProblem(await own.treeOf(base))) return {};
  return { base, ...(named !== undefined && { isThere: true }) };
}

/** The list as the user has it, where it is not committed. */
async function firstTip(work: LaneWork, { clock }: EngineWorld, integration: Integration, base: string) {
  const before = await integration.own.treeOf(base);
  if (isProblem(before)) return before;
  const tree = await integration.withFiles(before, work.firstFiles());
  if (isProblem(tree) || tree === before) return isProblem(tree) ? tree : base;
  return integration.commit({
    tree,
    parents: [base],
    message: 'Add the list of what is to be done',
    isSigned: true,
    date: clock.now(),
  });
}

async function reconcile(
  { parts, work }: Pick<CoordinatorOptions, 'parts' | 'work'>,
  { emit }: EngineWorld,
  integration: Integration,
  board: Board,
): Promise<string | undefined> {
  const now = await integration.tip();
  if (now === undefined) return 'The integration branch is gone from the state folder: start a new run.';
  const open = board.queue.find(({ candidate }) => candidate?.commit === now);
  const tree = await integration.own.treeOf(now);
  if (isProblem(tree)) return formatProblem(tree);
  if (open?.candidate) {
    const { number, commit } = open.candidate;
    const inputs = await changedInputs({ parts, integration, work, board: () => board }, commit, open.story);
    emit({ type: 'landed', story: open.story, number, commit, tree, ...inputs });
  } else if (now !== board.tip) return movedWords(integration);
  await integration.deliver(now, board.base);
  const moved = await integration.publish(board.tip);
  if (moved !== undefined) warn(emit, moved);
  return undefined;
}

async function untilOver(
  options: CoordinatorOptions,
  world: EngineWorld,
  integration: Integration,
): Promise<Ended> {
  const { work, parts, runId, slots } = options;
  const { past, emit, stop, clock } = world;
  const board = () => past().board as Board;
  for (const { story, commit } of board().landed) {
    work.landed(story, childOf(parts, board(), story));
    await clearAway(parts, worktreeName(runId, { id: story }, board()), commit);
  }
  const limits = limitsOf(parts.settings);
  const accounts = createAccounts({
    clock,
    onLimit: (agent, until) => emit({ type: 'account-limited', agent, until }),
  });
  const budget = createBudget(limits, spentBefore(parts, board()), accounts);
  const { room } = options.elsewhere?.budget ?? budget;
  const places = createPlaces({ parts, runId, board, stop });
  const common = { work, parts, integration, board, places, gate: createCheckGate() };
  const laneWorld: LaneWorld = {
    ...common,
    runId,
    stop,
    budget,
    onChildEvent: options.onChildEvent,
  };
  const lanes = createLanes(laneWorld, options.elsewhere?.workOn);
  const queue = createQueue({ ...common, runId, lanes: slots });
  passOnPauses(world, parts, board);
  const wakeUp = createWakeUp(stop.stopping);
  const agents = parts.roster.agents.map(({ name }) => name);
  for (;;) {
    const late = timeIsUp(limits.maxTime, { elapsed: world.meter.elapsed() });
    if (late && !stop.requested()) stop.request(late.reason, 'now', late.detail);
    world.meter.pause(await world.steering.pausePoint(0));
    const now = { slots, isLimited: accounts.isLimited(agents), hasMoney: room() === 'yes' };
    const starts =
      stop.requested() || queue.halted() ? [] : [...unfinished(board(), lanes), ...admit(board(), now)];
    for (const id of starts)
      if (!lanes.isRunning(id) && lanes.running() < slots) void lanes.work(id).then(wakeUp.wake, wakeUp.fail);
    const hasMoved = await queue.step(wakeUp.wake);
    wakeUp.throwIfFailed();
    if (hasMoved) continue;
    if (starts.length === 0 && lanes.running() === 0 && !queue.isBusy()) {
      const chosen = await chooseOne({ ...options, budget: budget.of('') }, world, integration);
      if (!chosen) {
        await places.closeAll();
        return { ...endOf(options, world, { paid: room(), queue }), open: lanes.openUsage() };
      }
    }
    await wakeUp.wait(LOOK_EVERY);
    await world.flushed();
  }
}

/** Also by runs that were cut off with the whole: they count from where they were. */
function spentBefore(parts: RunContext, board: Board): Before {
  const cutOff = board.lanes.flatMap(({ runs, used }) => {
    const last = runs.at(-1);
    const child = last === undefined || used[last] ? undefined : endedChild({ parts }, last);
    return child?.past.totals.usage ?? [];
  });
  const known = boardUsage(board);
  const all = [...(known ? [known] : []), ...cutOff];
  const turns = board.lanes.reduce((sum, { iterations = 0 }) => sum + iterations, 0);
  const ended = board.lanes
    .flatMap(({ runs }) => runs)
    .flatMap(run => endedChild({ parts }, run)?.past.results ?? []);
  const prices = ended.map(({ cost, tokens }) =>
    sumOf({ ...(cost !== null && { cost }), ...(tokens && { tokens }), costSource: 'agent' }),
  );
  return {
    spent: sumOf(all.length === 0 ? { costSource: 'unknown' } : all.reduce(addUsage), turns),
    dearest: prices.reduce<Sum | undefined>(highest, undefined),
  };
}

/** Lanes whose run was cut off with the whole, and those whose work is proven and not in the queue. */
function unfinished({ lanes, queue }: Board, { isRunning }: Lanes): readonly string[] {
  const isQueued = (lane: Lane) => queue.some(({ story }) => story === lane.id);
  return lanes
    .filter(
      lane =>
        (lane.state === 'building' || lane.state === 'reviewing') && !isQueued(lane) && !isRunning(lane.id),
    )
    .map(({ id }) => id);
}

function childOf(parts: RunContext, { lanes }: Board, story: string) {
  const child = lanes.find(({ id }) => id === story)?.runs.at(-1);
  return child === undefined ? undefined : endedChild({ parts }, child);
}

/** Of several attempts one goes into the queue, the others are kept. Returns whether something was done. */
async function chooseOne(
  { work, parts, budget }: CoordinatorOptions & { readonly budget: Budget },
  { past }: EngineWorld,
  integration: Integration,
): Promise<boolean> {
  const board = past().board as Board;
  const kept = board.lanes.filter(({ state, commit }) => state === 'kept' && commit !== undefined);
  const isOver = board.queue.length > 0 || board.landed.length > 0;
  if (!work.choose || kept.length === 0 || isOver || parts.stopping.aborted) return false;
  const attempts = await Promise.all(
    kept.map(async ({ id: lane, commit: head = '', ...rest }) => {
      const diff = await integration.own.diff(`${board.base}^{tree}`, `${head}^{tree}`);
      return {
        lane,
        head,
        diff: isProblem(diff) ? undefined : diff,
        cost: laneUsage(rest)?.cost ?? null,
        score: scoreOf(childOf(parts, board, lane)),
      };
    }),
  );
  const { lane, why } = await work.choose({ ...parts, budget }, attempts);
  const head = attempts.find(each => each.lane === lane)?.head;
  const patch = head === undefined ? undefined : await integration.patchOf(board.base, head, work.ownPaths);
  if (head === undefined || patch === undefined || isProblem(patch)) return false;
  parts.emit({ type: 'notice', level: 'info', text: `${lane} was chosen: ${why}` });
  parts.emit({ type: 'queued', story: lane, head, patch, chosen: why });
  return true;
}

function scoreOf(child: ReturnType<typeof endedChild>): number | null {
  const { mutation } = child?.past.last ?? {};
  return mutation && !('failed' in mutation) ? mutation.score : null;
}

/** Who pauses the whole pauses every run of it, each between two turns. */
function passOnPauses({ steering, clock }: EngineWorld, { project }: RunContext, board: () => Board): void {
  const send = (kind: 'pause' | 'continue') => {
    for (const { isRunning, runs } of board().lanes)
      if (isRunning) sendMessage(runPaths(project, runs.at(-1) ?? ''), { kind }, clock.now());
  };
  steering.care({ begin: async () => send('pause'), end: async () => send('continue') });
}

interface Ending {
  readonly paid: Paid;
  readonly queue: MergeQueue;
}

function endOf(
  { work }: CoordinatorOptions,
  { stop, past, disk }: EngineWorld,
  { paid, queue }: Ending,
): Omit<Ended, 'open'> {
  const board = past().board as Board;
  const requested = stop.requested();
  if (requested) return { ...defined({ detail: disk.trouble() }), ...requested };
  const halted = queue.halted();
  if (halted !== undefined) return { reason: 'needs_you', detail: halted };
  const open = board.lanes.filter(({ state }) => state !== 'landed' && state !== 'kept');
  const isChosen = work.choose && board.landed.length > 0 && !open.some(({ isRound }) => isRound);
  if (open.length === 0 || isChosen)
    return { reason: successOf(work, proofOfRun(past()).level !== 'claimed') };
  if (typeof paid === 'object') return paid;
  const detail = open
    .map(({ id, why, needs }) => `${id}: ${why ?? `it waits for ${needs.join(', ')}`}`)
    .join('; ');
  return { reason: 'needs_you', detail };
}
