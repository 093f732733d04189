/** A folder with a story list, and the keeper that looks after it: what an agent does to its files is done by the test. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../../src/domain/checks/check.ts';
import type { ReviewPolicy } from '../../../src/domain/stories/assignment.ts';
import type { ReviewEvidence, ReviewVerdict } from '../../../src/domain/stories/review.ts';
import type { Story, StoryList } from '../../../src/domain/stories/story.ts';
import { createStoryKeeper, type KeeperOptions } from '../../../src/run/stories/keeper.ts';
import { askingStories } from '../../../src/run/stories/questions.ts';
import { projectPaths, runPaths } from '../../../src/store/paths.ts';
import { prdPaths } from '../../../src/store/prd-paths.ts';
import { storyList } from '../../domain/stories/stories.ts';
import { folder } from '../../rig/repo.ts';
import type { Edit } from '../../rig/stories.ts';
import { recorder } from '../turns/world.ts';

export const POLICY: ReviewPolicy = { skipReview: false, reviewCap: 3, atCap: 'stop' };

/** A turn that ended well, in a sandbox. */
export const FAIR: ReviewEvidence = {
  ...{ outcome: { kind: 'completed' }, spoken: [], touched: [], isContained: true },
};

export const said = (story: string, verdict: ReviewVerdict): ReviewEvidence['spoken'] => [{ story, verdict }];

export function check(command: string, more: Partial<CheckResult> = {}): CheckResult {
  return {
    ...{ index: 0, command, failAction: 'APPEND', passed: true, exitCode: 0, timedOut: false },
    ...{ duration: 1, output: '', outputCut: false, logFile: '' },
    ...more,
  };
}

export const red = (command: string, output = 'boom') =>
  check(command, { passed: false, exitCode: 1, output });

export function keeping(stories: readonly Story[], more: Partial<KeeperOptions> = {}) {
  const place = folder();
  const list = more.list ?? storyList(...stories);
  const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  place.write('ralph/tasks.json', text(list));
  place.write('ralph/prd.md', '# Demo\n');
  place.write('ralph/progress.txt', '# Log\n\n---\n');
  const paths = prdPaths(place.dir);
  const ledger = recorder();
  const run = runPaths(projectPaths(place.dir), 'r1');
  mkdirSync(run.folder, { recursive: true });
  const keeper = createStoryKeeper({
    ...{ paths, list, policy: POLICY, checks: ['npm test'], begun: undefined },
    ...{ runId: 'r1', maxIterations: 10, isolation: 'direct' },
    emit: ledger.emit,
    now: ledger.clock.now,
    run,
    approvals: place.path('state/approvals.json'),
    asking: () => askingStories(ledger),
    ...more,
  });
  return {
    ...{ keeper, place, paths, run, ...ledger },
    /** What the agent leaves. */
    leaves: (edit: Edit) => place.write('ralph/tasks.json', text(edit(onDisk(place.dir)))),
    onDisk: (id: string) => onDisk(place.dir).userStories.find(each => each.id === id),
    storyOf: (id: string) => keeper.list().userStories.find(each => each.id === id),
    removeFile: (name: string) => rmSync(join(place.dir, name), { recursive: true, force: true }),
  };
}

/** One iteration: the agent leaves this, and the checks say that. */
export function iterate(
  world: ReturnType<typeof keeping>,
  edit: Edit,
  { evidence = FAIR, results = [check('npm test')] }: Seen = {},
) {
  world.keeper.begin();
  world.leaves(edit);
  const settled = world.keeper.applyTurn(1, evidence);
  return { ...settled, refused: world.keeper.applyChecks(1, results) };
}

interface Seen {
  readonly evidence?: ReviewEvidence;
  readonly results?: readonly CheckResult[];
}

function onDisk(dir: string): StoryList {
  return JSON.parse(readFileSync(join(dir, 'ralph/tasks.json'), 'utf8'));
}
