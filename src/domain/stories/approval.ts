/** What the checks say of the stories: which of them an iteration needs, and what a red one takes back. */
import { type CheckResult, redChecks } from '../checks/check.ts';
import { allCommands, commandsOf } from '../checks/verify-commands.ts';
import { redWords } from '../checks/words.ts';
import type { RunState } from '../run/state.ts';
import { type Assignment, isDone, openStories, type ReviewPolicy } from './assignment.ts';
import type { Story, StoryList } from './story.ts';

export interface Round {
  /** The trusted list before the iteration, and what it would become. */
  readonly before: StoryList;
  readonly after: StoryList;
  readonly assignment: Assignment;
  readonly policy: ReviewPolicy;
  /** The checks of the settings. */
  readonly checks: readonly string[];
}

/**
 * Before a run may be done: all of them. After an iteration that builds: those of its story. After a review: those of its story where
 * it approves, and none where it does not.
 */
export function commandsAfter({ after, assignment, policy, checks }: Round): readonly string[] {
  const { mode, story } = assignment;
  if (!story || openStories(after, policy).length === 0) return allCommands(after, checks);
  const now = after.userStories.find(({ id }) => id === story.id);
  if (mode === 'review' && now?.reviewStatus !== 'approved') return [];
  return commandsOf(after, story, checks);
}

/**
 * The commands that failed when they last ran for somebody who may change files. A review may not, and what git ignores is not compared:
 * one of these that passes after a review says nothing of the work.
 */
export function redBeforeReview({
  baseline,
  results,
}: Pick<RunState, 'baseline' | 'results'>): ReadonlySet<string> {
  const red = new Set(baseline.filter(({ passed }) => !passed).map(({ command }) => command));
  for (const { mode, checkResults } of results) {
    for (const { name, passed } of checkResults) {
      if (!passed) red.add(name);
      else if (mode !== 'review') red.delete(name);
    }
  }
  return red;
}

export interface Weighed {
  readonly list: StoryList;
  /** What a red check took back, a sentence each. */
  readonly refused: readonly string[];
}

/** A red check takes back what rests on it: a story is not handed in, not approved, and not done any more. */
export function weighChecks(round: Round, results: readonly CheckResult[]): Weighed {
  const red = redChecks(results);
  if (red.length === 0) return { list: round.after, refused: [] };
  const refused: string[] = [];
  const userStories = round.after.userStories.map(story => {
    const own = red.filter(({ command }) => concerns(round, story).includes(command));
    const taken = own.length > 0 ? takeBack(round, story, own) : undefined;
    if (taken) refused.push(taken.why);
    return taken?.story ?? story;
  });
  return { list: { ...round.after, userStories }, refused };
}

/** What all stories share counts for the one at hand; where there is none, for the last. */
function concerns({ after, assignment, checks }: Round, story: Story): readonly string[] {
  const atHand = assignment.story?.id ?? after.userStories.at(-1)?.id;
  return story.id === atHand ? commandsOf(after, story, checks) : (story.verifyCommands ?? []);
}

function takeBack(
  { before, assignment, policy }: Round,
  story: Story,
  red: readonly CheckResult[],
): { readonly story: Story; readonly why: string } | undefined {
  const { id, reviewStatus } = story;
  const was = before.userStories.find(each => each.id === id);
  if (policy.skipReview) {
    if (!story.passes) return undefined;
    return { story: { ...story, passes: false }, why: `${id} is not done: ${redWords(red)}.` };
  }
  if (isDone(story, policy)) {
    const reviewFeedback = `Ralph ran the checks: ${redWords(red)}.${outputOf(red)}`;
    const why =
      was?.reviewStatus === 'approved'
        ? `${id} is open again: ${redWords(red)}.`
        : `${id} is not approved: ${redWords(red)}.`;
    return { story: { ...story, passes: false, reviewStatus: 'changes_requested', reviewFeedback }, why };
  }
  const isHandedIn = reviewStatus === 'needs_review' && was && was.reviewStatus !== 'needs_review';
  if (assignment.mode === 'review' || !isHandedIn) return undefined;
  const { reviewStatus: status, reviewFeedback } = was;
  return {
    story: { ...story, reviewStatus: status, reviewFeedback },
    why: `${id} was not handed in: ${redWords(red)}.`,
  };
}

const MOST_OUTPUT = 600;

function outputOf([first]: readonly CheckResult[]): string {
  const text = first?.output.trim().slice(-MOST_OUTPUT) ?? '';
  return text === '' ? '' : ` It printed: ${text}`;
}
