/** The checks of a candidate, each in a clean checkout of the commit that would land. */
import type { Board, Candidate, Queued } from '../domain/board.ts';
import { type CheckResult, isGreen, redChecks } from '../domain/check.ts';
import { timeIsUp } from '../domain/limits.ts';
import { formatFailure } from '../domain/loop-prompt.ts';
import { type Measured, mutationFeedback, mutationWords } from '../domain/mutation.ts';
import type { Checked, QueueAction } from '../domain/next-merge.ts';
import { isProblem } from '../domain/problem.ts';
import { secondsSince } from '../platform/clock.ts';
import { errorWords } from '../platform/error-words.ts';
import { createCheckKeeping } from '../turns/check-keeper.ts';
import { runRound } from '../turns/check-round.ts';
import { proveClean } from '../turns/clean-proof.ts';
import { measureCommit, wantsMutation } from '../turns/mutation.ts';
import type { QueueWorld } from './queue-world.ts';

type CheckAction = Extract<QueueAction, { readonly kind: 'check' }>;

interface Verdict {
  readonly verdict: Checked | 'halt' | 'cut-off';
  readonly words: string;
  readonly seconds: number;
}

/** Red once may be chance, red twice is red; unless what it stands on is red, too. */
export async function checkCandidate(world: QueueWorld, { entry, candidate }: CheckAction): Promise<Verdict> {
  const { parts, board } = world;
  const began = parts.clock.ticks();
  const ended = (verdict: Verdict['verdict'], words = '') => ({
    verdict,
    words,
    seconds: secondsSince(parts.clock, began),
  });
  const done = new Set([...board().landed.map(({ story }) => story), ...before(board(), entry), entry.story]);
  try {
    const first = await checkAt(world, candidate, done);
    const again = isPassed(world, first, done) ? first : await checkAt(world, candidate, done);
    const passed = isPassed(world, again, done);
    // What was ended with the run, or because its time was up, says nothing.
    const isCut = () =>
      parts.stopping.aborted ||
      timeIsUp(parts.settings.maxTime, { elapsed: parts.meter.elapsed() }) !== undefined;
    if (isCut() && !passed) return ended('cut-off');
    const { story } = entry;
    const { number, commit } = candidate;
    const mutation = passed && wantsMutation(parts) ? await faultsIn(world, candidate, done) : undefined;
    if (isCut() && mutation) return ended('cut-off');
    parts.emit({
      type: 'candidate-checked',
      story,
      number,
      commit,
      passed,
      duration: ended('green').seconds,
      results: again ?? [],
      ...(mutation && { mutation }),
    });
    if (passed) {
      const unwatched = gateWords(parts.settings.mutateMin, mutation);
      return unwatched === undefined ? ended('green') : ended('unwatched', unwatched);
    }
    const words = redChecks(again ?? [])
      .map(formatFailure)
      .join('\n\n');
    // Checked ahead: the one below may be the cause, and if that fails this one is made anew.
    if (candidate.tip !== board().tip) return ended('red', words);
    const tip =
      (await checkAt(world, { ...candidate, commit: candidate.tip }, without(done, entry.story))) ?? [];
    if (isCut()) return ended('cut-off');
    if (isPassed(world, tip, without(done, entry.story))) return ended('red', words);
    const red = redChecks(tip).map(({ command }) => `\`${command}\``);
    const on =
      board().landed.length === 0
        ? 'the commit that the run began with'
        : `what has landed (${candidate.tip.slice(0, 12)})`;
    return ended(
      'halt',
      `The checks fail on ${on}, without the work of ${story}: ${red.join(', ')}. Nothing more lands.`,
    );
  } catch (error) {
    return ended('halt', `The checks of candidate ${candidate.number} could not run: ${errorWords(error)}.`);
  }
}

/** All of them have run, and none is red; where there is none, that was asked for. */
function isPassed(
  { crew }: QueueWorld,
  results: readonly CheckResult[] | undefined,
  landed: ReadonlySet<string>,
): boolean {
  if (!results || !isGreen(results)) return false;
  return results.filter(({ isSetup }) => !isSetup).length >= crew.checksFor(landed).length;
}

function faultsIn({ parts, crew }: QueueWorld, { tip, commit }: Candidate, landed: ReadonlySet<string>) {
  const checks = crew.checksFor(landed).map(({ command }) => command);
  return measureCommit(parts, { base: tip, commit, checks });
}

/** Why it does not pass `--mutate-min`; undefined: it does, or there is none. */
function gateWords(least: number | undefined, mutation: Measured | undefined): string | undefined {
  if (least === undefined || !mutation) return undefined;
  if ('failed' in mutation)
    return `Whether the checks would notice a fault could not be tried: ${mutation.failed}.`;
  const { score, survivors, checks } = mutation;
  if (score === null || score >= least) return undefined;
  return `${mutationWords(mutation)}, and ${least} % is asked for.\n\n${mutationFeedback(survivors, checks)}`;
}

function before({ queue }: Board, entry: Queued): readonly string[] {
  return queue
    .slice(
      0,
      queue.findIndex(({ story }) => story === entry.story),
    )
    .map(({ story }) => story);
}

function without(all: ReadonlySet<string>, one: string): ReadonlySet<string> {
  return new Set([...all].filter(each => each !== one));
}

/** Every check, in a clean checkout of that commit. */
async function checkAt(
  { crew, parts, integration }: QueueWorld,
  { number, commit }: Candidate,
  landed: ReadonlySet<string>,
): Promise<readonly CheckResult[] | undefined> {
  const { included } = parts;
  const tree = await integration.own.treeOf(commit);
  if (isProblem(tree) || !included) return undefined;
  const checks = crew.checksFor(landed);
  // Their results are one line of the ledger; a wall that is theirs alone is looked after by itself.
  const quiet = { ...parts, emit: () => {} };
  const keeping = createCheckKeeping({ protection: undefined, inputs: NO_INPUTS, emit: parts.emit });
  return proveClean(
    {
      ...parts,
      included,
      own: integration.own,
      keeping,
      run: (iteration, more) => runRound({ ...quiet, ...more }, { iteration, checks, as: result => result }),
    },
    number,
    tree,
  );
}

const NO_INPUTS = { take: () => ({}), recall() {}, changed: () => [] };
