import { describe, expect, test } from 'vitest';
import type { Story } from '../../../src/domain/stories/story.ts';
import {
  findForbiddenChanges,
  findInvalidStories,
  type StoryRules,
} from '../../../src/domain/stories/transitions.ts';
import { STATES, story } from './stories.ts';

const POLICY = { skipReview: false, reviewCap: 5, atCap: 'approve' } as const;
const { open, waiting, rejected, approved } = STATES;

describe('invariants (Check 2)', () => {
  test.each<[string, Partial<Story>, string | undefined]>([
    ['passes, never reviewed', { passes: true }, "passes=true but reviewStatus is 'null', not 'approved'"],
    ['passes, waits for its review', { ...waiting, passes: true }, "'needs_review', not 'approved'"],
    ['passes, changes requested', { ...rejected, passes: true }, "'changes_requested', not 'approved'"],
    ['passes and approved', approved, undefined],
    ['changes requested without feedback', { ...rejected, reviewFeedback: ' ' }, 'feedback required'],
    ['approved and does not pass', { ...approved, passes: false }, 'out of sync'],
    ['more reviews than the cap and one', { ...waiting, reviewCount: 7 }, 'the review cap is 5'],
    ['one review more than the cap', { ...waiting, reviewCount: 6 }, undefined],
  ])('%s', (_, fields, message) => {
    const told = findInvalidStories([story('US-001', fields)], POLICY);
    expect(told).toEqual(message === undefined ? [] : [expect.stringContaining(message)]);
  });

  test('are not looked at without reviews', () => {
    expect(findInvalidStories([story('US-001', { passes: true })], { ...POLICY, skipReview: true })).toEqual(
      [],
    );
  });

  test('a cap that was lowered since does not make a list impossible', () => {
    const before = new Map([['US-001', story('US-001', { ...waiting, reviewCount: 4 })]]);
    const after = [story('US-001', { ...approved, reviewCount: 5 })];
    expect(findInvalidStories(after, { ...POLICY, reviewCap: 1 }, before)).toEqual([]);
  });
});

type Case = [
  mode: StoryRules['mode'],
  what: string,
  before: Partial<Story>,
  after: Partial<Story>,
  message: string | undefined,
];

describe('transitions (Check 2.5)', () => {
  test.each<Case>([
    ['implement', 'sets passes', open, { passes: true }, 'Implement iterations cannot set passes=true'],
    [
      'implement',
      'approves',
      open,
      { reviewStatus: 'approved' },
      'cannot set passes=true or approve stories',
    ],
    ['implement', 'counts', open, { reviewCount: 1 }, 'Implement iterations cannot increment reviewCount'],
    ['implement', 'hands in', open, waiting, undefined],
    ['implement', 'does nothing', open, open, undefined],
    [
      'implement',
      'requests changes',
      open,
      { reviewStatus: 'changes_requested' },
      'cannot set passes=true or approve',
    ],
    ['implement', 'takes an approval back', approved, { ...approved, passes: false }, 'passes true → false'],
    [
      'implement',
      'hands in what is approved',
      approved,
      { ...approved, ...waiting },
      '"approved" → "needs_review"',
    ],
    ['implement', 'writes feedback', open, { reviewFeedback: 'fine!' }, 'reviewFeedback "" → "fine!"'],
    ['review', 'approves', { ...waiting, reviewCount: 1 }, { ...approved, reviewCount: 2 }, undefined],
    ['review', 'rejects', { ...waiting, reviewCount: 1 }, { ...rejected, reviewCount: 2 }, undefined],
    [
      'review',
      'does not count',
      waiting,
      { ...approved, reviewCount: 0 },
      'review must increment reviewCount',
    ],
    ['review', 'counts twice', waiting, { ...approved, reviewCount: 2 }, 'it went 0 → 2'],
    ['review', 'leaves no verdict', waiting, waiting, 'review must increment reviewCount by 1 and set'],
    ['review', 'only counts', waiting, { ...waiting, reviewCount: 1 }, 'must become "approved" or'],
    ['review', 'rejects without a word', waiting, { ...rejected, reviewFeedback: '' }, 'without feedback'],
    ['review', 'approves, does not pass', waiting, { ...approved, passes: false }, 'approved without passes'],
    ['review', 'rejects and passes', waiting, { ...rejected, passes: true }, 'changes requested with passes'],
    ['review-fix', 'approves', rejected, { ...rejected, reviewStatus: 'approved' }, 'cannot approve stories'],
    [
      'review-fix',
      'sets passes',
      rejected,
      { ...rejected, passes: true },
      'Review-fix iterations cannot approve',
    ],
    ['review-fix', 'counts', rejected, { ...rejected, reviewCount: 2 }, 'cannot increment reviewCount'],
    ['review-fix', 'hands in', rejected, { ...rejected, ...waiting, reviewFeedback: '' }, undefined],
    ['review-fix', 'hands in, feedback left', rejected, { ...rejected, ...waiting }, undefined],
    [
      'review-fix',
      'rewrites the feedback',
      rejected,
      { ...rejected, reviewFeedback: 'good' },
      '"fix it" → "good"',
    ],
    ['review-fix', 'hands in something new', open, waiting, 'null → "needs_review"'],
  ])('%s %s', (mode, _, before, after, message) => {
    const snapshot = new Map([['US-001', story('US-001', before)]]);
    const offences = findForbiddenChanges(snapshot, [story('US-001', { ...before, ...after })], {
      ...POLICY,
      mode,
    });
    expect(offences.map(offence => offence.message)).toEqual(
      message === undefined ? [] : [expect.stringContaining(message)],
    );
  });

  const two = (
    mode: StoryRules['mode'],
    before: readonly Story[],
    after: readonly Story[],
    wanted?: string,
  ) =>
    findForbiddenChanges(new Map(before.map(each => [each.id, each])), after, {
      ...POLICY,
      mode,
      ...(wanted !== undefined && { story: wanted }),
    });

  test('a review may judge one story: the one it is for, or the first', () => {
    const before = [story('A', waiting), story('B', waiting)];
    const after = [story('A', approved), story('B', approved)];
    expect(two('review', before, after)).toMatchObject([
      { message: expect.stringContaining('may only modify one story'), undo: { story: 'B' } },
    ]);
    expect(two('review', before, after, 'B')).toMatchObject([{ undo: { story: 'A' } }]);
  });

  test('a review may not approve what nobody has handed in', () => {
    const offences = two(
      'review',
      [story('A', waiting), story('B')],
      [story('A', approved), story('B', approved)],
    );
    expect(offences).toMatchObject([{ message: expect.stringContaining('not waiting for a review') }]);
  });

  test("nobody may change another story's feedback", () => {
    const before = [story('A', waiting), story('B', rejected)];
    const touched = story('B', { ...rejected, reviewFeedback: 'all is well' });
    expect(two('review', before, [story('A', approved), touched])).toMatchObject([
      { undo: { story: 'B', fields: { reviewFeedback: 'fix it' } } },
    ]);
    expect(two('implement', before, [story('A', waiting), touched])).toMatchObject([
      { undo: { story: 'B', fields: { reviewFeedback: 'fix it' } } },
    ]);
  });

  test('one story an iteration is handed in', () => {
    const offences = two('implement', [story('A'), story('B')], [story('A', waiting), story('B', waiting)]);
    expect(offences).toMatchObject([{ message: expect.stringContaining('One story per iteration: A') }]);
  });

  test.each(['implement', 'review', 'review-fix'] as const)('%s may add stories that are open', mode => {
    const before = [story('A', mode === 'review' ? waiting : rejected)];
    const after = [mode === 'review' ? story('A', approved) : story('A', rejected)];
    expect(two(mode, before, [...after, story('NEW')])).toEqual([]);
    expect(two(mode, before, [...after, story('NEW', approved)])).toMatchObject([
      { message: 'New story NEW must start at passes=false, reviewStatus=null, reviewCount=0.' },
    ]);
  });

  test('stories may be put in another order and given another priority', () => {
    const before = [story('A'), story('B')];
    expect(two('implement', before, [story('B', { priority: 0 }), story('A', { priority: 9 })])).toEqual([]);
  });

  test('without reviews only what was asked for is looked after', () => {
    const terms = { ...POLICY, skipReview: true, mode: 'implement' } as const;
    const snapshot = new Map([['A', story('A')]]);
    expect(findForbiddenChanges(snapshot, [story('A', { passes: true })], terms)).toEqual([]);
    expect(findForbiddenChanges(snapshot, [], terms)).toHaveLength(1);
  });
});

describe('what was asked for', () => {
  const change = (
    mode: StoryRules['mode'],
    before: Partial<Story>,
    after: Partial<Story>,
    ...more: Story[]
  ) =>
    findForbiddenChanges(
      new Map([['A', story('A', { acceptanceCriteria: ['one', 'two'], ...before })]]),
      [story('A', { acceptanceCriteria: ['one', 'two'], ...before, ...after }), ...more],
      { ...POLICY, mode },
    ).map(offence => offence.message);

  test.each(['implement', 'review-fix'] as const)('%s: a criterion is not taken away or reworded', mode => {
    const before = mode === 'implement' ? open : rejected;
    const lost = [expect.stringContaining('lost an acceptance criterion: "two"')];
    expect(change(mode, before, { acceptanceCriteria: ['one'] })).toEqual(lost);
    expect(change(mode, before, { acceptanceCriteria: ['one', 'two or so'] })).toEqual(lost);
  });

  test('a criterion may be added until the story is done', () => {
    expect(change('review-fix', rejected, { acceptanceCriteria: ['one', 'two', 'three'] })).toEqual([]);
    expect(change('implement', approved, { acceptanceCriteria: ['one', 'two', 'three'] })).toEqual([
      expect.stringContaining('is done'),
    ]);
  });

  test('a story that is split keeps its id and gives criteria to a new one', () => {
    const rest = story('A2', { acceptanceCriteria: ['two'] });
    expect(change('implement', open, { acceptanceCriteria: ['one'], ...waiting }, rest)).toEqual([]);
    expect(change('review-fix', rejected, { acceptanceCriteria: ['one'] }, rest)).toHaveLength(1);
  });

  test('title and description may be changed until the story is under way', () => {
    expect(change('implement', open, { title: 'Better', description: 'words' })).toEqual([]);
    expect(change('review-fix', rejected, { title: 'Easier', description: 'words' })).toHaveLength(2);
  });

  test('a story is never removed', () => {
    const offences = findForbiddenChanges(new Map([['A', story('A')]]), [], { ...POLICY, mode: 'implement' });
    expect(offences).toMatchObject([{ message: expect.stringContaining('Stories are never removed') }]);
  });
});

describe('a merge-fix that leaves its story as it was', () => {
  const fixed = (after: Partial<Story>, mode: StoryRules['mode'] = 'merge-fix') =>
    findForbiddenChanges(new Map([['US-001', story('US-001', rejected)]]), [story('US-001', after)], {
      ...{ ...POLICY, mode, story: 'US-001' },
    });

  test('is told exactly what is missing, and nothing is undone', () => {
    const told = expect.stringContaining('US-001 was not handed in: its reviewStatus in tasks.json is still');
    expect(fixed(rejected)).toEqual([{ message: told, undo: { kind: 'none' } }]);
  });

  test('is told nothing where it was handed in; nor is another mode', () => {
    expect(fixed({ ...rejected, reviewStatus: 'needs_review' })).toEqual([]);
    expect(fixed(rejected, 'review-fix')).toEqual([]);
  });
});
