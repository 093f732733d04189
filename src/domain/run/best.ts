/**
 * Which iteration ended best, and when a run goes back to it. More green checks are better, then fewer failing tests. Where nothing can
 * be distinguished the later iteration is the better one, so that a run never goes back on noise.
 */
import { type CheckResult, redChecks } from '../checks/check.ts';
import { defined } from '../text/fields.ts';
import type { Restored } from './event.ts';
import type { IterationState, RunState } from './state.ts';

/** How an iteration ended, as far as its checks tell. */
export interface Score {
  readonly checks: number;
  readonly checksGreen: number;
  /** Failing tests of the red checks; null: one of them does not tell. */
  readonly failures: number | null;
  /** How many tests the red checks ran; one that does not tell ran none. */
  readonly tests: number;
  /** The red checks. */
  readonly red: readonly string[];
}

export function scoreOf(checks: readonly CheckResult[]): Score {
  const red = redChecks(checks);
  const isKnown = red.every(({ failures }) => failures !== undefined);
  return {
    checks: checks.length,
    checksGreen: checks.length - red.length,
    failures: isKnown ? sum(red.map(({ failures = 0 }) => failures)) : null,
    tests: sum(red.map(({ tests = 0 }) => tests)),
    red: red.map(({ command }) => command),
  };
}

/** There is evidence that the first one ended worse. */
export function isWorse(one: Score, other: Score): boolean {
  // Other checks: the user has changed what counts.
  if (one.checks !== other.checks) return false;
  if (one.checksGreen !== other.checksGreen) return one.checksGreen < other.checksGreen;
  // Failures of different checks cannot be compared.
  if (one.red.join('\0') !== other.red.join('\0')) return false;
  if (other.failures === null) return false;
  // Not even if all that it ran had passed.
  if (one.failures === null) return one.tests < other.tests - other.failures;
  return failing(one.failures, one, other) > failing(other.failures, other, one);
}

/** A test that no longer runs passes as little as one that fails: a runner that breaks down prints few failures. */
function failing(failures: number, { tests }: Score, other: Score): number {
  return failures + Math.max(0, other.tests - tests);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** An iteration that ended worse than the best one before it. */
export interface WorseIteration {
  readonly iteration: number;
  /** The tree of git that it left; absent: it is not known. */
  readonly tree?: string;
  /** What it made worse: a few words each. */
  readonly broke: readonly string[];
}

export interface BestSoFar {
  readonly at: IterationState;
  /** Those since then, in a row. */
  readonly worse: readonly WorseIteration[];
  /** How often the run has gone back to it. */
  readonly returns: number;
}

/** No prompt names more of them. */
const MOST_WORSE = 20;

/**
 * Each story has a best of its own: what is done for one is not undone for another. It begins anew with a review, which changes nothing
 * and has seen what others landed: that was merged before it.
 */
export function bestAfter(best: BestSoFar | undefined, ended: IterationState): BestSoFar {
  if (!best || best.at.story !== ended.story || ended.mode === 'review')
    return { at: ended, worse: [], returns: 0 };
  const [score, before] = [scoreOf(ended.checks), scoreOf(best.at.checks)];
  const tree = treeOf(ended);
  if (!isWorse(score, before)) {
    const isSame = tree !== undefined && tree === treeOf(best.at);
    return { at: ended, worse: [], returns: isSame ? best.returns : 0 };
  }
  const worse = { iteration: ended.number, ...defined({ tree }), broke: brokenBy(score, before) };
  return { ...best, worse: [...best.worse, worse].slice(-MOST_WORSE) };
}

function brokenBy(score: Score, best: Score): readonly string[] {
  const added = score.red.filter(command => !best.red.includes(command));
  if (added.length > 0) return added.map(command => `\`${command}\` failed`);
  const fewer = score.tests < best.tests ? `, and ${score.tests} of ${best.tests} tests ran` : '';
  return score.red.map(
    command =>
      `\`${command}\`: ${score.failures ?? 'more'} failures instead of ${best.failures ?? 0}${fewer}`,
  );
}

/** The tree of git that an iteration left; undefined: it is not known. */
export function treeOf({ judged }: Pick<IterationState, 'judged'>): string | undefined {
  return judged?.snapshot ?? judged?.files;
}

/** The trees that whoever continues a run needs: what it may still go back to, or is on its way to, and what it began with. */
export function neededTrees({
  best,
  restoring,
  prepared,
  storyTrees = {},
}: Pick<RunState, 'best' | 'restoring' | 'prepared' | 'storyTrees'>): readonly string[] {
  const begun = [prepared?.start?.tree, ...Object.values(storyTrees)];
  const trees = [best && treeOf(best.at), restoring?.aside, restoring?.tree, ...begun];
  return [...new Set(trees.filter(tree => tree !== undefined))];
}

/** When a run goes back. */
export interface GoBack {
  /** After so many iterations in a row that ended worse than the best. 0: only when the run ends. */
  readonly patience: number;
}

/** How often a run goes back to the same iteration before it is stuck. */
const MOST_RETURNS = 2;

/** Before the next iteration; undefined: it begins with the files as they are. */
export function nextReturn(
  { best }: Pick<RunState, 'best'>,
  goBack: GoBack | undefined,
): 'restore' | 'stuck' | undefined {
  if (!best || !goBack || goBack.patience === 0 || treeOf(best.at) === undefined) return undefined;
  if (best.worse.length < goBack.patience) return undefined;
  return best.returns < MOST_RETURNS ? 'restore' : 'stuck';
}

/** Whether a run that ends unfinished leaves files that are worse than the best it had. */
export function endsWorse({ best }: Pick<RunState, 'best'>, goBack: GoBack | undefined): boolean {
  return goBack !== undefined && best !== undefined && best.worse.length > 0 && treeOf(best.at) !== undefined;
}

export function stuckWords({ at, worse }: BestSoFar): string {
  return `Iteration ${at.number} is the best: the run went back to it ${MOST_RETURNS === 2 ? 'twice' : `${MOST_RETURNS} times`}, and each time ${worse.length === 1 ? 'the next iteration' : `the next ${worse.length} iterations`} ended worse.`;
}

/**
 * The run stands where the best iteration had left it: the next turn gets what that one got. What a verdict has ended stays
 * ended. Where the files could not be moved the run continues with them as they are.
 */
export function afterReturn(state: RunState, event: Restored): RunState {
  const { restoring: _, ...rest } = state;
  const { best, last } = state;
  if (!best || !last) return rest;
  const counted = { ...best, worse: [], returns: best.returns + (event.why === 'worse' ? 1 : 0) };
  if (event.problem !== undefined) return { ...rest, best: counted };
  const judged = best.at.judged && {
    ...best.at.judged,
    ...(last.judged?.verdict.kind === 'stop' && { verdict: last.judged.verdict }),
    ...(last.judged && { spent: last.judged.spent }),
    ...defined({ limits: last.judged?.limits }),
  };
  const isOverruled = judged?.verdict.kind === 'stop' && last.judged?.verdict.kind === 'continue';
  const { undone, to } = event;
  return {
    ...rest,
    best: counted,
    last: { ...best.at, number: last.number, ...defined({ judged }), undone: { to, iterations: undone } },
    ...(isOverruled && { isOverruled }),
  };
}
