/** `ralph pr --follow`: looks at a pull request again and again, and does what `nextForge` says, until it is ready, merged, closed, or needs somebody. */
import type { ForgeEnding } from '../domain/forge/forge-event.ts';
import { type ForgeAction, type ForgeTerms, nextForge } from '../domain/forge/next.ts';
import { listSome } from '../domain/text/feedback.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import type { EndedRun } from '../opening/leavings.ts';
import { systemClock } from '../platform/clock.ts';
import { pause } from '../run/wait.ts';
import { hasRound, removeRounds } from '../store/inbox.ts';
import { unitAgain, whyNotAgain } from './again.ts';
import { lookAtPull, type Seen } from './facts.ts';
import type { MergeMethod } from './forge.ts';
import { type ForgeProblem, LONGEST_AWAY } from './http.ts';
import type { ForgeLedger } from './ledger.ts';
import {
  type Access,
  marksWords,
  openAccess,
  openLedger,
  type Published,
  type PullRequestRequest,
  publish,
  readRun,
} from './pull-request.ts';
import { type Prepared, prepareChecks, prepareConflict, prepareReview, takeIn } from './rounds.ts';
import { replyToThreads, writeStatus } from './status-comment.ts';
import { type ProvenWork, whyNotProven } from './work.ts';

export interface FollowRequest extends PullRequestRequest {
  readonly terms: ForgeTerms & { readonly method: MergeMethod };
  readonly listenTo: readonly string[];
  /** Milliseconds between two looks. */
  readonly poll: number;
  /** Works on the run again until it ends; returns how, or why it cannot be. */
  again(): Promise<'proven' | 'stopped' | 'interrupted' | Problem>;
}

export type FollowResult = { readonly runId: string } & (
  | (Partial<Published> & { readonly outcome: ForgeEnding; readonly detail: string })
  | { readonly outcome: 'interrupted' }
);

export async function followPullRequest(request: FollowRequest): Promise<FollowResult | Problem> {
  const { id: runId, abort } = request;
  const looked = new Map<string, number>();
  let access: Access | undefined;
  for (;;) {
    if (abort.aborted) return { runId, outcome: 'interrupted' };
    const run = await provenAgain(request);
    if ('outcome' in run || isProblem(run)) return run;
    const opened: Access | Problem = access ?? (await openAccess(request));
    if (isProblem(opened)) return orInterrupted(request, opened);
    access = opened;
    const ledger = await openLedger(request, access);
    if (isProblem(ledger)) return ledger;
    try {
      const ended = await oneStretch({ request, access, run, ledger, looked });
      if (ended !== 'again') return ended;
    } finally {
      await ledger.close();
    }
  }
}

/** A round that was prepared, or cut off, is finished first. */
async function provenAgain(request: FollowRequest): Promise<EndedRun | FollowResult | Problem> {
  const { id } = request;
  const { unit } = request;
  for (;;) {
    if (unit && !(await unit.untilOver())) return { runId: id, outcome: 'interrupted' };
    const run = readRun(request);
    if (isProblem(run)) return run;
    const { result, forge, last } = run.past;
    const isOpen = forge !== undefined && (!result || hasRound(run.paths, result.success ? last : undefined));
    if (!isOpen) {
      removeRounds(run.paths);
      return whyNotProven(id, result) ?? run;
    }
    const how = await (unit ? unitAgain(unit, id) : request.again());
    if (how === 'interrupted') return { runId: id, outcome: 'interrupted' };
    if (how === 'stopped' || isProblem(how)) return needsYou(request, how);
    removeRounds(run.paths);
  }
}

/** The run itself could not do it. */
async function needsYou(request: FollowRequest, how: 'stopped' | Problem): Promise<FollowResult | Problem> {
  const { env, id: runId } = request;
  const run = readRun(request);
  if (isProblem(run)) return run;
  const reason = run.past.result?.stopReason ?? 'cut off';
  const detail = isProblem(how)
    ? `It asks for more work, and the run cannot be continued: ${formatProblem(how)}`
    : `The run stopped before its work was proven: ${reason}. \`ralph explain ${runId}\` says what is missing.`;
  const ledger = await openLedger(request, { secrets: env });
  if (isProblem(ledger)) return ledger;
  try {
    ledger.note({ type: 'forge-ended', reason: 'needs_you', detail });
    const { number, address } = ledger.state();
    return { runId, outcome: 'needs_you', detail, ...(number && { number }), ...(address && { address }) };
  } finally {
    await ledger.close();
  }
}

export interface Stretch {
  readonly request: FollowRequest;
  readonly access: Access;
  readonly run: EndedRun;
  readonly ledger: ForgeLedger;
  /** How often each head was looked at. */
  readonly looked: Map<string, number>;
}

/** From a push to the next round, or to the end. */
async function oneStretch(stretch: Stretch): Promise<FollowResult | Problem | 'again'> {
  const { request, access, run, ledger } = stretch;
  const done = await publish(request, access, run, ledger);
  if (isProblem(done)) return orInterrupted(request, done);
  if ('red' in done) {
    const names = done.red.filter(({ passed }) => !passed).map(({ command }) => command);
    return end(
      stretch,
      undefined,
      'needs_you',
      `These checks fail on what would be pushed: ${listSome(names)}. Fix it, then the same command continues.`,
    );
  }
  if ('marks' in done) return end(stretch, undefined, 'needs_you', marksWords(done));
  const { number } = 'published' in done ? done.published : ledger.state();
  if (number === undefined) {
    const what = 'somebody else has pushed to it before there was a pull request';
    return { where: 'branch' in done ? done.branch : request.id, what, fix: 'look at it there' };
  }
  const following: Following = {
    ...stretch,
    number,
    work: done.work,
    published: 'published' in done ? done.published : undefined,
  };
  return followLoop(following);
}

export interface Following extends Stretch {
  readonly number: number;
  readonly work: ProvenWork;
  readonly published: Published | undefined;
}

/** A forge that says yes and does nothing is asked no more often than this; one that says nothing for longer. */
const MOST_TRIES = 5;
const IN_VAIN =
  'The forge was asked several times, and nothing changed there. Look at it there; the same command tries again.';

async function followLoop(following: Following): Promise<FollowResult | Problem | 'again'> {
  const { request, access, ledger, number, work } = following;
  let said = '';
  let before = '';
  let tries = 0;
  let since = 0;
  let last: 'look' | 'unsure' = 'look';
  for (;;) {
    if (request.abort.aborted || ledger.takeCancel()) return { runId: request.id, outcome: 'interrupted' };
    const seen = await look(following);
    if (isProblem(seen)) return orInterrupted(request, seen);
    const failed = await replyToThreads(following, seen);
    if (failed) return orInterrupted(request, failed);
    const action = nextForge(ledger.state(), seen.facts, request.terms);
    const words = wordsOf(action);
    if (words !== said && words !== '') request.say(words);
    said = words;
    const now = `${action.kind} ${seen.tip}`;
    tries = now === before ? tries + 1 : 0;
    before = now;
    if (tries === 0) since = systemClock.ticks();
    const isAway = last === 'unsure' && systemClock.ticks() - since < LONGEST_AWAY;
    if (action.kind !== 'wait' && tries >= MOST_TRIES && !isAway)
      return end(following, seen, 'needs_you', IN_VAIN);
    const next = await perform(following, seen, action);
    if (next !== 'look' && next !== 'unsure') return isProblem(next) ? orInterrupted(request, next) : next;
    last = next;
    if (action.kind === 'wait' || tries > 0) await pause(request.poll, request.abort);
  }

  async function look({ looked }: Stretch): Promise<Seen | Problem> {
    const seen = await lookAtPull({
      ...access,
      ...{ own: work.own, runId: request.id, branch: work.branch, number, listenTo: request.listenTo },
      state: ledger.state,
      isKnown: head => (looked.get(head) ?? 0) > 0,
    });
    if (!isProblem(seen)) looked.set(seen.pull.head, (looked.get(seen.pull.head) ?? 0) + 1);
    return seen;
  }
}

function wordsOf(action: ForgeAction): string {
  return action.kind === 'wait' ? `Waiting: ${action.why}.` : '';
}

/** `unsure`: nobody knows whether it was done, and the next look says so. */
type Performed = FollowResult | Problem | 'again' | 'look' | 'unsure';

async function perform(following: Following, seen: Seen, action: ForgeAction): Promise<Performed> {
  const { ledger, access, number, request } = following;
  switch (action.kind) {
    case 'wait':
      return (await writeStatus(following, seen, `Waiting: ${action.why}.`)) ?? 'look';
    case 'note':
      ledger.note({ type: 'forge-noted', what: action.what, names: action.names });
      return 'look';
    case 'fix-checks':
    case 'answer':
    case 'merge-base':
      return orEnd(following, seen, whyNotAgain(following) ?? (await prepareRound(following, seen, action)));
    case 'take-in':
      return orEnd(following, seen, await takeIn(following, seen));
    case 'mark-ready': {
      const marked = await ledger.act(
        { act: 'ready', what: String(number) },
        () => access.forge.markReady(seen.pull.node),
        () => ({}),
      );
      return again(marked);
    }
    case 'merge': {
      const { head } = seen.pull;
      const { method } = request.terms;
      const act = () => access.forge.merge(number, head, method);
      const merged = await ledger.act({ act: 'merge', what: String(number) }, act, () => ({ commit: head }));
      return orEnd(following, seen, refusedMerge(merged));
    }
    case 'end':
      return end(following, seen, action.reason, action.detail);
    default:
      return action satisfies never;
  }
}

async function prepareRound(
  following: Following,
  seen: Seen,
  action: Extract<ForgeAction, { readonly kind: 'fix-checks' | 'answer' | 'merge-base' }>,
): Promise<Prepared> {
  switch (action.kind) {
    case 'fix-checks':
      return prepareChecks(following, seen, action.names);
    case 'answer':
      return prepareReview(following, seen);
    case 'merge-base':
      return prepareConflict(following, seen);
    default:
      return action satisfies never;
  }
}

function again(value: unknown): Problem | 'look' | 'unsure' {
  if (!isProblem(value)) return 'look';
  return (value as ForgeProblem).isUnsure ? 'unsure' : value;
}

/** Its head has moved: the next look says how. What else the forge refuses, only people can change. */
function refusedMerge(value: unknown): Problem | 'look' | 'unsure' | { readonly needsYou: string } {
  if (!isProblem(value)) return 'look';
  const { status = 0, what, fix } = value as ForgeProblem;
  if (status === 409) return 'look';
  if (status < 400 || status >= 500) return again(value);
  const why = `${what.replace(/\.$/, '')}${fix === undefined ? '' : ` (${fix})`}`;
  return { needsYou: `Not merged: ${why}. ${NOT_MERGED}` };
}

const NOT_MERGED =
  'Do there what it asks, or name another way with --merge-method, then the same command continues.';

async function orEnd(
  following: Following,
  seen: Seen,
  next: 'again' | 'look' | 'unsure' | Problem | { readonly needsYou: string },
): Promise<Performed> {
  return typeof next === 'object' && 'needsYou' in next
    ? end(following, seen, 'needs_you', next.needsYou)
    : next;
}

async function end(
  stretch: Stretch | Following,
  seen: Seen | undefined,
  outcome: ForgeEnding,
  words: string,
): Promise<FollowResult> {
  const { ledger, request, access } = stretch;
  const detail = access.redact(words);
  // First: whatever is done at the forge after the end on the ledger says that it was no end. One that cannot be written is no reason to fail.
  if (seen && 'number' in stretch) await writeStatus(stretch, seen, { reason: outcome, detail });
  ledger.note({ type: 'forge-ended', reason: outcome, detail });
  const { number, address } = ledger.state();
  const published = 'published' in stretch ? stretch.published : undefined;
  return {
    ...{ runId: request.id, ...published, outcome, detail },
    ...(number !== undefined && { number }),
    ...(address !== undefined && { address }),
    ...(seen && { state: seen.pull.state, draft: seen.pull.isDraft, commit: seen.pull.head }),
  };
}

function orInterrupted({ id, abort }: FollowRequest, problem: Problem): FollowResult | Problem {
  return abort.aborted ? { runId: id, outcome: 'interrupted' } : problem;
}
