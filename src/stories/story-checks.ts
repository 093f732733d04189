/** The checks of `ralph prd run`: those of the settings, and the verify commands of the trusted list. */
import { type Check, type CheckResult, isGreen } from '../domain/check.ts';
import type { Past } from '../domain/past.ts';
import { commandsAfter } from '../domain/story-checks.ts';
import { openStories } from '../domain/story-mode.ts';
import { allCommands } from '../domain/verify-commands.ts';
import { checksOf, createBaseline, runRound } from '../turns/check-round.ts';
import type { PlanParts } from '../turns/plan-parts.ts';
import type { StoryKeeper } from './keeper.ts';

export type StoryChecks = ReturnType<typeof createStoryChecks>;

export function createStoryChecks(parts: PlanParts, keeper: StoryKeeper) {
  const { settings } = parts;
  const all = () => checksOf(allCommands(keeper.list(), settings.checks), settings);
  /** By its number among all, so that it is the same check in every iteration. */
  const numbered = (result: CheckResult): CheckResult => ({
    ...result,
    index: all().findIndex(({ command }) => command === result.command),
  });
  const run = (iteration: number, checks: readonly Check[]) =>
    runRound(parts, { iteration, checks, as: numbered });
  const wanted = () => checksOf(commandsAfter(keeper.round()), settings);
  // What is red at the start is said and must pass all the same: a story is not done with a red check.
  const baseline = createBaseline({ ...parts, checks: all, excused: false });
  let isProven = false;
  /** Where everything is done already: the proof of it. */
  const prove = async () => {
    const commands = all();
    const results = await run(0, commands);
    isProven = results.length === commands.length && isGreen(results);
    keeper.weigh(0, results);
  };
  const isDone = () => openStories(keeper.list(), keeper.round().policy).length === 0;
  return {
    all,
    /** Those that the iteration needs. */
    wanted,
    run: (iteration: number) => run(iteration, wanted()),
    /** Before the first iteration. */
    async prepare(): Promise<void> {
      if (isDone()) await prove();
      else if (settings.baseline) await baseline.take(iteration => run(iteration, all()));
    },
    /** A run that was cut off before its first iteration has proven nothing. */
    async recall({ open, last, baseline: results }: Past): Promise<void> {
      baseline.recall(results);
      if (!open && !last && isDone()) await prove();
    },
    isDone: () => isDone() && isProven,
    /** As the agent is told of them. */
    told: (commands: readonly string[]) =>
      baseline.told().filter(({ command }) => commands.includes(command)),
  };
}
