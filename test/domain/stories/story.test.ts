import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatEstimate, nextAssignment, openStories } from '../../../src/domain/stories/assignment.ts';
import { findFlaws, readList } from '../../../src/domain/stories/story.ts';
import { STATES, story, storyList } from './stories.ts';

const POLICY = { skipReview: false, reviewCap: 5, atCap: 'approve' } as const;
const told = (value: unknown) => findFlaws(value).map(flaw => flaw.message);

describe('schema (Check 1)', () => {
  test('a list that is right is what was read', () => {
    const list = storyList(story('US-001', STATES.approved), story('US-002', { dependsOn: ['US-001'] }));
    expect(readList(list)).toBe(list);
  });

  test.each<[string, unknown, string[]]>([
    ['no object', [], ['it must hold a JSON object']],
    [
      'nothing in it',
      {},
      [
        'project is missing; it must be text',
        'branchName is missing; it must be text',
        'description is missing; it must be text',
        'userStories is missing; it must be a list of stories',
      ],
    ],
    ['a story that is none', { ...storyList(), userStories: ['x'] }, ['story 1 must be an object']],
    [
      'fields of the wrong kind',
      storyList({ ...story('A'), passes: 'yes', priority: '1', reviewCount: -1 } as never),
      [
        'story A: priority must be a number, not "1"',
        'story A: passes must be true or false, not "yes"',
        'story A: reviewCount must be a whole number that is not negative, not -1',
      ],
    ],
    [
      'a status that there is not',
      storyList({ ...story('A'), reviewStatus: 'ok' } as never),
      ['story A: reviewStatus must be null, "needs_review", "changes_requested" or "approved", not "ok"'],
    ],
    ['no id', storyList(story('')), ['story number 1: id must be text that is not empty, not ""']],
    [
      'no criteria',
      storyList(story('A', { acceptanceCriteria: [] })),
      ['story A: acceptanceCriteria must be a list of texts that is not empty, not []'],
    ],
    ['an id twice', storyList(story('A'), story('A')), ['story A: there is more than one story of this id']],
    [
      'done without a word',
      storyList(story('A', { ...STATES.approved, notes: '' })),
      ['story A has passes=true and empty notes: say there what was done'],
    ],
    [
      'dependencies on nobody, and in a circle: all of them',
      storyList(story('A', { dependsOn: ['B', 'X'] }), story('B', { dependsOn: ['A'] })),
      [
        'story A depends on X, and there is no such story',
        'story A is in a dependency cycle: A → B → A',
        'story B is in a dependency cycle: B → A → B',
      ],
    ],
  ])('%s', (_, value, messages) => {
    expect(told(value)).toEqual(messages);
  });
});

describe('who waits for whom', () => {
  const chain = (length: number, last: readonly string[]) =>
    storyList(
      ...Array.from({ length }, (_, at) =>
        story(`S${at}`, { dependsOn: at === length - 1 ? last : [`S${at + 1}`] }),
      ),
    );

  test('a chain of ten thousand is in order', () => {
    expect(told(chain(10_000, []))).toEqual([]);
  });

  test('a ring of ten thousand is told of each, and shown as far as anybody reads', () => {
    const messages = told(chain(10_000, ['S0']));
    expect(messages).toHaveLength(10_000);
    expect(messages[9_998]).toBe(
      'story S9998 is in a dependency cycle: S9998 → S9999 → S0 → S1 → S2 → S3 → S4 → S5 → 9992 more → S9998',
    );
  });

  test('those wait for themselves that can be reached from themselves, and no others', () => {
    const size = 6;
    const graph = fc.array(fc.uniqueArray(fc.nat({ max: size - 1 })), { minLength: size, maxLength: size });
    const reaches = (edges: readonly (readonly number[])[], start: number) => {
      const seen = new Set(edges[start]);
      for (const each of seen) for (const next of edges[each] ?? []) seen.add(next);
      return seen.has(start);
    };
    fc.assert(
      fc.property(graph, edges => {
        const list = storyList(
          ...edges.map((ids, at) => story(`S${at}`, { dependsOn: ids.map(id => `S${id}`) })),
        );
        const wanted = edges.flatMap((_, at) => (reaches(edges, at) ? [at] : []));
        const ways = told(list).map(message => (message.split(': ')[1] ?? '').split(' → '));
        expect(ways.map(way => Number(way[0]?.slice(1)))).toEqual(wanted);
        for (const way of ways) {
          expect(way.at(-1)).toBe(way[0]);
          for (const [at, id] of way.slice(1).entries())
            expect(edges[Number(way[at]?.slice(1))]).toContain(Number(id.slice(1)));
        }
      }),
    );
  });
});

describe('mode and story', () => {
  const { open, waiting, rejected, approved } = STATES;
  test.each<[string, ReturnType<typeof storyList>, string, string | undefined]>([
    ['a fix before a review', storyList(story('A', waiting), story('B', rejected)), 'review-fix', 'B'],
    ['a review before anything new', storyList(story('A', open), story('B', waiting)), 'review', 'B'],
    ['the lowest number first', storyList(story('A', { priority: 2 }), story('B')), 'implement', 'B'],
    ['the same number in order', storyList(story('A'), story('B')), 'implement', 'A'],
    [
      'dependencies before priority',
      storyList(story('A', { dependsOn: ['B'] }), story('B', { priority: 9 })),
      'implement',
      'B',
    ],
    [
      'a dependency that is approved holds nobody up',
      storyList(story('A', { dependsOn: ['B'] }), story('B', approved)),
      'implement',
      'A',
    ],
    ['nothing left', storyList(story('A', approved)), 'implement', undefined],
  ])('%s', (_, list, mode, id) => {
    const assignment = nextAssignment(list, POLICY);
    expect([assignment.mode, assignment.story?.id]).toEqual([mode, id]);
  });

  test('without reviews there is only implementing', () => {
    const list = storyList(story('A', waiting), story('B', { passes: true }));
    expect(nextAssignment(list, { ...POLICY, skipReview: true })).toMatchObject({
      mode: 'implement',
      story: { id: 'A' },
    });
    expect(openStories(list, { skipReview: true })).toHaveLength(1);
  });
});

describe('estimate', () => {
  test.each<[number, boolean, string]>([
    [15, false, '2 stories to go, about 3 iterations for a whole one: about 5 needed.'],
    [0, false, '2 stories to go, about 3 iterations for a whole one: about 5 needed.'],
    [
      4,
      false,
      '2 stories to go, about 3 iterations for a whole one: about 5 needed. That is more than the 4 allowed: raise it with -n.',
    ],
    [15, true, '2 stories to go, one iteration for a whole one: about 2 needed.'],
  ])('of at most %d, skip-review %s', (most, skipReview, words) => {
    const list = storyList(story('A'), story('B', STATES.waiting), story('C', STATES.approved));
    expect(formatEstimate(list, { ...POLICY, skipReview }, most)).toBe(words);
  });
});
