/** Would the checks notice a fault in the changed lines? Puts faults into them, one at a time, in copies, and runs the checks. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type MutationReport, mutationScore, type Survivor } from '../../domain/checks/mutation.ts';
import { pick } from '../../domain/text/fields.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { secondsSince, systemClock } from '../../platform/clock.ts';
import { type Env, git as gitAt } from '../../platform/git.ts';
import { type Changed, changedBetween, changedLines } from '../../workspace/changed-lines.ts';
import { makeCleanPlace } from '../../workspace/clean-checkout.ts';
import { openOwnGit } from '../../workspace/own-git.ts';
import { type ThrowAway, throwAwayCopy } from '../../workspace/project-copy.ts';
import type { Place } from '../../workspace/repository.ts';
import { type Chosen, rankMutants } from './choose.ts';
import { findMutants, isMutable } from './find.ts';
import {
  type Baseline,
  createNarrowing,
  type Fate,
  proveIn,
  redProblem,
  restore,
  runBaseline,
  type Trials,
  tryMutant,
} from './trial.ts';

export interface MutationRequest
  extends Place,
    Pick<Trials, 'checks' | 'confinement' | 'protection' | 'top'> {
  /** A commit or a tree; without one, the usual base of the branch. */
  readonly base?: string;
  /** In what it changes against `base`, wherever in the repository both are: nothing of the work tree is looked at. */
  readonly commit?: string;
  /** Makes a fresh copy ready, such as `npm ci`. With it, nothing that git ignores is copied. */
  readonly setup?: string;
  /** The most that are tried, and the milliseconds for all of it. */
  readonly max: number;
  readonly time: number;
  /** Ends it at once; what is known by then is reported. */
  readonly signal?: AbortSignal;
  progress?(state: Progress): void;
}

export interface Progress {
  readonly tried: number;
  readonly chosen: number;
  readonly survived: number;
}

export async function mutate(request: MutationRequest): Promise<MutationReport | Problem> {
  const { base, commit } = request;
  if (base !== undefined && commit !== undefined) return mutateCommit(request, base, commit);
  const changed = await changedLines(request, base, isMutable);
  return isProblem(changed) ? changed : tryFaults(request, changed);
}

/** The checks run in the same folder of a clean checkout. */
async function mutateCommit(
  request: MutationRequest,
  base: string,
  commit: string,
): Promise<MutationReport | Problem> {
  const { env, confinement } = request;
  const own = await openOwnGit(request);
  if (isProblem(own)) return own;
  const [before, now] = [await own.treeOf(base), await own.treeOf(commit)];
  if (isProblem(before)) return before;
  if (isProblem(now)) return now;
  const files = await changedBetween(own, [before, now], isMutable);
  if (isProblem(files)) return files;
  const place = makeCleanPlace(confinement?.scratch);
  if (isProblem(place)) return place;
  try {
    const problem = (await own.checkout(now, place.folder)) ?? (await makeRepository(place.folder, env));
    if (problem) return problem;
    const cwd = join(place.folder, own.prefix);
    return await tryFaults({ ...request, cwd, top: own.top }, { base, files });
  } finally {
    await place.remove();
  }
}

/** Copies are made of what git knows, ignored or not. */
async function makeRepository(folder: string, env: Env): Promise<Problem | undefined> {
  const git = gitAt(folder, env);
  return (
    (await git.order(['init', '--quiet'], 'git init')) ?? git.order(['add', '--all', '--force'], 'git add')
  );
}

/** In these lines of the files in `cwd`. */
async function tryFaults(request: MutationRequest, changed: Changed): Promise<MutationReport | Problem> {
  const began = systemClock.ticks();
  const looked = changed.files.map(file => findMutants(request.cwd, file));
  const found = looked.filter(each => typeof each !== 'string');
  const ranked = rankMutants(found);
  const chosen = ranked.slice(0, request.max);
  const stopper = startStopper(request, began);
  const outcome = await inCopies({ request, chosen, stop: stopper.signal }).finally(stopper.clear);
  if ('what' in outcome) return outcome;
  const { fates, checks, notes } = outcome;
  const stopped = stopper.why();
  if (stopped === 'time' && fates.length === 0 && chosen.length > 0) return tooSlow(request);
  const of = (kind: Fate['kind']) => fates.filter(({ fate }) => fate.kind === kind);
  const survived = new Map(of('survived').map(({ mutant, fate }) => [mutant, fate]));
  const survivors = chosen
    .filter(each => survived.has(each))
    .map((each): Survivor => ({ ...pick(each, 'file', 'line'), change: changeOf(each, survived.get(each)) }));
  return {
    score: mutationScore(fates.length, survivors.length),
    mutants: fates.length,
    survivors: survivors.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1)),
    timeouts: of('timeout').length,
    untried: ranked.length - fates.length,
    stopped,
    base: changed.base,
    lines: found.reduce((sum, { lines }) => sum + lines, 0),
    files: found.length,
    checks,
    seconds: secondsSince(systemClock, began),
    notes: [...looked.filter(each => typeof each === 'string'), ...notes],
  };
}

function changeOf({ change }: Chosen, fate: Fate | undefined): string {
  return fate?.voided === undefined ? change : `${change} (the check is void: ${fate.voided})`;
}

function tooSlow({ checks }: MutationRequest): Problem {
  const fix = 'give it more with --time, or a faster --check';
  return {
    where: checks.join(', '),
    what: 'did not finish once in the time that there is for all faults',
    fix,
  };
}

/** One signal for both reasons to stop, and which one it was. */
function startStopper({ signal, time }: MutationRequest, began: number) {
  const controller = new AbortController();
  let why: MutationReport['stopped'] = null;
  const stop = (reason: 'time' | 'interrupted') => {
    why ??= reason;
    controller.abort();
  };
  const interrupt = () => stop('interrupted');
  signal?.addEventListener('abort', interrupt);
  if (signal?.aborted) interrupt();
  const timer = setTimeout(() => stop('time'), Math.max(0, time - (systemClock.ticks() - began)));
  return {
    signal: controller.signal,
    why: () => why,
    clear(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', interrupt);
    },
  };
}

interface Work {
  readonly request: MutationRequest;
  readonly chosen: readonly Chosen[];
  readonly stop: AbortSignal;
}

interface Tried {
  readonly mutant: Chosen;
  readonly fate: Fate;
}

interface Outcome {
  readonly fates: readonly Tried[];
  readonly checks: readonly string[];
  readonly notes: readonly string[];
}

async function inCopies(work: Work): Promise<Outcome | Problem> {
  const { request, chosen, stop } = work;
  const nothing: Outcome = { fates: [], checks: request.checks, notes: [] };
  if (chosen.length === 0) return nothing;
  const trials: Trials = { ...request, stop };
  const copies: ThrowAway[] = [];
  try {
    for (let nth = 0; nth < Math.min(availableParallelism(), chosen.length) && !stop.aborted; nth++) {
      const copy = await makeCopy(request, trials, made => copies.push(made));
      if (isProblem(copy) && !stop.aborted) return copy;
    }
    if (stop.aborted) return nothing;
    const baseline = await runBaseline(copies, trials);
    if (baseline === 'stopped') return nothing;
    if ('what' in baseline) return baseline;
    const renew = () => makeCopy(request, trials, made => copies.push(made));
    const fates = await tryAll({ ...work, renew }, baseline, trials);
    const oneByOne =
      baseline.copies.length < copies.length
        ? ['The checks fail when they run twice at the same time: one copy was used.']
        : [];
    const notes = [...(copies[0]?.notes ?? []), ...oneByOne];
    return { fates, checks: baseline.checks.map(({ command }) => command), notes };
  } finally {
    for (const copy of copies) copy.remove();
  }
}

async function makeCopy(
  { cwd, env, setup, confinement }: MutationRequest,
  trials: Trials,
  keep: (copy: ThrowAway) => void,
): Promise<ThrowAway | Problem> {
  const where = { base: confinement?.scratch, confinement };
  const copy = await throwAwayCopy({ cwd, env }, { purpose: 'mutate', clean: setup !== undefined, ...where });
  if ('what' in copy) return copy;
  keep(copy);
  if (setup === undefined) return copy;
  const [ended] = await proveIn(copy, trials, [], setup);
  return ended?.passed === false ? redProblem(ended, 'failed in a clean copy') : copy;
}

/** Each copy takes the next fault when it is done with one. */
async function tryAll(
  { request, chosen, stop, renew }: Work & { renew(): Promise<ThrowAway | Problem> },
  { checks, copies }: Baseline,
  trials: Trials,
): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  const waiting = chosen.values();
  const narrowed = createNarrowing(checks, trials);
  const work = async (first: ThrowAway) => {
    let copy = first;
    for (const mutant of waiting) {
      if (stop.aborted) return;
      const fate = await tryMutant(copy, mutant, await narrowed(copy, mutant.file), trials);
      if (fate.kind === 'stopped') return;
      tried.push({ mutant, fate });
      const survived = tried.filter(each => each.fate.kind === 'survived').length;
      request.progress?.({ tried: tried.length, chosen: chosen.length, survived });
      if (await restore(copy, mutant)) continue;
      // Another one: else code that destroys its copy would end it all, with the score of the few that were tried.
      copy.remove();
      const another = await renew();
      if (isProblem(another)) return;
      copy = another;
    }
  };
  await Promise.all(copies.map(work));
  return tried;
}
