/** What becomes of the story list after each turn: what counts, what is undone, and what the checks take back. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readStories } from '../../../src/store/kept.ts';
import { STATES, story } from '../../domain/stories/stories.ts';
import { only } from '../../rig/ledger.ts';
import { approve, change, handIn } from '../../rig/stories.ts';
import { FAIR, iterate, keeping, red } from './world.ts';

const { waiting, approved, rejected } = STATES;

describe('a turn that builds', () => {
  test('hands its story in', () => {
    const world = keeping([story('US-001')]);
    expect(iterate(world, handIn())).toEqual({ violations: [], missing: [], refused: [] });
    expect(world.storyOf('US-001')).toMatchObject({ reviewStatus: 'needs_review', passes: false });
  });

  test('may not approve: that is undone in the file, told, and set aside', () => {
    const world = keeping([story('US-001')]);
    const { violations } = iterate(world, change('US-001', { ...approved }));
    expect(violations).not.toEqual([]);
    for (const each of violations) expect(each).toMatchObject({ restored: true, isSentence: true });
    expect(world.storyOf('US-001')).toMatchObject({ passes: false, reviewStatus: null, reviewCount: 0 });
    expect(world.onDisk('US-001')).toMatchObject({ passes: false, reviewStatus: null });
    const aside = JSON.parse(world.place.read('.ralph/runs/r1/aside/1/ralph/tasks.json.changed'));
    expect(aside.userStories[0].passes).toBe(true);
  });

  test('may build another story than the proposed one, and then is for that one', () => {
    const world = keeping([story('US-001'), story('US-002', { priority: 2 })]);
    iterate(world, handIn('US-002'));
    expect(world.keeper.assignment().story?.id).toBe('US-002');
  });

  test('whose checks are red has not handed in', () => {
    const world = keeping([story('US-001')]);
    const { refused } = iterate(world, handIn(), { results: [red('npm test')] });
    expect(refused).toEqual(['US-001 was not handed in: `npm test` failed (exit code 1).']);
    expect(world.notices()).toEqual(refused);
    expect([world.storyOf('US-001'), world.onDisk('US-001')]).toMatchObject([
      { reviewStatus: null },
      { reviewStatus: null },
    ]);
  });

  test('does not count before its checks have been weighed', () => {
    const world = keeping([story('US-001')]);
    world.keeper.begin();
    world.leaves(handIn());
    world.keeper.applyTurn(1, FAIR);
    expect(world.storyOf('US-001')?.reviewStatus).toBeNull();
    expect(world.keeper.round().after.userStories[0]?.reviewStatus).toBe('needs_review');
  });
});

describe('after a pause', () => {
  test('what the user left is trusted', () => {
    const world = keeping([story('US-001')]);
    world.leaves(change('US-001', { title: 'Another title' }));
    world.keeper.acceptUserEdits();
    expect(world.storyOf('US-001')?.title).toBe('Another title');
  });

  test('a list that is not in order is not, and he is told', () => {
    const world = keeping([story('US-001')]);
    world.leaves(change('US-001', { passes: true }));
    world.keeper.acceptUserEdits();
    expect(world.storyOf('US-001')?.passes).toBe(false);
    expect(world.notices()).toEqual([
      expect.stringContaining('The story list stays as it was before the pause: '),
    ]);
  });
});

describe('on record', () => {
  test('is a copy of the list under its hash, how many are done, and what moved', () => {
    const world = keeping([story('US-001', waiting), story('US-002', approved)]);
    iterate(world, approve());
    world.keeper.save(1);
    const [settled] = only(world.events, 'stories-updated');
    expect(settled).toMatchObject({ iteration: 1, done: 2, total: 2 });
    expect(settled?.moved).toMatchObject({ id: 'US-001', reviewStatus: 'approved', reviewCap: 3 });
    expect(readStories(world.run, settled?.hash ?? '')).toBe(world.place.read('ralph/tasks.json'));
  });

  test('approvals that cannot be written are told: the next run would take them for claims', () => {
    const world = keeping([story('US-001', approved)], { approvals: '/dev/null/approvals.json' });
    world.keeper.save(0);
    expect(world.notices()).toEqual([expect.stringContaining('Approvals cannot be recorded')]);
  });
});

describe('a run that is resumed', () => {
  const begun = { iteration: 1, mode: 'implement', story: 'US-001' } as const;

  test('holds what its agent left against the list, in the iteration that was cut off', () => {
    const world = keeping([story('US-001')], { begun: { ...begun, isApplied: false } });
    world.leaves(change('US-001', approved));
    expect(world.keeper.applyTurn(1, FAIR).violations).not.toEqual([]);
  });

  test('does so once: what was settled before is not settled again', () => {
    const world = keeping([story('US-001')], { begun: { ...begun, isApplied: true } });
    world.leaves(change('US-001', approved));
    expect(world.keeper.applyTurn(1, FAIR)).toEqual({ violations: [], missing: [] });
    expect(world.keeper.applyTurn(2, FAIR).violations).not.toEqual([]);
  });

  test('knows what the iteration was for', () => {
    const world = keeping([story('US-001', rejected), story('US-002')], {
      begun: { iteration: 4, mode: 'implement', story: 'US-002', isApplied: false },
    });
    expect(world.keeper.assignment()).toMatchObject({ mode: 'implement', story: { id: 'US-002' } });
  });
});

describe('which story', () => {
  test('one that waits for an answer is passed over, and none is ready when all do', () => {
    const asking = new Set(['US-001']);
    const world = keeping([story('US-001'), story('US-002', { priority: 2 })], { asking: () => asking });
    expect(world.keeper.begin().story?.id).toBe('US-002');
    expect(world.keeper.isReady()).toBe(true);
    asking.add('US-002');
    expect(world.keeper.isReady()).toBe(false);
  });

  test('where all are done an iteration can begin: something else is to be fixed', () => {
    const world = keeping([story('US-001', approved)]);
    expect(world.keeper.isReady()).toBe(true);
    expect(world.keeper.begin()).toEqual({ mode: 'implement' });
  });

  test('one that does not fit what others have landed comes first, and is reviewed anew', () => {
    const world = keeping([story('US-001'), story('US-002', { ...waiting, reviewCount: 2, priority: 2 })]);
    expect(world.keeper.sendBack('US-002', 'a.ts conflicts')).toMatchObject({
      ...{ mode: 'merge-fix', story: { id: 'US-002' } },
    });
    expect(world.onDisk('US-002')).toMatchObject({
      ...{ reviewStatus: 'changes_requested', reviewCount: 0, reviewFeedback: '[MERGE] a.ts conflicts' },
    });
  });
});

test('the hooks are told what the iteration is for, and nothing is left when the run is over', () => {
  const world = keeping([story('US-001', waiting)]);
  world.keeper.begin();
  expect(JSON.parse(readFileSync(world.paths.active, 'utf8'))).toMatchObject({
    ...{ iterationMode: 'review', story: 'US-001', runId: 'r1', reviewCap: 3, ralphDir: 'ralph' },
  });
  world.keeper.release();
  expect(existsSync(world.paths.active)).toBe(false);
});
