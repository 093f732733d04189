/** Which evidence shows each acceptance criterion: a check that passed, a review, or nothing. */
import type { CheckSummary, LoopResult } from '../run/result.ts';
import { lastChecksOf } from '../run/result.ts';
import { readCheckboxes } from '../stories/markdown-tasks.ts';
import type { StoryList } from '../stories/story.ts';

export interface ShownCriterion {
  /** Of the story that has it; absent: of the task itself. */
  readonly story?: string;
  readonly text: string;
  /** Commands that passed and are meant for it; none: no program looked. */
  readonly checks: readonly string[];
  /** Who has approved its story in a review; absent: nobody. */
  readonly approvedBy?: string;
}

export interface AskedFor {
  /** The user's own words. */
  readonly task: string | undefined;
  readonly list: StoryList | undefined;
  /** Who reviews. */
  readonly reviewer: string;
}

export function shownCriteria(asked: AskedFor, result: LoopResult): readonly ShownCriterion[] {
  const passed = lastChecksOf(result).filter(check => check.passed && !check.isSetup);
  return asked.list ? ofStories(asked.list, asked.reviewer, result, passed) : ofTask(asked.task, passed);
}

/** Items with a box in the text of a task; a loop has no reviewer. */
function ofTask(task: string | undefined, passed: readonly CheckSummary[]): readonly ShownCriterion[] {
  const { criteria } = readCheckboxes(task ?? '');
  return criteria.map(text => ({ text, checks: namedIn(text, passed) }));
}

function ofStories(
  { userStories }: StoryList,
  reviewer: string,
  { stories: report }: LoopResult,
  passed: readonly CheckSummary[],
): readonly ShownCriterion[] {
  return userStories.flatMap(({ id, acceptanceCriteria, verifyCommands = [] }) => {
    const outcome = report?.stories.find(story => story.id === id);
    const isApproved = outcome?.done === true && outcome.reviewStatus === 'approved' && !outcome.autoApproved;
    const own = passed.filter(({ name }) => verifyCommands.includes(name)).map(({ name }) => name);
    return acceptanceCriteria.map(text => ({
      story: id,
      text,
      checks: [...new Set([...namedIn(text, passed), ...own])],
      ...(isApproved && { approvedBy: reviewer }),
    }));
  });
}

/** A criterion that names the command of a check is shown by it: `npm test passes`. */
function namedIn(text: string, passed: readonly CheckSummary[]): readonly string[] {
  return [...new Set(passed.map(({ name }) => name).filter(name => isNamed(text, name)))];
}

function isNamed(text: string, command: string): boolean {
  const at = text.indexOf(command);
  const isWord = (sign: string | undefined) => sign !== undefined && /[\w:./-]/.test(sign);
  if (at < 0 || command.trim().length < SHORTEST) return false;
  const behind = text[at + command.length];
  const ends = behind === '.' && !isWord(text[at + command.length + 1]);
  return !isWord(text[at - 1]) && (ends || !isWord(behind));
}

/** `a` is in every sentence. */
const SHORTEST = 3;

/** Neither a program nor a reviewer. */
export const NOBODY = 'nobody looked';

/** In words, for whoever reviews. `code`: how a command stands in it. */
export function criterionWords(
  { checks, approvedBy }: ShownCriterion,
  code: (text: string) => string,
): string {
  if (checks.length > 0) return `${checks.map(code).join(', ')} passed`;
  return approvedBy === undefined ? NOBODY : `no program looked; approved in review by ${code(approvedBy)}`;
}
