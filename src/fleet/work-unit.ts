/** One worker and one unit, from the claim to its release: the place, the run, and what comes of it. */

import { neededTrees } from '../domain/run/best.ts';
import type { RecordedEvent } from '../domain/run/event.ts';
import { isRefusal } from '../domain/run/remote-answer.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { NOTHING_YET, type RunState } from '../domain/run/state.ts';
import { isSuccess } from '../domain/run/stop-reason.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { joinWords } from '../platform/shell.ts';
import { createStopRequest, type StopRequest } from '../run/stop.ts';
import type { Budget } from '../run/turns/budget.ts';
import { putMessage } from '../store/inbox.ts';
import type { RunCopy } from '../store/run-store.ts';
import { createIntegration } from '../workspace/integration.ts';
import { openRemote, type Remote } from '../workspace/remote.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { collectArtifacts, putArtifacts } from './artifacts.ts';
import { type Patience, untilAnswered } from './away.ts';
import { unitBudget } from './budget.ts';
import { createCarrier } from './carry.ts';
import { heardIn, messageName, openCommands, type UnitCommand } from './commands.ts';
import type { Database, Querying } from './database.ts';
import { copyLedger, type LedgerCopy } from './ledger-copy.ts';
import { isLeft, noteLeft, tearDownLane } from './leftovers.ts';
import { getReady, type Place, pathsOf, removePlace, shownAs } from './place.ts';
import { carryRef, heldRef, shownBranch, type Unit } from './unit.ts';
import {
  type Claim,
  type Ending,
  hasPullRequest,
  MOST_REFUSALS,
  MOST_WAITS,
  noteNotShown,
  releaseUnit,
  writeProgress,
} from './units.ts';

/** Runs a unit in its place: the same run as on one machine. */
export type RunUnit = (unit: Unit, place: Place, world: RunWorld) => Promise<LoopResult | Problem>;

export interface RunWorld {
  readonly env: Env;
  readonly stop: StopRequest;
  readonly copy: RunCopy;
  readonly budget: Budget;
  /** It was begun before: its folder and its ledger are there. */
  readonly isBegun: boolean;
  /** Nothing was done in its place yet. */
  readonly isFresh: boolean;
  readonly remote: Remote;
  readonly database: Database;
  readonly worker: string;
  onEvent(event: RecordedEvent, past: RunState): void;
  sendCommit(commit: string): Promise<string | Problem>;
  /** The commands so far are put into its inbox: before its first turn, and when nothing clears that any more. */
  hear(): Promise<void>;
}

export interface UnitWorld {
  readonly database: Database;
  readonly worker: string;
  /** The worker's own. */
  readonly folder: string;
  readonly env: Env;
  readonly run: RunUnit;
  /** Ends the lease, in the transaction that releases the unit. */
  finishJob(tx: Querying): Promise<unknown>;
  /** Another worker has taken it over: said once. */
  onLost(): void;
  say(what: string, unit: string, more?: Readonly<Record<string, unknown>>): void;
}

export interface HeldUnit {
  readonly unit: Unit;
  readonly over: Promise<void>;
  /** Somebody else has claimed it. */
  lost(): void;
  cancel(how: 'now' | 'gently'): void;
  /** As often as it is open: each is heard once. */
  tell(command: UnitCommand): void;
  /** Finish or leave the step it is in, and give the unit up. */
  leave(how: 'now' | 'after-this-step'): void;
  flush(): Promise<void>;
}

/** A wait that is longer holds no slot: the unit is given up until then. */
const LONGEST_WAIT_HERE = 20_000;
/** Milliseconds for bringing the work to safety when the step was left. */
const LAST_PUSH = 8_000;
/** For what takes away what was made for a lane: else the next worker here does that, and the work can still be pushed. */
const LAST_TEARDOWN = 4_000;

export function holdUnit({ unit, before }: Claim, world: UnitWorld): HeldUnit {
  const stop = createStopRequest();
  const cut = new AbortController();
  const cutSoon = () => setTimeout(() => cut.abort(), LAST_PUSH).unref();
  const held: Held = {
    ...{ unit, stop, isLost: false, isListening: false, cut: cut.signal, commands: [] },
    lost() {
      if (!held.isLost) world.onLost();
      held.isLost = true;
      stop.request('cancelled', 'now', 'Another worker has taken this unit over.');
      cut.abort();
    },
  };
  world.say('claimed', unit.id, { fence: unit.fence, ...(before !== null && { from: before }) });
  return {
    unit,
    over: workOn(before, world, held),
    lost: held.lost,
    cancel(how) {
      if (stop.abort.aborted) return;
      stop.request('cancelled', how === 'now' ? 'now' : 'after-this-step');
      if (how === 'now') cutSoon();
    },
    tell: command => tell(world, held, command),
    leave(how) {
      stop.request('interrupted', how);
      if (how !== 'now') return;
      setTimeout(() => stop.request('interrupted', 'now'), LAST_TEARDOWN).unref();
      cutSoon();
    },
    flush: async () => held.copy?.flush(),
  };
}

function tell(world: UnitWorld, held: Held, command: UnitCommand): void {
  // Before that its place may be made anew, with its inbox, or emptied for whoever resumes it by hand.
  if (!held.isListening || held.commands.some(({ id }) => id === command.id)) return;
  putMessage(pathsOf(world, held.unit), command.body, messageName(command));
  held.commands.push(command);
}

interface Held {
  readonly unit: Unit;
  readonly stop: StopRequest;
  lost(): void;
  /** Whatever is exchanged with the remote ends. */
  readonly cut: AbortSignal;
  isLost: boolean;
  /** Seconds that its account is limited for. */
  parkedFor?: number;
  trouble?: string | undefined;
  copy?: LedgerCopy;
  isListening: boolean;
  /** The commands to it, the oldest first. */
  readonly commands: UnitCommand[];
  /** What the remote does not take, in its words. */
  refused?: string;
}

async function workOn(before: string | null, world: UnitWorld, held: Held): Promise<void> {
  const { unit, stop, cut } = held;
  const { say, database, env } = world;
  const ready = await getReady({ unit, before }, world, stop.abort);
  if (isProblem(ready)) {
    const why = formatProblem(ready);
    const isReleased = await release(world, held, afterTrouble(ready));
    return say('cannot-begin', unit.id, { why, isReleased });
  }
  const { place, paths, after, isBegun, isFresh } = ready;
  const remote = await openRemote(place.own, env, unit.repoUrl, cut);
  const figures: Figures = { cost: unit.cost, iterations: unit.iterations };
  let past: RunState = NOTHING_YET;
  const push = (commit: string, at: number) => remote.put(commit, carryRef(unit, at));
  const copy = copyLedger({
    after,
    figures: () => figures,
    carry: createCarrier(place.own, paths, push, () => neededTrees(past)).carry,
    write: progress =>
      writeProgress(database, unit, { ...progress, heard: heardIn(progress.lines, held.commands) }),
    refused(problem) {
      held.refused = formatProblem(problem);
      stop.request('scm_failed', 'now', held.refused);
    },
    lost: held.lost,
    troubled: error => troubled(world, held, error),
    abort: stop.abort,
  });
  held.copy = copy;
  for (const line of ready.unsent) copy.line(line);
  const budget = unitBudget({ database, unit, now: Date.now, cut });
  const result = await world.run(unit, place, {
    ...{ env, stop, copy, budget, isBegun, isFresh, remote, database, worker: world.worker },
    onEvent(event, state) {
      past = state;
      seen(event, figures, held);
    },
    sendCommit: commit => sendCommit(unit, place, remote, commit),
    async hear() {
      held.isListening = true;
      // A database that is away now is asked again by the worker.
      for (const each of await openCommands(database, unit.id).catch(() => [])) tell(world, held, each);
    },
  });
  await budget.flushed();
  const left = await tearDownLane(paths, env, stop.insisted);
  if (left) say('left', unit.id, { why: formatProblem(left) });
  if (held.isLost) say('lost', unit.id);
  const isKept = !held.isLost && (await giveUp(world, held, { place, remote }, result));
  if (!isKept && !isLeft(paths)) removePlace(place.root, env);
}

/** Each reason for waiting is said once. */
function troubled({ say, database }: UnitWorld, held: Held, error: unknown): void {
  const why = error === undefined ? undefined : database.words(error);
  if (why !== held.trouble && why !== undefined) say('waits', held.unit.id, { why });
  held.trouble = why;
}

/** Under a name of this holder's own. */
async function sendCommit(
  unit: Unit,
  { own }: Place,
  remote: Remote,
  commit: string,
): Promise<string | Problem> {
  const ref = heldRef(unit, 'aside');
  const problem = (await own.bring(commit)) ?? (await remote.put(commit, ref));
  return problem ?? joinWords(['git', 'fetch', unit.repoUrl, ref]);
}

/** Of the whole run. */
interface Figures {
  cost: number | null;
  iterations: number;
}

function seen(event: RecordedEvent, figures: Figures, held: Held): void {
  if (event.type === 'iteration-ended') {
    figures.iterations = event.iteration;
    figures.cost = event.usage.cost ?? figures.cost;
  }
  if (event.type !== 'waiting' || event.until === undefined) return;
  const left = event.until - Date.now();
  if (left < LONGEST_WAIT_HERE) return;
  held.parkedFor = left / 1000;
  held.stop.request('interrupted', 'now');
}

/** Another worker may be let in where this one is not. */
function afterTrouble(problem: Problem): Ending {
  const isRefused = isRefusal(problem) && problem.answer === 'stop';
  return { state: 'parked', trouble: formatProblem(problem), most: isRefused ? MOST_REFUSALS : MOST_WAITS };
}

/** For good or for now. Returns whether its place is kept: this worker may get it again, or its work is nowhere else. */
async function giveUp(
  world: UnitWorld,
  held: Held,
  at: { readonly place: Place; readonly remote: Remote },
  result: LoopResult | Problem,
): Promise<boolean> {
  const { unit, parkedFor, stop, refused } = held;
  const { say } = world;
  const letGo = async (ending: Ending, said: string, why?: string) => {
    const isOurs = await release(world, held, ending);
    say(isOurs ? said : 'lost', unit.id, why === undefined ? {} : { why });
    return true;
  };
  const refuse = (why: string) => {
    const detail = `${why}. The work is on the worker ${world.worker}, in ${at.place.root}`;
    noteLeft(pathsOf(world, unit), why);
    return letGo({ state: 'stopped', detail, reason: 'scm_failed' }, 'stopped', detail);
  };
  if (refused !== undefined) return refuse(refused);
  if (isProblem(result)) {
    const why = formatProblem(result);
    if (isRefusal(result) && result.answer === 'wait') return letGo(afterTrouble(result), 'parked', why);
    return !(await letGo({ state: 'stopped', detail: why }, 'stopped', why));
  }
  if (result.stopReason === 'interrupted') {
    if (parkedFor !== undefined) {
      const detail = 'its account is limited';
      return letGo({ state: 'parked', seconds: parkedFor, detail }, 'parked', detail);
    }
    if (stop.requested()) return letGo({ state: 'ready' }, 'released');
    // Nobody asked for it: the remote could not be reached, and would not be a moment later.
    const trouble = result.detail ?? '';
    return letGo({ state: 'parked', trouble, most: MOST_WAITS }, 'parked', trouble);
  }
  const head = await headOf(world, unit, at, result);
  if (!isProblem(head)) return finish(world, held, at.remote, result, head);
  const why = formatProblem(head);
  if (isRefusal(head) && head.answer !== 'wait') return refuse(why);
  return letGo(afterTrouble(head), 'released', why);
}

/** What came of it is on record, and only then shown under the name of the unit. */
async function finish(
  world: UnitWorld,
  held: Held,
  remote: Remote,
  result: LoopResult,
  head: string,
): Promise<boolean> {
  const { say, database } = world;
  const { unit } = held;
  const { stopReason } = result;
  const failed = stopReason === 'cancelled' ? 'cancelled' : 'stopped';
  const state = isSuccess(stopReason) ? 'done' : failed;
  if (!(await release(world, held, { state, result, head }, async () => {}))) {
    say('lost', unit.id);
    return true;
  }
  // That of a list was moved story by story, and by nobody else.
  const isOthers = unit.kind === 'prd' || (await hasPullRequest(database, unit.id));
  const shown = isOthers ? undefined : await remote.show(shownAs(unit, head));
  if (shown) say('not-shown', unit.id, { why: formatProblem(shown) });
  const lasting = patienceOf(world, held);
  if (shown?.answer === 'stop')
    await untilAnswered(database, () => noteNotShown(database, unit, formatProblem(shown)), lasting);
  // Else whoever gets the job tries it again.
  if (!shown || shown.answer === 'stop')
    await untilAnswered(database, () => world.finishJob(database), lasting);
  say(state, unit.id, { reason: stopReason, head });
  return false;
}

/** A database that is away is waited for. False: the unit is somebody else's, or soon will be. */
async function release(
  world: UnitWorld,
  held: Held,
  ending: Ending,
  endLease: (tx: Querying) => Promise<unknown> = world.finishJob,
): Promise<boolean> {
  const { unit } = held;
  const give = () =>
    releaseUnit(world.database, unit, ending, async tx => {
      await keepFiles(tx, world, unit);
      await endLease(tx);
    });
  return (await untilAnswered(world.database, give, patienceOf(world, held))) === true;
}

function patienceOf(world: UnitWorld, held: Held): Patience {
  return { troubled: error => troubled(world, held, error), abort: held.cut };
}

/** For readers on other machines. */
function keepFiles(tx: Querying, world: UnitWorld, unit: Unit): Promise<void> {
  return putArtifacts(tx, unit.id, collectArtifacts(pathsOf(world, unit), createRedactor(world.env)));
}

/** What came of it, pushed under this holder's own name: where the branch of a list stands, else all that is in the files. */
async function headOf(
  { env }: UnitWorld,
  unit: Unit,
  { place, remote }: { readonly place: Place; readonly remote: Remote },
  { proof }: LoopResult,
): Promise<string | Problem> {
  const commit = async () => {
    const name = shownBranch(unit);
    if (unit.kind === 'prd') return landedHead(unit, place, remote);
    const branch = await openStoryBranch({ cwd: place.root, env }, name, unit.base);
    if (isProblem(branch)) return branch;
    const isLane = unit.parent !== null;
    const save = isLane ? branch.commitWork : branch.commitAll;
    const saved = await save(proof.tree ?? undefined, unit.title);
    return isProblem(saved) ? saved : ((await branch.own.bring(saved.commit)) ?? saved.commit);
  };
  const head = await commit();
  return isProblem(head) ? head : ((await remote.put(head, heldRef(unit, 'work'))) ?? head);
}

/** What has landed; where somebody else has moved the branch, what is on it is not what came of the list. */
async function landedHead(unit: Unit, { own }: Place, remote: Remote): Promise<string | Problem> {
  const landed = await createIntegration(own, unit.id).tip();
  if (landed !== undefined) return landed;
  const ref = `refs/heads/${shownBranch(unit)}`;
  const there = await remote.tip(ref);
  if (there === undefined || isProblem(there)) return there ?? unit.base;
  return (await remote.bring([ref])) ?? there;
}
