/** The checks of `ralph prd run`: those of the settings, and the verify commands of the trusted list. */
import { type Check, type CheckResult, isGreen } from '../../domain/checks/check.ts';
import { allCommands } from '../../domain/checks/verify-commands.ts';
import type { RunState } from '../../domain/run/state.ts';
import { commandsAfter, redBeforeReview } from '../../domain/stories/approval.ts';
import { openStories } from '../../domain/stories/assignment.ts';
import type { StoryList } from '../../domain/stories/story.ts';
import { checksOf, createBaseline } from '../turns/check-round.ts';
import type { RunContext } from '../turns/context.ts';
import { createProver } from '../turns/prover.ts';
import type { StoryKeeper } from './keeper.ts';

export type StoryChecks = ReturnType<typeof createStoryChecks>;

const RED_BEFORE = 'it failed before the review, which may change nothing';

type ChecksContext = RunContext & { readonly list: StoryList };

export function createStoryChecks(parts: ChecksContext, keeper: StoryKeeper) {
  const { settings } = parts;
  const { all, run, steps, ...prover } = createRounds(parts, keeper);
  const wanted = () => checksOf(commandsAfter(keeper.round()), settings, parts.ownChecks);
  // What is red at the start is said and must pass all the same: a story is not done with a red check.
  const baseline = createBaseline({ ...parts, checks: all, excused: false });
  let isProven = false;
  /** Where everything is done already: the proof of it. */
  const prove = async () => {
    const commands = all();
    const first = await run(0, commands);
    const results = isGreen(first) ? await steps.confirm(0) : first;
    isProven = results.length === commands.length && isGreen(results);
    keeper.applyChecks(0, results);
  };
  /** Nobody has seen its checks pass before its review. */
  const isWaiting = () =>
    !settings.skipReview && keeper.list().userStories.some(story => story.reviewStatus === 'needs_review');
  const isDone = () => openStories(keeper.list(), keeper.round().policy).length === 0;
  return {
    all,
    /** Those that the iteration needs. */
    wanted,
    ...prover,
    /** Runs them, and those of the last round once more in a clean checkout. */
    steps: {
      ...steps,
      check: (iteration: number) => run(iteration, wanted()),
      confirm: weighed(steps.confirm, keeper),
      proveHandedOver: weighed(steps.proveHandedOver, keeper),
    },
    /** Before the first iteration. */
    async prepare(): Promise<void> {
      if (isDone()) await prove();
      else if (settings.baseline || isWaiting()) await baseline.take(iteration => run(iteration, all()));
    },
    /** A run that was cut off before its first iteration has proven nothing. */
    async recall({ open, last, baseline: results }: RunState): Promise<void> {
      baseline.recall(results);
      if (!open && !last && isDone()) await prove();
    },
    isDone: () => isDone() && isProven,
    /** As they stand in the prompt. */
    forPrompt: (commands: readonly string[]) =>
      baseline.forPrompt().filter(({ command }) => commands.includes(command)),
  };
}

/** A round of any of them, each under its number. */
function createRounds(parts: ChecksContext, keeper: StoryKeeper) {
  const { settings } = parts;
  const all = () => checksOf(allCommands(keeper.list(), settings.checks), settings, parts.ownChecks);
  /** By its number among all, so that it is the same check in every iteration. */
  const numbered = (result: CheckResult): CheckResult => {
    const index = all().findIndex(({ command }) => command === result.command);
    return result.isSetup || index === -1 ? result : { ...result, index };
  };
  /** What a review has made green was not made green by the work. */
  const judged = (result: CheckResult): CheckResult => {
    const isNews = keeper.assignment().mode === 'review' && redBeforeReview(parts.past()).has(result.command);
    return isNews && result.passed ? { ...result, passed: false, voided: RED_BEFORE } : result;
  };
  let round: readonly Check[] = [];
  const { steps, ...prover } = createProver(parts, {
    commands: allCommands(parts.list, settings.checks),
    checks: () => round,
    mayBeDone: () => openStories(keeper.round().after, keeper.round().policy).length === 0,
    as: result => numbered(judged(result)),
  });
  const run = (iteration: number, checks: readonly Check[]) => {
    round = checks;
    return steps.check(iteration);
  };
  return { ...prover, all, run, steps };
}

/** What is red there opens its story again: whatever is changed now has to be reviewed. */
function weighed<Results extends readonly CheckResult[] | undefined>(
  prove: (iteration: number) => Promise<Results>,
  keeper: StoryKeeper,
): typeof prove {
  return async iteration => {
    const results = await prove(iteration);
    if (results && !isGreen(results)) {
      keeper.applyChecks(iteration, results);
      keeper.save(iteration);
    }
    return results;
  };
}
