/** A signal that meets Ralph while git is in the middle of handing work over, at each of its steps. */
import { expect, test } from 'vitest';
import { IS_CAMPAIGN } from '../rig/thorough.ts';
import { type CameTo, disturbed, expectSame } from './disturb.ts';
import type { HeldGit } from './hold-git.ts';
import { SHAPES } from './shapes.ts';

const STEPS: readonly HeldGit[] = [
  { git: 'commit --quiet', when: 'after' },
  { git: 'update-ref', when: 'after' },
  { git: 'update-index -z --index-info', when: 'before' },
  // With the lock of the branch in its hands.
  { git: 'prepared', when: 'hooks/reference-transaction' },
  { git: 'committed', when: 'remote/hooks/reference-transaction' },
];
const MORE_STEPS: readonly HeldGit[] = [
  { git: 'read-tree --reset', when: 'before' },
  { git: 'read-tree --reset', when: 'after' },
  { git: 'commit --quiet', when: 'before' },
  { git: 'update-ref', when: 'before' },
  { git: 'update-index -z --index-info', when: 'after' },
  { git: 'push', when: 'before' },
  { git: 'push', when: 'after' },
];
const SIGNALS: readonly (readonly NodeJS.Signals[])[] = [['SIGHUP'], ['SIGKILL']];
const MORE_SIGNALS: readonly (readonly NodeJS.Signals[])[] = [['SIGTERM'], ['SIGINT', 'SIGINT']];

const rows = (IS_CAMPAIGN ? [...STEPS, ...MORE_STEPS] : STEPS).flatMap(step =>
  (IS_CAMPAIGN ? [...SIGNALS, ...MORE_SIGNALS] : SIGNALS).map(signals => ({ ...step, signals })),
);

/** A setting of the user's about commits: git makes them, and not Ralph. */
const gitCommits = {
  ...SHAPES.runWithPush,
  make() {
    const project = SHAPES.runWithPush.make();
    project.git('config', 'commit.status', 'false');
    return project;
  },
};
const BY_GIT = /^(commit --quiet|read-tree --reset)/;

let calm: CameTo;
test('undisturbed', async () => {
  calm = await disturbed(SHAPES.runWithPush, []);
});

test.each(rows)('$signals $when git $git', async ({ git, when, signals }) => {
  const moment: HeldGit = { git, when };
  const shape = BY_GIT.test(git) ? gitCommits : SHAPES.runWithPush;
  const ended = await disturbed(shape, [{ moment, signals }]);
  expect(ended.kills, 'git came by there').toBe(1);
  expectSame(ended, calm, 'runWithPush');
});

const WAY_BACK: readonly HeldGit[] = [
  { git: 'update-ref', when: 'before' },
  { git: 'read-tree -m -u', when: 'before' },
  { git: 'read-tree -m -u', when: 'after' },
];

test.each(WAY_BACK.flatMap(step => SIGNALS.map(signals => ({ ...step, signals }))))(
  'on the way back to the best iteration: $signals $when git $git',
  async ({ git, when, signals }) => {
    const undisturbed = await disturbed(SHAPES.loopGoingBack, []);
    const ended = await disturbed(SHAPES.loopGoingBack, [{ moment: { git, when }, signals }]);
    expect(undisturbed.events, 'it went back').toContain('restored');
    expect(ended.kills, 'git came by there').toBe(1);
    expectSame(ended, undisturbed, 'loopGoingBack');
  },
);
