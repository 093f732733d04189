/** Which checks an iteration of `ralph prd run` needs, and what a red one takes back. */
import { describe, expect, test } from 'vitest';
import type { CheckResult } from '../../../src/domain/checks/check.ts';
import type { IterationResult } from '../../../src/domain/run/result.ts';
import {
  commandsAfter,
  type Round,
  redBeforeReview,
  weighChecks,
} from '../../../src/domain/stories/approval.ts';
import type { StoryMode } from '../../../src/domain/stories/assignment.ts';
import type { Story } from '../../../src/domain/stories/story.ts';
import { STATES, story, storyList } from './stories.ts';

const { open, waiting, rejected, approved } = STATES;

function round(
  mode: StoryMode,
  before: Partial<Story>,
  after: Partial<Story>,
  other: Partial<Story> = open,
): Round {
  const own = { verifyCommands: ['a'] };
  const list = (state: Partial<Story>) => ({
    ...storyList(story('A', { ...own, ...state }), story('B', { verifyCommands: ['b'], ...other })),
    verifyCommands: ['all'],
  });
  const policy = { skipReview: false, reviewCap: 5, atCap: 'approve' } as const;
  const { userStories } = list(before);
  return {
    before: list(before),
    after: list(after),
    assignment: { mode, story: userStories[0] as Story },
    policy,
    checks: ['check'],
  };
}

const red = (command: string): CheckResult => ({
  index: 0,
  command,
  failAction: 'APPEND',
  passed: false,
  exitCode: 1,
  timedOut: false,
  duration: 1,
  output: 'it broke',
  outputCut: false,
  logFile: '',
});

test.each<[string, Round, readonly string[]]>([
  ['building', round('implement', open, waiting), ['check', 'all', 'a']],
  ['building, not handed in', round('implement', open, open), ['check', 'all', 'a']],
  ['a review that asks for changes', round('review', waiting, rejected), []],
  ['a review that approves', round('review', waiting, approved), ['check', 'all', 'a']],
  ['the last review', round('review', waiting, approved, approved), ['check', 'all', 'a', 'b']],
])('%s', (_, given, commands) => {
  expect(commandsAfter(given)).toEqual(commands);
});

describe('a red check', () => {
  const stateOf = (given: Round, ...commands: readonly string[]) => {
    const { list, refused } = weighChecks(given, commands.map(red));
    return [...list.userStories.map(({ reviewStatus }) => reviewStatus), refused.length];
  };
  test.each<[string, Round, string, readonly unknown[]]>([
    ['takes a hand-in back', round('implement', open, waiting), 'a', [null, null, 1]],
    ['takes a fix back', round('review-fix', rejected, waiting), 'all', ['changes_requested', null, 1]],
    ['takes an approval back', round('review', waiting, approved), 'check', ['changes_requested', null, 1]],
    ['of another story leaves this one', round('implement', open, waiting), 'b', ['needs_review', null, 0]],
    [
      'opens the story that it belongs to',
      round('review', waiting, approved, approved),
      'b',
      ['approved', 'changes_requested', 1],
    ],
    ['says nothing new of an open story', round('implement', open, open), 'a', [null, null, 0]],
  ])('%s', (_, given, command, expected) => {
    expect(stateOf(given, command)).toEqual(expected);
  });

  test('the feedback says what Ralph saw', () => {
    const { list } = weighChecks(round('review', waiting, approved), [red('a')]);
    expect(list.userStories[0]).toMatchObject({
      passes: false,
      reviewFeedback: 'Ralph ran the checks: `a` failed (exit code 1). It printed: it broke',
    });
  });

  test('the answered feedback of a fix that is taken back is there again', () => {
    const answered = { ...waiting, reviewFeedback: '' };
    const { list } = weighChecks(round('review-fix', rejected, answered), [red('a')]);
    expect(list.userStories[0]).toMatchObject({
      reviewStatus: 'changes_requested',
      reviewFeedback: 'fix it',
    });
  });
});

const iteration = (mode: string, name: string, passed: boolean): IterationResult =>
  ({ mode, checkResults: [{ name, passed }] }) as unknown as IterationResult;

test.each<[string, readonly IterationResult[], readonly string[]]>([
  ['at the start', [], ['a']],
  ['after a review in which it passed', [iteration('review', 'a', true)], ['a']],
  ['after somebody built and it passed', [iteration('review-fix', 'a', true)], []],
  ['after a review in which another one failed', [iteration('review', 'b', false)], ['a', 'b']],
])('a check that failed before the first iteration is red before a review: %s', (_, results, expected) => {
  expect([...redBeforeReview({ baseline: [red('a')], results })]).toEqual(expected);
});
