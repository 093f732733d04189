/** What a review may change, when its verdict counts, and what the last one that a story may have does. */
import { describe, expect, test } from 'vitest';
import type { ReviewEvidence } from '../../../src/domain/stories/review.ts';
import { readApprovals } from '../../../src/store/approvals.ts';
import { STATES, story } from '../../domain/stories/stories.ts';
import { approve, handIn, reject } from '../../rig/stories.ts';
import { FAIR, iterate, keeping, POLICY, red, said } from './world.ts';

const { waiting } = STATES;

describe('a review', () => {
  const reviewed = () => keeping([story('US-001', waiting), story('US-002', { priority: 2 })]);

  test('approves its story, on record outside of the project', () => {
    const world = reviewed();
    expect(iterate(world, approve())).toMatchObject({ violations: [], missing: [], refused: [] });
    expect(world.storyOf('US-001')).toMatchObject({ passes: true, reviewStatus: 'approved' });
    world.keeper.save(1);
    expect(Object.keys(readApprovals(world.place.path('state/approvals.json')))).toEqual(['US-001']);
  });

  test('sends its story back', () => {
    const world = reviewed();
    iterate(world, reject('US-001', 'handle the empty list'));
    expect(world.storyOf('US-001')).toMatchObject({
      ...{ reviewStatus: 'changes_requested', reviewCount: 1, reviewFeedback: 'handle the empty list' },
    });
    expect(world.keeper.begin()).toMatchObject({ mode: 'review-fix', story: { id: 'US-001' } });
  });

  test.each<[string, Partial<ReviewEvidence>, string]>([
    ['its turn failed', { outcome: { kind: 'ended', by: 'idle-timeout' } }, 'its turn did not end well'],
    ['its turn is not over', { outcome: undefined }, 'its turn did not end well'],
    ['it changed files', { touched: ['src/a.ts was changed'] }, 'it changed files: src/a.ts was changed'],
    [
      'it said something else',
      { spoken: said('US-001', 'changes_requested') },
      'it said changes_requested, and the list says approved',
    ],
    ['it said nothing, and nothing contains it', { isContained: false }, 'it did not say its verdict'],
  ])('is void where %s: the story waits for another one', (_, evidence, why) => {
    const world = reviewed();
    const { missing } = iterate(world, approve(), { evidence: { ...FAIR, ...evidence } });
    expect(missing).toEqual([expect.stringContaining(`The review of US-001 does not count: ${why}`)]);
    expect(world.storyOf('US-001')).toMatchObject({ ...waiting, passes: false, reviewCount: 0 });
    expect(world.onDisk('US-001')).toMatchObject({ ...waiting, passes: false, reviewCount: 0 });
  });

  test('counts where it said its verdict, contained or not', () => {
    const world = reviewed();
    const evidence = { ...FAIR, isContained: false, spoken: said('US-001', 'approved') };
    iterate(world, approve(), { evidence });
    expect(world.storyOf('US-001')?.passes).toBe(true);
  });

  test('is of one story: another that waits is not judged with it, nor instead of it', () => {
    const world = keeping([story('US-001', waiting), story('US-002', { ...waiting, priority: 2 })]);
    const { missing } = iterate(world, approve('US-002'));
    expect(missing).toContain('The review of US-002 does not count: this review was for US-001.');
    expect(world.storyOf('US-002')?.passes).toBe(false);
  });

  test('without a verdict is told what it should have done, if its turn ended well', () => {
    const undone = (outcome: ReviewEvidence['outcome']) =>
      iterate(reviewed(), list => list, { evidence: { ...FAIR, outcome } }).missing;
    expect(undone({ kind: 'completed' })).toEqual([expect.stringContaining('nothing was changed')]);
    expect(undone({ kind: 'ended', by: 'interrupt' })).toEqual([]);
  });

  test('whose checks are red has not approved, and says why to whoever fixes it', () => {
    const world = reviewed();
    const { refused } = iterate(world, approve(), { results: [red('npm test', '2 tests failed')] });
    expect(refused).toEqual(['US-001 is not approved: `npm test` failed (exit code 1).']);
    expect(world.onDisk('US-001')).toMatchObject({
      ...{ passes: false, reviewStatus: 'changes_requested' },
      reviewFeedback: expect.stringContaining('2 tests failed'),
    });
  });

  test('that is tried again begins with the list as it is trusted', () => {
    const world = reviewed();
    world.keeper.begin();
    world.leaves(approve());
    world.keeper.restoreList(1);
    expect(world.onDisk('US-001')).toMatchObject({ passes: false, reviewCount: 0 });
  });

  test('is the only kind of turn that begins so: what was built stays', () => {
    const world = keeping([story('US-001')]);
    world.keeper.begin();
    world.leaves(handIn());
    world.keeper.restoreList(1);
    expect(world.onDisk('US-001')?.reviewStatus).toBe('needs_review');
  });
});

describe('the last review that a story may have', () => {
  const last = (atCap: 'approve' | 'stop') =>
    keeping([story('US-001', { ...waiting, reviewCount: 2 })], { policy: { ...POLICY, atCap } });

  test('lets it through where the user wants that, and says so', () => {
    const world = last('approve');
    iterate(world, reject('US-001', 'still wrong'), {
      evidence: { ...FAIR, spoken: said('US-001', 'changes_requested') },
    });
    expect(world.storyOf('US-001')).toMatchObject({ passes: true, reviewStatus: 'approved' });
    expect(world.notices()).toEqual([
      expect.stringContaining('US-001 has had 3 reviews and was let through'),
    ]);
  });

  test('lets nothing through that a check says is wrong', () => {
    const world = last('approve');
    iterate(world, reject('US-001', 'still wrong'), { results: [red('npm test')] });
    expect(world.storyOf('US-001')?.passes).toBe(false);
    expect(world.notices().join()).not.toContain('let through');
  });

  test('leaves it where it is, if the run is to stop for it', () => {
    const world = last('stop');
    iterate(world, reject('US-001', 'still wrong'));
    expect(world.storyOf('US-001')).toMatchObject({ passes: false, reviewStatus: 'changes_requested' });
  });
});
