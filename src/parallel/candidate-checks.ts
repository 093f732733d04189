/** The checks of a candidate, each in a clean checkout of the commit that would land. */

import { type CheckResult, isGreen, redChecks, whyUnmade } from '../domain/checks/check.ts';
import { type Measured, mutationFeedback, mutationWords } from '../domain/checks/mutation.ts';
import type { Board, Candidate, Queued } from '../domain/lanes/board.ts';
import type { Checked, QueueAction } from '../domain/lanes/queue.ts';
import { timeIsUp } from '../domain/run/limits.ts';
import { formatFailure } from '../domain/run/loop-prompt.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { secondsSince } from '../platform/clock.ts';
import { errorWords } from '../platform/error-words.ts';
import { createIntegrityWatch } from '../proof/integrity.ts';
import { prove } from '../proof/prove.ts';
import { measure, wantsMutation } from '../run/turns/mutation.ts';
import { cleanCheckout, provingOf } from '../run/turns/prover.ts';
import type { QueueWorld } from './queue.ts';

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
    const first = await checkAt(world, candidate, done, entry.story);
    const unmade = whyUnmade(first ?? []);
    if (unmade !== undefined) return ended('halt', `Nothing more lands: ${unmade}.`);
    const again = isPassed(world, first, done) ? first : await checkAt(world, candidate, done, entry.story);
    const passed = isPassed(world, again, done);
    // What was ended with the run, or because its time was up, says nothing.
    const isCut = () =>
      parts.stopping.aborted ||
      timeIsUp(parts.settings.maxTime, { elapsed: parts.meter.elapsed() }) !== undefined;
    if (isCut() && !passed) return ended('cut-off');
    const { story } = entry;
    const { number, commit } = candidate;
    const isMeasured = passed && wantsMutation(parts);
    const mutation = isMeasured ? await faultsIn(world, candidate, done) : undefined;
    if (isCut() && isMeasured) return ended('cut-off');
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
    const red = await redOnTip(world, candidate, new Set([...done].filter(each => each !== story)), story);
    if (isCut()) return ended('cut-off');
    if (!red) return ended('red', words);
    const on =
      board().landed.length === 0
        ? 'the commit that the run began with'
        : `what has landed (${candidate.tip.slice(0, 12)})`;
    return ended(
      'halt',
      `The checks fail on ${on}, without the work of ${story}: ${red}. Nothing more lands.`,
    );
  } catch (error) {
    return ended('halt', `The checks of candidate ${candidate.number} could not run: ${errorWords(error)}.`);
  }
}

/** The checks that fail without the work of the lane; undefined: none. Beside others one may fail because of them: it is tried once more alone. */
async function redOnTip(
  world: QueueWorld,
  candidate: Candidate,
  done: ReadonlySet<string>,
  lane: string,
): Promise<string | undefined> {
  const { gate } = world;
  const [others, before] = [gate.running(), gate.begun()];
  const tip = { ...candidate, commit: candidate.tip };
  let results = await checkAt(world, tip, done, lane);
  const wasAlone = others === 0 && gate.begun() === before + 1;
  if (!wasAlone && !isPassed(world, results, done))
    results = await checkAt(world, tip, done, lane, gate.alone);
  if (isPassed(world, results, done)) return undefined;
  return redChecks(results ?? [])
    .map(({ command }) => `\`${command}\``)
    .join(', ');
}

/** All of them have run, and none is red; where there is none, that was asked for. */
function isPassed(
  { work }: QueueWorld,
  results: readonly CheckResult[] | undefined,
  landed: ReadonlySet<string>,
): boolean {
  if (!results || !isGreen(results)) return false;
  return results.filter(({ isSetup }) => !isSetup).length >= work.checksFor(landed).length;
}

function faultsIn({ parts, work }: QueueWorld, { tip, commit }: Candidate, landed: ReadonlySet<string>) {
  const checks = work.checksFor(landed).map(({ command }) => command);
  return measure(parts, { cwd: parts.project.root, base: tip, commit, checks });
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

/** Every check, in a clean checkout of that commit, with what the lane has for itself. */
async function checkAt(
  { work, parts, integration, places, gate }: QueueWorld,
  { number, commit }: Candidate,
  landed: ReadonlySet<string>,
  lane: string,
  through = gate.beside,
): Promise<readonly CheckResult[] | undefined> {
  const { included } = parts;
  const tree = await integration.own.treeOf(commit);
  if (isProblem(tree) || !included) return undefined;
  const { own } = integration;
  // Their results are one line of the ledger; a wall that is theirs alone is looked after by itself.
  const place = await places.ready(lane);
  if (isProblem(place)) throw new Error(formatProblem(place));
  const quiet = { ...parts, emit: () => {}, env: place.env };
  const watch = createIntegrityWatch({ emit: parts.emit });
  const proving = { ...provingOf(quiet, number, { checks: () => work.checksFor(landed) }), watch };
  return through(() => prove(proving, { own, tree, ...cleanCheckout(parts, included) }));
}
