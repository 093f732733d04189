/**
 * A worker: takes units as it has free slots, shows that it is alive, takes commands, and gives everything back when it is asked to
 * end. One loop for all its slots: each look at the database is for all of them.
 */

import { hostname } from 'node:os';
import { isRefusal } from '../domain/run/remote-answer.ts';
import { formatProblem, type Problem } from '../domain/text/problem.ts';
import { createWakeUp } from '../run/wait.ts';
import { admit, allowsRepo } from './admission.ts';
import { untilAnswered } from './away.ts';
import { type Standing, standingOf } from './commands.ts';
import { isLocked, type Querying } from './database.ts';
import { completeJob, type Job, keepBeating, LEASE_TIME } from './lease.ts';
import type { ShownUnit } from './place.ts';
import { flawOf, type Queued, queueOf } from './unit.ts';
import { claimUnit, hasPullRequest, noteNotShown, unitOf } from './units.ts';
import { type HeldUnit, holdUnit, type UnitWorld } from './work-unit.ts';

export interface WorkerOptions extends Omit<UnitWorld, 'finishJob' | 'onLost'> {
  readonly slots: number;
  readonly labels: readonly string[];
  readonly version: number;
  /** Ends when there is nothing more that it could take. */
  readonly once: boolean;
  /** Patterns of the repositories that it works on; none: on all. */
  readonly repos: readonly string[];
  /** Returns why it cannot be shown. */
  showBranch(unit: ShownUnit, abort: AbortSignal): Promise<Problem | undefined>;
  /** The first request: it takes nothing more and gives back what it has. */
  readonly draining: AbortSignal;
}

export interface WorkerFigures {
  readonly busy: number;
  readonly slots: number;
  readonly taken: number;
  readonly finished: number;
  readonly lost: number;
  readonly isDraining: boolean;
  /** Milliseconds since 1970 of the last answer of the database. */
  readonly answeredAt: number;
}

interface Taken {
  readonly held: HeldUnit;
  job: Job;
}

/** Milliseconds. Cancel reaches an agent within two of these. */
const TICK = 500;
const REPORT_EVERY = 3_000;
/** Lists of stories that one worker watches over, beside its slots. */
const MOST_LISTS = 100;
const OUTDATED =
  'the schema of the database was brought up to date by a newer Ralph that this one does not work with; install that one, and start the worker again';
/** How often a branch is shown that the remote does not take: the job comes again when its lease ends, for an hour. */
const MOST_SHOWN = 360;
/** Milliseconds that a step may take to finish after the worker was asked to end; then it is left. */
const GRACE = 14_000;

interface State {
  readonly held: Map<string, Taken>;
  readonly figures: { taken: number; finished: number; lost: number; answeredAt: number };
  readonly wakeUp: ReturnType<typeof createWakeUp>;
  /** Those whose branch is being shown. */
  readonly showing: Set<string>;
  reported: { readonly at: number; readonly busy: number };
  /** Why the database does not answer, by what is not done then. */
  readonly troubles: Map<Trouble, string>;
  /** Milliseconds since 1970: when it answered again. */
  backSince: number;
  isWatching: boolean;
  /** Units are being taken: one that is locked holds up the others, and no command. */
  isTaking: boolean;
  /** There was something to take when that was last looked at. */
  hasTaken: boolean;
  isDraining: boolean;
}

type Trouble = 'database' | 'cannot-take' | 'no-sign-of-life';

export function createWorker(options: WorkerOptions) {
  const { slots } = options;
  const figures = { taken: 0, finished: 0, lost: 0, answeredAt: Date.now() };
  const state: State = {
    held: new Map(),
    figures,
    wakeUp: createWakeUp(),
    showing: new Set(),
    reported: { at: 0, busy: 0 },
    troubles: new Map(),
    backSince: 0,
    isWatching: false,
    isTaking: false,
    hasTaken: true,
    isDraining: false,
  };
  options.draining.addEventListener('abort', () => drain(state));
  return {
    figures: (): WorkerFigures => ({ ...figures, busy: busy(state), slots, isDraining: state.isDraining }),
    /** Until it has ended. */
    work: () => work(options, state),
  };
}

async function work(options: WorkerOptions, state: State): Promise<void> {
  const { database, worker, once, draining } = options;
  const { held, wakeUp } = state;
  const troubled = (error: unknown) => sayTrouble(options, state, 'database', error);
  await untilAnswered(database, () => register(options), { troubled, abort: draining });
  const jobs = () => [...held.values()].map(({ job }) => job);
  const beats = keepBeating(database, jobs, error => {
    if (error === undefined || isLocked(error)) sayTrouble(options, state, 'no-sign-of-life', error);
  });
  const flushes = setInterval(() => {
    for (const { held: each } of held.values()) void each.flush();
  }, TICK);
  try {
    for (;;) {
      const standing = await look(options, state).catch(troubled);
      const isIdle = held.size === 0 && state.showing.size === 0 && !state.isTaking;
      const isOver = async () => once && !state.hasTaken && !(await isWaited(options).catch(() => true));
      if (isIdle && (state.isDraining || (await isOver()))) return;
      if (standing && !state.isDraining && !state.isTaking) void takeMore(options, state, standing);
      await wakeUp.wait(TICK);
    }
  } finally {
    beats.end();
    clearInterval(flushes);
    await database.ask('delete from ralph.worker where id = $1', [worker]).catch(() => {});
  }
}

/** A list of stories only waits for others: it holds no slot. */
function busy({ held }: State): number {
  return [...held.values()].filter(({ held: { unit } }) => unit.kind !== 'prd').length;
}

function drain(state: State): void {
  if (state.isDraining) return;
  state.isDraining = true;
  const leave = (how: 'now' | 'after-this-step') => {
    for (const { held: each } of state.held.values()) each.leave(how);
  };
  leave('after-this-step');
  setTimeout(() => leave('now'), GRACE).unref();
  state.wakeUp.wake();
}

/** Takes commands. */
async function look(options: WorkerOptions, state: State): Promise<Standing> {
  const { database, say } = options;
  const { held } = state;
  const ids = [...held.keys()];
  const standing = await standingOf(database, options, ids);
  answered(options, state);
  await report(options, state);
  if (standing.hasJobs && standing.isUnwatched && Date.now() - state.backSince > LEASE_TIME)
    watch(options, state);
  if (standing.isOutdated && !state.isDraining) say('outdated', '', { why: OUTDATED });
  if (standing.isDraining || standing.isOutdated) drain(state);
  for (const [id, { held: each }] of held)
    if (ids.includes(id) && standing.fences.get(id) !== each.unit.fence) each.lost();
  for (const [id, how] of standing.cancels) held.get(id)?.held.cancel(how);
  for (const command of standing.commands) held.get(command.unit)?.held.tell(command);
  return standing;
}

/** As many units as it has room for. Must not throw. */
async function takeMore(options: WorkerOptions, state: State, standing: Standing): Promise<void> {
  const { database, slots, labels, version, repos } = options;
  const free = slots - busy(state);
  state.isTaking = true;
  state.hasTaken = false;
  try {
    const canAdmit = standing.mayBeginList || (standing.mayBegin && free > 0);
    const admitted = canAdmit ? await admit(database, { free, labels, version, repos }) : 0;
    const room = { free, lists: MOST_LISTS - state.held.size };
    const taken =
      standing.hasJobs || admitted > 0
        ? await fetchJobs(options, room, (job, id) => take(options, state, job, id))
        : 0;
    state.hasTaken = taken > 0 || admitted > 0;
    sayTrouble(options, state, 'cannot-take', undefined);
  } catch (error) {
    sayTrouble(options, state, isLocked(error) ? 'cannot-take' : 'database', error);
  }
  state.isTaking = false;
  if (state.hasTaken) state.wakeUp.wake();
}

/** A database that was away was so for all: others have time to show that they are there before their units are given away. */
function answered(options: WorkerOptions, state: State): void {
  const { figures } = state;
  const now = Date.now();
  if (now - figures.answeredAt > LEASE_TIME / 2) state.backSince = now;
  figures.answeredAt = now;
  sayTrouble(options, state, 'database', undefined);
}

/** Each reason once, and when it is over. */
function sayTrouble(
  { say, database }: WorkerOptions,
  { troubles }: State,
  what: Trouble,
  error: unknown,
): void {
  const why = error === undefined ? undefined : database.words(error);
  if (why !== troubles.get(what)) say(what, '', { why: why ?? 'it answers again' });
  if (why === undefined) troubles.delete(what);
  else troubles.set(what, why);
}

/** Jobs of workers that died are given to others. By whoever sees first that nobody did for a second. */
function watch({ database }: WorkerOptions, state: State): void {
  if (state.isWatching) return;
  state.isWatching = true;
  void database.boss
    .supervise()
    .catch(() => {})
    .finally(() => {
      state.isWatching = false;
    });
}

/** When something has changed, and now and then. */
async function report({ database, worker }: WorkerOptions, state: State): Promise<void> {
  const [now, units] = [Date.now(), busy(state)];
  const { reported } = state;
  if (units === reported.busy && now - reported.at < REPORT_EVERY) return;
  await database.query('update ralph.worker set seen_at = now(), busy = $2 where id = $1', [worker, units]);
  state.reported = { at: now, busy: units };
}

async function take(options: WorkerOptions, state: State, job: Job, id: string): Promise<void> {
  const { held, figures, wakeUp } = state;
  const { database } = options;
  const mine = held.get(id);
  if (mine) {
    // We were thought dead, and nobody else came: it is continued. Else what we do of it ends first, and the job comes again.
    const now = await unitOf(database, id);
    if (now?.fence === mine.held.unit.fence) mine.job = job;
    else mine.held.lost();
    return;
  }
  const finishJob = (tx: Querying) => completeJob(database, tx, held.get(id)?.job ?? job);
  const claim = await claimUnit(database, id, options.worker, options.version);
  if (!claim) return void finishOver(options, state, id, job);
  figures.taken++;
  const each = holdUnit(claim, { ...options, finishJob, onLost: () => figures.lost++ });
  held.set(id, { held: each, job });
  // Asked to end while it was claimed.
  if (state.isDraining) each.leave('now');
  void each.over
    .catch(error => options.say('failed', id, { why: database.words(error) }))
    .finally(() => {
      if (held.get(id)?.held === each) held.delete(id);
      figures.finished++;
      wakeUp.wake();
    });
}

async function register({ database, worker, labels, repos, version, slots }: WorkerOptions): Promise<void> {
  await database.query(
    `insert into ralph.worker (id, labels, version, slots, host, repos) values ($1, $2, $3, $4, $5, $6)
     on conflict (id) do update set labels = $2, version = $3, slots = $4, host = $5, repos = $6, draining = false, seen_at = now()`,
    [worker, labels, version, slots, hostname(), repos],
  );
}

/** Jobs that were admitted for anybody who may take them, and those of workers that are dead, also after the last word on a unit. */
async function fetchJobs(
  { database, labels, version, repos, say }: WorkerOptions,
  room: { readonly free: number; readonly lists: number },
  take: (job: Job, unit: string) => Promise<void>,
): Promise<number> {
  const { rows } = await database.query<Queued>(
    `select distinct case kind when 'prd' then 'prd' else 'loop' end as kind, needs, repo_url as "repoUrl", min_version as "minVersion"
     from ralph.unit where job is not null and needs <@ $1 and min_version <= $2`,
    [labels, version],
  );
  const left = { ...room };
  let taken = 0;
  for (const row of rows) {
    const which = row.kind === 'prd' ? 'lists' : 'free';
    if (left[which] <= 0 || !allowsRepo({ repos }, row.repoUrl)) continue;
    const queue = queueOf(row);
    const jobs = await database.boss.fetch<{ unit: string }>(queue, {
      batchSize: left[which],
      includeMetadata: true,
    });
    left[which] -= jobs.length;
    taken += jobs.length;
    // One that cannot be had now comes again, and the others do not wait for it.
    for (const { id, retryCount, data } of jobs)
      await take({ queue, id, retryCount }, data.unit).catch(error =>
        say('not-taken', data.unit, { why: database.words(error) }),
      );
  }
  return taken;
}

/** The worker that had it died after its work was on record, and before its branch was shown. */
async function finishOver(
  { database, showBranch, say, draining }: WorkerOptions,
  { showing }: State,
  id: string,
  job: Job,
): Promise<void> {
  if (showing.has(id)) return;
  showing.add(id);
  try {
    const unit = await unitOf(database, id);
    const headSha = unit && flawOf(unit) === undefined ? unit.headSha : null;
    const isShown = unit && headSha !== null && !(await hasPullRequest(database, id));
    const problem = isShown ? await showBranch({ ...unit, headSha }, draining) : undefined;
    if (problem) say('not-shown', id, { why: formatProblem(problem) });
    const isAgain = isRefusal(problem) && problem.answer !== 'stop' && job.retryCount < MOST_SHOWN;
    if (isAgain) return;
    if (unit && problem) await noteNotShown(database, unit, formatProblem(problem));
    await completeJob(database, database, job);
  } catch (error) {
    say('not-shown', id, { why: database.words(error) });
  } finally {
    showing.delete(id);
  }
}

/** Whether there is anything that this worker could still get. */
async function isWaited({ database, labels, version, repos }: WorkerOptions): Promise<boolean> {
  const { rows } = await database.query<{ url: string }>(
    `select distinct repo_url as url from ralph.unit where needs <@ $1 and min_version <= $2
       and (job is not null or state in ('waiting', 'ready', 'admitted', 'running', 'parked'))`,
    [labels, version],
  );
  return rows.some(({ url }) => allowsRepo({ repos }, url));
}
