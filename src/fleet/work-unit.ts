/** One worker and one unit, from the claim to its release: the place, the run, and what comes of it. */
import type { RecordedEvent } from '../domain/event.ts';
import { pick } from '../domain/fields.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import type { Sum } from '../domain/purse.ts';
import type { LoopResult } from '../domain/result.ts';
import { createRedactor } from '../domain/secrets.ts';
import { isSuccess } from '../domain/stop-reason.ts';
import { totalTokens } from '../domain/usage.ts';
import { createStopRequest, type StopRequest } from '../engine/stop.ts';
import { sendMessage } from '../store/inbox.ts';
import type { RunCopy } from '../store/run-store.ts';
import type { Shared } from '../turns/shared.ts';
import { openRemote, type Remote } from '../workspace/remote.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { collectArtifacts, putArtifacts } from './artifacts.ts';
import { createCarrier } from './carry.ts';
import type { Told } from './commands.ts';
import type { Database } from './database.ts';
import { copyLedger, type LedgerCopy } from './ledger-copy.ts';
import { type Place, removePlace } from './place.ts';
import { getReady, pathsOf } from './ready.ts';
import { sharedOfUnit } from './shared.ts';
import { carryRef, shownBranch, type Unit, workRef } from './unit.ts';
import { type Claim, type Ending, type Querying, releaseUnit, writeProgress } from './units.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Runs a unit in its place: the same run as on one machine. */
export type RunUnit = (unit: Unit, place: Place, world: RunWorld) => Promise<LoopResult | Problem>;

export interface RunWorld {
  readonly env: Env;
  readonly stop: StopRequest;
  readonly copy: RunCopy;
  readonly shared: Shared;
  /** It was begun before: its folder and its ledger are there. */
  readonly isBegun: boolean;
  /** Nothing was done in its place yet. */
  readonly isFresh: boolean;
  readonly remote: Remote;
  readonly database: Database;
  readonly worker: string;
  onEvent(event: RecordedEvent): void;
}

export interface UnitWorld {
  readonly database: Database;
  readonly worker: string;
  /** The worker's own. */
  readonly folder: string;
  readonly env: Env;
  readonly run: RunUnit;
  /** Ends the lease, in the transaction that releases the unit. */
  settleJob(tx: Querying): Promise<unknown>;
  /** Another worker has taken it over: said once. */
  onLost(): void;
  say(what: string, unit: string, more?: Readonly<Record<string, unknown>>): void;
}

export interface HeldUnit {
  readonly unit: Unit;
  readonly over: Promise<void>;
  /** Somebody else has claimed it. */
  lost(): void;
  tell(told: Told): void;
  /** Finish or leave the step it is in, and give the unit up. */
  leave(how: 'now' | 'after-this-step'): void;
  flush(): Promise<void>;
}

/** A wait that is longer holds no slot: the unit is given up until then. */
const LONGEST_WAIT_HERE = 20_000;
/** Milliseconds for bringing the work to safety when the step was left. */
const LAST_PUSH = 8_000;

export function holdUnit(claim: Claim, world: UnitWorld): HeldUnit {
  const stop = createStopRequest();
  const { unit } = claim;
  const state: State = { parkedFor: undefined, trouble: undefined, copy: undefined, isLost: false };
  const cut = new AbortController();
  const lost = () => {
    if (!state.isLost) world.onLost();
    state.isLost = true;
    stop.request('cancelled', 'now', 'Another worker has taken this unit over.');
    cut.abort();
  };
  return {
    unit,
    over: workOn(claim, world, { stop, state, lost, cut: cut.signal }),
    lost,
    tell({ body }) {
      if (body.kind === 'cancel') stop.request('cancelled', body.gently ? 'after-this-step' : 'now');
      else sendMessage(pathsOf(world, unit), body, Date.now());
    },
    leave(how) {
      stop.request('interrupted', how);
      if (how === 'now') setTimeout(() => cut.abort(), LAST_PUSH).unref();
    },
    flush: async () => state.copy?.flush(),
  };
}

interface State {
  parkedFor: number | undefined;
  trouble: string | undefined;
  copy: LedgerCopy | undefined;
  isLost: boolean;
}

interface Held {
  readonly stop: StopRequest;
  readonly state: State;
  lost(): void;
  /** Whatever is exchanged with the remote ends. */
  readonly cut: AbortSignal;
}

async function workOn(claim: Claim, world: UnitWorld, held: Held): Promise<void> {
  const { unit } = claim;
  const { say } = world;
  say('claimed', unit.id, { fence: unit.fence, ...(claim.before !== null && { from: claim.before }) });
  const ready = await getReady(claim, world);
  if (isProblem(ready)) {
    // Another worker may reach what this one does not.
    const isReleased = await release(world, unit, {
      state: 'parked',
      seconds: RETRY_AFTER,
      detail: formatProblem(ready),
    });
    say('cannot-begin', unit.id, { why: formatProblem(ready), isReleased });
    return;
  }
  const { place, paths, after, isBegun } = ready;
  const remote = await openRemote(place.own, world.env, unit.repoUrl, held.cut);
  const ref = carryRef(unit.id, unit.fence);
  const carrier = createCarrier(place.own, paths, commit => remote.put(commit, ref));
  const figures: Figures = { cost: unit.cost, tokens: undefined, iterations: unit.iterations };
  const copy = copyLedger({
    after,
    figures: () => figures,
    carry: carrier.carry,
    write: progress => writeProgress(world.database, unit, progress),
    lost: held.lost,
    troubled(why) {
      if (why !== held.state.trouble && why !== undefined) say('waits', unit.id, { why });
      held.state.trouble = why;
    },
    abort: held.stop.abort,
  });
  held.state.copy = copy;
  for (const line of ready.unsent) copy.line(line);
  const shared = sharedOfUnit({
    database: world.database,
    unit,
    nextTurn: () => nextTurn(figures),
    now: Date.now,
    cut: held.cut,
  });
  const result = await world.run(unit, place, {
    ...{ env: world.env, stop: held.stop, copy, shared, isBegun, isFresh: ready.isFresh, remote },
    ...pick(world, 'database', 'worker'),
    onEvent: event => seen(event, figures, held),
  });
  await shared.settled();
  if (held.state.isLost) {
    say('lost', unit.id);
    removePlace(place.root, world.env);
    return;
  }
  await settle(world, unit, { place, result, held, remote });
}

/** Of the whole run. */
interface Figures {
  cost: number | null;
  tokens: number | undefined;
  iterations: number;
}

/** Before anything is known. */
const GUESS: Sum = { cost: 0.5, tokens: 1_000_000, turns: 1 };

/** What is held for a turn: half as much again as turns have used on average, or a guess. */
function nextTurn({ cost, tokens, iterations }: Figures): Sum {
  const typical = (total: number | null | undefined, guess: number) =>
    total && iterations > 0 ? (total / iterations) * 1.5 : guess;
  return { cost: typical(cost, GUESS.cost), tokens: typical(tokens, GUESS.tokens), turns: 1 };
}

function seen(event: RecordedEvent, figures: Figures, held: Held): void {
  if (event.type === 'iteration-ended') {
    figures.iterations = event.iteration;
    figures.tokens = totalTokens(event.usage.tokens);
    figures.cost = event.usage.cost ?? figures.cost;
  }
  if (event.type !== 'waiting' || event.until === undefined) return;
  const left = event.until - Date.now();
  if (left < LONGEST_WAIT_HERE) return;
  held.state.parkedFor = left / 1000;
  held.stop.request('interrupted', 'now');
}

/** Seconds. */
const RETRY_AFTER = 15;

interface Settling {
  readonly place: Place;
  readonly result: LoopResult | Problem;
  readonly held: Held;
  readonly remote: Remote;
}

/** What came of it is pushed under this holder's own name, then recorded, and only then shown under the name of the unit. */
async function settle(
  world: UnitWorld,
  unit: Unit,
  { place, result, held, remote }: Settling,
): Promise<void> {
  const { say } = world;
  if (isProblem(result)) {
    await release(world, unit, { state: 'stopped', detail: formatProblem(result) });
    say('stopped', unit.id, { why: formatProblem(result) });
    removePlace(place.root, world.env);
    return;
  }
  const { parkedFor } = held.state;
  if (result.stopReason === 'interrupted') {
    const detail = parkedFor === undefined ? (result.detail ?? '') : 'its account is limited';
    // Nobody asked for it: the remote could not be reached, and would not be a moment later.
    const isParked = parkedFor !== undefined || !held.stop.requested();
    const isOurs = await release(
      world,
      unit,
      isParked ? { state: 'parked', seconds: parkedFor ?? RETRY_AFTER, detail } : { state: 'ready' },
    );
    say(isOurs ? (isParked ? 'parked' : 'released') : 'lost', unit.id, isParked ? { why: detail } : {});
    return;
  }
  const head =
    unit.kind === 'prd' ? await landed(unit, remote) : await workCommit(world, unit, place, result);
  const pushed = isProblem(head) ? head : await remote.put(head, workRef(unit.id, unit.fence));
  const failed = pushed && isProblem(pushed) ? pushed : undefined;
  const state = isSuccess(result.stopReason)
    ? 'done'
    : result.stopReason === 'cancelled'
      ? 'cancelled'
      : 'stopped';
  if (failed) {
    const why = formatProblem(failed);
    const isOurs = await release(world, unit, { state: 'ready', seconds: RETRY_AFTER, detail: why });
    say(isOurs ? 'released' : 'lost', unit.id, { why });
    return;
  }
  const isOurs = await releaseUnit(world.database, unit, { state, result, head: head as string }, tx =>
    keepFiles(tx, world, unit),
  );
  if (!isOurs) return void say('lost', unit.id);
  // That of a list was moved story by story, and by nobody else.
  const shown =
    unit.kind === 'prd' ? undefined : await remote.put(head as string, `refs/heads/${shownBranch(unit)}`);
  if (shown) say('not-shown', unit.id, { why: formatProblem(shown) });
  else await world.settleJob(world.database);
  say(state, unit.id, { reason: result.stopReason, head });
  removePlace(place.root, world.env);
}

async function release(world: UnitWorld, unit: Unit, ending: Ending): Promise<boolean> {
  return releaseUnit(world.database, unit, ending, async tx => {
    await keepFiles(tx, world, unit);
    await world.settleJob(tx);
  });
}

/** For readers on other machines. */
function keepFiles(tx: Querying, world: UnitWorld, unit: Unit): Promise<void> {
  return putArtifacts(tx, unit.id, collectArtifacts(pathsOf(world, unit), createRedactor(world.env)));
}

/** Where the branch of a list stands. */
async function landed(unit: Unit, remote: Remote): Promise<string | Problem> {
  return (await remote.tip(`refs/heads/${shownBranch(unit)}`)) ?? unit.base;
}

/** All that is in the files, on top of what the run or its agent has committed. */
async function workCommit(
  { env }: UnitWorld,
  unit: Unit,
  { root }: Place,
  { proof }: LoopResult,
): Promise<string | Problem> {
  const branch = await openStoryBranch({ cwd: root, env }, shownBranch(unit));
  if (isProblem(branch)) return branch;
  const saved = await branch.commitAll(proof.tree ?? undefined, unit.title);
  if (isProblem(saved)) return saved;
  return (await branch.own.bring(saved.commit)) ?? saved.commit;
}
