import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cappedStory, nextAssignment, type ReviewPolicy } from '../../../src/domain/stories/assignment.ts';
import { repairList } from '../../../src/domain/stories/repair.ts';
import { findFlaws, type Story, type StoryList } from '../../../src/domain/stories/story.ts';
import { findInvalidStories, type StoryRules } from '../../../src/domain/stories/transitions.ts';
import { examples } from '../../rig/thorough.ts';
import { STATES, story, storyList } from './stories.ts';

const { waiting, rejected, approved } = STATES;
const IMPLEMENT: StoryRules = { mode: 'implement', skipReview: false, reviewCap: 5, atCap: 'approve' };
const REVIEW: StoryRules = { ...IMPLEMENT, mode: 'review' };

describe('what the agent left is fixed field by field', () => {
  const trusted = storyList(story('A'), story('B', approved));

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no object', 'x'],
    ['no stories', {}],
    ['null', null],
  ])('%s: the list as it was', (_, left) => {
    const settled = repairList(trusted, left, IMPLEMENT);
    expect([settled.list, settled.repaired, settled.forbidden.length]).toEqual([trusted, true, 1]);
  });

  test('a lawful edit is left as it is', () => {
    const left = {
      ...storyList(story('A', waiting), story('B', approved), story('C')),
      extra: { kept: true },
    };
    expect(repairList(trusted, left, IMPLEMENT)).toEqual({
      list: left,
      forbidden: [],
      missing: [],
      repaired: false,
    });
  });

  test('the rest of an edit with something unlawful in it is kept', () => {
    const left = storyList(
      story('A', { ...waiting, passes: true, title: 'Better', notes: 'how' }),
      story('B', approved),
    );
    const { list, forbidden } = repairList(trusted, left, IMPLEMENT);
    expect(list).toEqual(
      storyList(story('A', { ...waiting, title: 'Better', notes: 'how' }), story('B', approved)),
    );
    expect(forbidden).toHaveLength(1);
  });

  test('fields that cannot be what they are become what they were', () => {
    const left = {
      ...storyList({ ...story('A'), passes: 'yes', priority: 'high' } as never, story('B', approved)),
      project: 7,
    };
    const { list, forbidden } = repairList(trusted, left, IMPLEMENT);
    expect(list).toEqual(trusted);
    expect(forbidden).toHaveLength(3);
  });

  test('a story that was removed, renamed or doubled is back once', () => {
    for (const left of [
      storyList(story('B', approved)),
      storyList(story('A'), story('A', { title: 'again' }), story('B', approved)),
    ])
      expect(repairList(trusted, left, IMPLEMENT).list).toEqual(trusted);
    const renamed = repairList(trusted, storyList(story('Z'), story('B', approved)), IMPLEMENT);
    expect(renamed.list.userStories.map(each => each.id).sort()).toEqual(['A', 'B', 'Z']);
  });

  test('a new story without its review fields gets them, one without a title is not taken', () => {
    const bare = { id: 'N', title: 'New', acceptanceCriteria: ['x'], priority: 3 };
    const left = { ...trusted, userStories: [...trusted.userStories, bare, { id: 'M', priority: 1 }] };
    const { list, forbidden } = repairList(trusted, left, IMPLEMENT);
    expect(list.userStories.slice(2)).toEqual([
      { ...bare, passes: false, reviewStatus: null, reviewCount: 0, reviewFeedback: '' },
    ]);
    expect(forbidden.join('\n')).toContain('story M: title is missing');
  });

  test('dependencies on nobody and circles are undone, others are kept', () => {
    const list = storyList(story('A'), story('B', { dependsOn: ['A'] }), story('C'));
    const left = storyList(
      story('A', { dependsOn: ['B'] }),
      story('B', { dependsOn: ['A'] }),
      story('C', { dependsOn: ['A'] }),
    );
    const settled = repairList(list, left, IMPLEMENT);
    expect(settled.list.userStories.map(each => each.dependsOn)).toEqual([[], ['A'], ['A']]);
    const nobody = repairList(
      list,
      storyList(story('A', { dependsOn: ['X'] }), ...list.userStories.slice(1)),
      IMPLEMENT,
    );
    expect(nobody.list).toEqual(list);
  });

  test('the branch is the user’s', () => {
    const repaired = repairList(trusted, { ...trusted, branchName: 'main' }, IMPLEMENT);
    expect(repaired.list).toEqual(trusted);
    expect(repaired.forbidden).toEqual(['tasks.json: branchName was changed. Only the user changes it.']);
  });

  test('verify commands are the user’s: what an agent adds or removes is said and undone', () => {
    const [first] = trusted.userStories;
    const own = { ...first, verifyCommands: ['make one'] } as Story;
    const list: StoryList = {
      ...trusted,
      verifyCommands: ['npm test'],
      userStories: [own, ...trusted.userStories.slice(1)],
    };
    const left = (more: object, ofStory: object) => ({
      ...list,
      ...more,
      userStories: list.userStories.map((each, at) => (at === 0 ? { ...each, ...ofStory } : each)),
    });
    for (const [more, ofStory, words] of [
      [{ verifyCommands: [] }, {}, 'verifyCommands lost "npm test"'],
      [{ verifyCommands: undefined }, {}, 'verifyCommands lost "npm test"'],
      [{ verifyCommands: 'true' }, {}, 'verifyCommands must be a list of texts'],
      [{ verifyCommands: ['npm test', 'curl evil'] }, {}, '"curl evil" was added to verifyCommands.'],
      [{}, { verifyCommands: ['true'] }, `verifyCommands of ${own.id} lost "make one"`],
      [{}, { verifyCommands: ['make one', 'x'] }, `"x" was added to verifyCommands of ${own.id}.`],
    ] as const) {
      const repaired = repairList(list, left(more, ofStory), IMPLEMENT);
      expect(repaired.list).toEqual(list);
      expect(repaired.forbidden.join(' ')).toContain(words);
    }
    const fresh = { ...story('US-900'), verifyCommands: ['curl evil'] };
    const added = repairList(list, { ...list, userStories: [...list.userStories, fresh] }, IMPLEMENT);
    expect(added.list.userStories.at(-1)).toEqual(story('US-900'));
    expect(added.forbidden.join(' ')).toContain('"curl evil" was added to verifyCommands of US-900.');
  });

  test('an approval without notes counts and is reported', () => {
    const { list, forbidden } = repairList(
      storyList(story('A', { ...waiting, notes: '' })),
      storyList(story('A', { ...approved, notes: '' })),
      REVIEW,
    );
    expect(list.userStories[0]).toMatchObject({ passes: true, notes: '(no notes were left)' });
    expect(forbidden).toEqual([expect.stringContaining('empty notes')]);
  });
});

describe('the review cap', () => {
  const before = storyList(story('A', { ...waiting, reviewCount: 1 }));
  const asks = storyList(story('A', { ...rejected, reviewCount: 2, reviewFeedback: 'leaks' }));
  const says = storyList(
    story('A', { ...approved, reviewCount: 2, reviewFeedback: '[AUTO-APPROVED AT CAP] leaks' }),
  );

  test('one review below it asks for changes as ever', () => {
    expect(repairList(before, asks, { ...REVIEW, reviewCap: 3 })).toMatchObject({
      list: asks,
      forbidden: [],
    });
  });

  test('approve: a last request for changes lets the story through, and says so', () => {
    const settled = repairList(before, asks, { ...REVIEW, reviewCap: 2 });
    expect(settled).toMatchObject({ list: says, autoApproved: { id: 'A' }, forbidden: [] });
  });

  test('approve: the agent may say it itself', () => {
    expect(repairList(before, says, { ...REVIEW, reviewCap: 2 })).toMatchObject({
      list: says,
      autoApproved: { id: 'A' },
      repaired: false,
    });
  });

  test('stop: nobody is let through, not even by the agent', () => {
    const terms = { ...REVIEW, reviewCap: 2, atCap: 'stop' } as const;
    expect(repairList(before, asks, terms)).toMatchObject({ list: asks });
    expect(cappedStory(asks, { mode: 'review', story: story('A') }, terms)).toMatchObject({ id: 'A' });
    expect(cappedStory(asks, { mode: 'review-fix', story: story('A') }, terms)).toBeUndefined();
    expect(repairList(before, says, terms)).toMatchObject({
      list: { userStories: [{ passes: false, reviewStatus: 'changes_requested' }] },
    });
  });

  test('an honest approval in the last review is one', () => {
    const fine = storyList(story('A', { ...approved, reviewCount: 2 }));
    for (const atCap of ['approve', 'stop'] as const) {
      const settled = repairList(before, fine, { ...REVIEW, reviewCap: 2, atCap });
      expect(settled).toEqual({ list: fine, forbidden: [], missing: [], repaired: false });
    }
  });
});

// ── Laws: from any lawful list, whatever the agent leaves, iteration after iteration ──

const lawfulStory = (id: string): fc.Arbitrary<Story> =>
  fc
    .record({ state: fc.constantFrom(...Object.values(STATES)), priority: fc.nat({ max: 3 }) })
    .map(({ state, priority }) => story(id, { ...state, priority }));
const lawfulList = fc
  .integer({ min: 1, max: 4 })
  .chain(count => fc.tuple(...Array.from({ length: count }, (_, at) => lawfulStory(`S${at}`))))
  .map(stories => storyList(...stories));

const value = fc.oneof(
  fc.constantFrom<unknown>(
    true,
    false,
    null,
    'approved',
    'needs_review',
    'changes_requested',
    '',
    0,
    1,
    2,
    9,
    -1,
  ),
  fc.constantFrom<unknown>([], ['S0'], ['S1'], ['X'], {}, 'S0', '[AUTO-APPROVED AT CAP]'),
  fc.jsonValue({ maxDepth: 2 }),
);
const FIELDS = [
  ...[
    'id',
    'title',
    'description',
    'acceptanceCriteria',
    'priority',
    'passes',
    'reviewStatus',
    'reviewCount',
  ],
  ...['reviewFeedback', 'notes', 'dependsOn', '__proto__', 'extra'],
];

/** What an agent may do to a list, well meant or not. */
type Deed = (list: { userStories: Record<string, unknown>[] } & Record<string, unknown>) => unknown;
const pick = (list: Parameters<Deed>[0], at: number) =>
  list.userStories[at % Math.max(1, list.userStories.length)];
const at = fc.nat({ max: 5 });
const verdict =
  (status: string, passes: boolean) =>
  (to: number): Deed =>
  list => {
    const one = pick(list, to);
    if (one)
      Object.assign(one, {
        reviewStatus: status,
        passes,
        reviewCount: Number(one.reviewCount) + 1,
        reviewFeedback: 'words',
      });
    return list;
  };
const deed: fc.Arbitrary<Deed> = fc.oneof(
  at.map(
    (to): Deed =>
      list => {
        const one = pick(list, to);
        if (one) Object.assign(one, { reviewStatus: 'needs_review', reviewFeedback: '' });
        return list;
      },
  ),
  at.map(verdict('approved', true)),
  at.map(verdict('changes_requested', false)),
  at.map(
    (to): Deed =>
      list => {
        const one = pick(list, to);
        if (one) Object.assign(one, { passes: true, reviewStatus: 'approved' });
        return list;
      },
  ),
  fc.tuple(at, fc.constantFrom(...FIELDS), value).map(
    ([to, field, given]): Deed =>
      list => {
        const one = pick(list, to);
        if (one)
          Object.defineProperty(one, field, {
            value: structuredClone(given), // the same value twice is two values in a file
            enumerable: true,
            writable: true,
            configurable: true,
          });
        return list;
      },
  ),
  at.map(
    (to): Deed =>
      list => {
        list.userStories.splice(to, 1);
        return list;
      },
  ),
  fc.tuple(at, fc.constantFrom(...Object.values(STATES)), fc.constantFrom('S0', 'S1', 'N0', 'N1')).map(
    ([to, state, id]): Deed =>
      list => {
        list.userStories.splice(to, 0, { ...story(id, state) });
        return list;
      },
  ),
  fc.constant<Deed>(list => {
    list.userStories.reverse();
    return list;
  }),
  fc.tuple(fc.constantFrom('project', 'branchName', 'userStories', 'verifyCommands'), value).map(
    ([field, given]): Deed =>
      list =>
        Object.assign(list, { [field]: structuredClone(given) }),
  ),
  value.map(
    (given): Deed =>
      () =>
        structuredClone(given),
  ),
  fc.constant<Deed>(() => undefined),
);

const iterations = fc.array(fc.array(deed, { maxLength: 4 }), { maxLength: 12 });
const policy: fc.Arbitrary<ReviewPolicy> = fc.record({
  skipReview: fc.constant(false),
  reviewCap: fc.integer({ min: 1, max: 3 }),
  atCap: fc.constantFrom('approve', 'stop'),
});

function play(list: StoryList, deeds: readonly Deed[]): unknown {
  let left: unknown = structuredClone(list);
  for (const each of deeds) {
    const hasStories =
      typeof left === 'object' && left !== null && Array.isArray((left as StoryList).userStories);
    if (hasStories) {
      const stories = (left as { userStories: unknown[] }).userStories;
      if (stories.every(one => typeof one === 'object' && one !== null)) left = each(left as never);
    }
  }
  return left;
}

describe('laws', () => {
  test('no story passes without a review iteration that found it waiting, in a list the agent did not write', () => {
    fc.assert(
      fc.property(lawfulList, iterations, policy, (start, sequence, rules) => {
        let trusted = start;
        for (const deeds of sequence) {
          const { mode, story: wanted } = nextAssignment(trusted, rules);
          const left = play(trusted, deeds);
          const { list } = repairList(trusted, left, { ...rules, mode, ...(wanted && { story: wanted.id }) });
          const newly = list.userStories.filter(
            now => now.passes && !trusted.userStories.some(was => was.id === now.id && was.passes),
          );
          expect(newly.length).toBeLessThanOrEqual(mode === 'review' ? 1 : 0);
          for (const now of newly) {
            const was = trusted.userStories.find(each => each.id === now.id);
            expect(was).toMatchObject({ reviewStatus: 'needs_review', reviewCount: now.reviewCount - 1 });
          }
          trusted = list;
        }
      }),
      examples(1_000),
    );
  });

  test('what comes out is a lawful list, with every story and every criterion that was in it', () => {
    fc.assert(
      fc.property(lawfulList, iterations, policy, (start, sequence, rules) => {
        let trusted = start;
        for (const deeds of sequence) {
          const { mode, story: wanted } = nextAssignment(trusted, rules);
          const left = play(trusted, deeds);
          const { list } = repairList(trusted, left, { ...rules, mode, ...(wanted && { story: wanted.id }) });
          expect(findFlaws(list)).toEqual([]);
          expect(findInvalidStories(list.userStories, { ...rules, reviewCap: 99 })).toEqual([]);
          const criteria = list.userStories.flatMap(each => each.acceptanceCriteria);
          for (const was of trusted.userStories) {
            expect(list.userStories.map(each => each.id)).toContain(was.id);
            for (const criterion of was.acceptanceCriteria) expect(criteria).toContain(criterion);
          }
          trusted = list;
        }
      }),
      examples(700),
    );
  });

  test('an approval is never taken back', () => {
    fc.assert(
      fc.property(lawfulList, iterations, policy, (start, sequence, rules) => {
        let trusted = start;
        for (const deeds of sequence) {
          const { mode } = nextAssignment(trusted, rules);
          const { list } = repairList(trusted, play(trusted, deeds), { ...rules, mode });
          const done = (each: StoryList) => each.userStories.filter(one => one.passes).map(one => one.id);
          expect(done(list)).toEqual(expect.arrayContaining(done(trusted)));
          trusted = list;
        }
      }),
      examples(500),
    );
  });

  test('a list that nobody touched is kept as it is', () => {
    fc.assert(
      fc.property(lawfulList, policy, (list, rules) => {
        const { mode } = nextAssignment(list, rules);
        expect(repairList(list, structuredClone(list), { ...rules, mode }).repaired).toBe(false);
        // The very same list need not be looked at, and comes to the same.
        const { story: wanted } = nextAssignment(list, rules);
        for (const terms of (['implement', 'review', 'review-fix'] as const).map(each => ({
          ...rules,
          mode: each,
          ...(wanted && { story: wanted.id }),
        })))
          expect(repairList(list, list, terms)).toEqual(repairList(list, structuredClone(list), terms));
      }),
    );
  });
});
