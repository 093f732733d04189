/** The stop hook in `ralph prd run`: seed 002's table of cases by hand, and some of ours. */
import { mkdirSync, rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../src/domain/stories/story.ts';
import { runHook } from '../../src/hooks/main.ts';
import { STATES, story, storyList } from '../domain/stories/stories.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const { waiting, rejected, approved } = STATES;

/** `.ralph-active` as seed 002 writes it. */
function active(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    timestamp: '2025-06-15T10:30:00Z',
    pid: process.pid,
    max_iterations: 15,
    mode: 'direct',
    skipReview: false,
    reviewCap: 5,
    runId: 'r1',
    ...more,
  });
}

function snapshot(...stories: readonly Story[]) {
  return Object.fromEntries(
    stories.map(({ id, passes, reviewStatus, reviewCount }) => [id, { passes, reviewStatus, reviewCount }]),
  );
}

function project(tasks: unknown, marker: string | undefined): Repo {
  const made = repo({
    '.gitignore': '.ralph-active\n',
    'ralph/tasks.json': typeof tasks === 'string' ? tasks : JSON.stringify(tasks),
  });
  if (marker !== undefined) made.write('.ralph-active', marker);
  return made;
}

/** As the agent of the run `r1`. */
function ordersOf({ dir }: Repo, run = 'r1') {
  return { RALPH_HOOKS: JSON.stringify({ run: `${dir}/.git/${run}`, root: dir, given: false }) };
}

async function stop(project: Repo, input: Record<string, unknown> = {}, env = ordersOf(project)) {
  const { dir } = project;
  mkdirSync(project.path('.git/r1'), { recursive: true });
  const stdin = JSON.stringify({ session_id: 's', cwd: dir, hook_event_name: 'Stop', ...input });
  const answer = await runHook('claude', 'Stop', stdin, { ...process.env, CLAUDE_PROJECT_DIR: dir, ...env });
  return answer === ''
    ? {}
    : (JSON.parse(answer) as { decision?: string; reason?: string; systemMessage?: string });
}

describe('Check 1: the schema', () => {
  test.each<[string, unknown, string]>([
    ['not JSON', '{', 'ralph/tasks.json: is not valid JSON'],
    ['a field is missing', { ...storyList(story('US-001')), branchName: undefined }, 'branchName is missing'],
    ['a negative count', storyList(story('US-001', { reviewCount: -1 })), 'not negative, not -1'],
    ['an id twice', storyList(story('A'), story('A')), 'more than one story of this id'],
    ['done without notes', storyList(story('A', { ...approved, notes: '' })), 'passes=true and empty notes'],
    ['a circle', storyList(story('A', { dependsOn: ['A'] })), 'story A is in a dependency cycle: A → A'],
  ])('%s', async (_, tasks, words) => {
    const { decision, reason } = await stop(project(tasks, active()));
    expect([decision, reason]).toEqual(['block', expect.stringContaining(words)]);
  });

  test('no file at all', async () => {
    const made = project(storyList(story('A')), active());
    rmSync(made.path('ralph/tasks.json'));
    expect((await stop(made)).reason).toContain('ralph/tasks.json: there is none');
  });

  test('a list that is in order passes, also with a byte order mark', async () => {
    const list = storyList(story('US-001', approved));
    const marker = active({
      iterationMode: 'implement',
      preIterationSnapshot: snapshot(...list.userStories),
    });
    expect(await stop(project(list, marker))).toEqual({});
    expect(await stop(project(`\uFEFF${JSON.stringify(list)}`, marker))).toEqual({});
  });
});

describe('Check 2: invariants', () => {
  test.each<[string, Partial<Story>, string]>([
    [
      'passes, null',
      { passes: true },
      "Story US-001 has passes=true but reviewStatus is 'null', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle.",
    ],
    ['passes, needs_review', { ...waiting, passes: true }, "'needs_review', not 'approved'"],
    ['passes, changes_requested', { ...rejected, passes: true }, "'changes_requested', not 'approved'"],
    ['changes requested, no feedback', { ...rejected, reviewFeedback: '' }, 'feedback required'],
    ['approved, does not pass', { ...approved, passes: false }, 'out of sync'],
  ])('%s', async (_, fields, words) => {
    const { decision, reason } = await stop(project(storyList(story('US-001', fields)), active()));
    expect([decision, reason]).toEqual(['block', expect.stringContaining(words)]);
  });

  test('are not looked at with skipReview, nor are transitions', async () => {
    const marker = active({
      skipReview: true,
      iterationMode: 'implement',
      preIterationSnapshot: snapshot(story('US-001')),
    });
    expect(await stop(project(storyList(story('US-001', { passes: true })), marker))).toEqual({});
  });
});

describe('Check 2.5: transitions', () => {
  type Case = [mode: string, what: string, before: Partial<Story>, after: Partial<Story>, words?: string];
  test.each<Case>([
    [
      'implement',
      'passes',
      {},
      approved,
      'Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story US-001 had illegal transition: passes false → true.',
    ],
    ['implement', 'approves', {}, approved, 'reviewStatus null → "approved"'],
    ['implement', 'counts', {}, { reviewCount: 1 }, 'Implement iterations cannot increment reviewCount'],
    ['implement', 'hands in', {}, waiting],
    ['review', 'approves', { ...waiting, reviewCount: 1 }, { ...approved, reviewCount: 2 }],
    ['review', 'rejects', { ...waiting, reviewCount: 1 }, { ...rejected, reviewCount: 2 }],
    [
      'review',
      'does not count',
      waiting,
      { ...approved, reviewCount: 0 },
      'Review iteration made illegal transition on story US-001: review must increment reviewCount',
    ],
    ['review', 'does nothing', waiting, waiting, 'review must increment reviewCount'],
    [
      'review-fix',
      'passes',
      rejected,
      approved,
      'Review-fix iterations cannot approve stories. Story US-001 must go back to needs_review for re-review. Illegal transition: passes false → true.',
    ],
    ['review-fix', 'hands in', rejected, { ...rejected, ...waiting, reviewFeedback: '' }],
    [
      'review-fix',
      'counts',
      rejected,
      { ...rejected, reviewCount: 2 },
      'Review-fix iterations cannot increment reviewCount',
    ],
  ])('%s %s', async (mode, _, before, after, words) => {
    const marker = active({
      iterationMode: mode,
      preIterationSnapshot: snapshot(story('US-001', before)),
    });
    const { decision, reason } = await stop(project(storyList(story('US-001', after)), marker));
    if (words === undefined) expect(decision).toBeUndefined();
    else expect([decision, reason]).toEqual(['block', expect.stringContaining(words)]);
  });

  const implement = (...stories: readonly Story[]) =>
    active({ iterationMode: 'implement', preIterationSnapshot: snapshot(...stories) });

  test('a new story that is open passes, one that is done does not', async () => {
    const marker = implement(story('A'));
    expect(await stop(project(storyList(story('A'), story('B')), marker))).toEqual({});
    const done = await stop(project(storyList(story('A'), story('B', approved)), marker));
    expect(done.reason).toContain('New story B must start at');
  });

  test('a review of two stories', async () => {
    const marker = active({
      iterationMode: 'review',
      preIterationSnapshot: snapshot(story('A', waiting), story('B', waiting)),
    });
    const { reason } = await stop(project(storyList(story('A', approved), story('B', approved)), marker));
    expect(reason).toContain('story B: a review may only modify one story');
  });

  test('a removed story', async () => {
    const { reason } = await stop(project(storyList(story('A')), implement(story('A'), story('B'))));
    expect(reason).toContain('Story B was removed');
  });

  test('without a snapshot only the invariants are looked at, and that is said', async () => {
    const fine = await stop(project(storyList(story('A', approved)), active({ iterationMode: 'implement' })));
    expect(fine).toEqual({ systemMessage: expect.stringContaining('holds no snapshot') });
    const broken = await stop(project(storyList(story('A', { passes: true })), active()));
    expect(broken).toMatchObject({
      decision: 'block',
      systemMessage: expect.stringContaining('holds no snapshot'),
    });
  });
});

describe('Check 3: uncommitted changes', () => {
  test('are told with what to do, beside everything else that is wrong', async () => {
    const marker = active({ iterationMode: 'implement', preIterationSnapshot: snapshot(story('A')) });
    const made = project(storyList(story('A', { reviewCount: 1 })), marker);
    made.write('new.txt', 'x');
    const { reason = '' } = await stop(made);
    expect(reason).toContain('cannot increment reviewCount');
    expect(reason).toContain(
      'There are uncommitted changes: new.txt. Before you stop:\n  1. Update progress.txt',
    );
    expect(reason).toContain('3. Commit ALL changes, progress.txt and tasks.json included.');
    made.git('add', '--all');
    made.git('commit', '--quiet', '--message', 'x');
    expect((await stop(made)).reason).not.toContain('uncommitted');
  });

  test('.ralph-active itself is none, even where it is not ignored', async () => {
    const list = storyList(story('A'));
    const made = repo({ 'ralph/tasks.json': JSON.stringify(list) });
    made.write(
      '.ralph-active',
      active({ iterationMode: 'implement', preIterationSnapshot: snapshot(story('A')) }),
    );
    expect(await stop(made)).toEqual({});
  });
});

describe('whom it concerns', () => {
  const broken = storyList(story('A', { passes: true }));

  test('nobody without .ralph-active', async () => {
    expect(await stop(project(broken, undefined))).toEqual({});
  });

  test('not a sub-agent, and not while one is at work', async () => {
    const made = project(broken, active());
    expect(await stop(made, { agent_id: 'x' })).toEqual({});
    expect(await stop(made, { background_tasks: [{ type: 'subagent', status: 'running' }] })).toEqual({});
  });

  test("not a session of the user's own in the folder of a run", async () => {
    for (const runId of ['r1', undefined]) {
      const made = project(broken, active({ runId }));
      expect(await stop(made, {}, { RALPH_HOOKS: '' })).toEqual({});
      expect((await stop(made)).decision).toBe('block');
    }
    const made = project(broken, active());
    expect(await stop(made, {}, ordersOf(made, 'r2'))).toEqual({});
  });

  test('an agent that cannot fix it is let go after eight times', async () => {
    const made = project(broken, active());
    const answers = [];
    for (let time = 0; time < 9; time++) answers.push((await stop(made)).decision);
    expect(answers).toEqual([...Array(8).fill('block'), undefined]);
    made.write('.ralph-active', active({ timestamp: 'the next iteration' }));
    expect((await stop(made)).decision).toBe('block');
  });

  test('a marker full of rubbish is no reason to fail', async () => {
    for (const marker of ['', 'x', '[]', 'null', '{"pid":"x","preIterationSnapshot":[1]}'])
      expect((await stop(project(broken, marker))).decision).toBe('block');
  });
});

test('the same through the bin', { tags: 'promise' }, async () => {
  const made = project(storyList(story('A', { passes: true })), active());
  const input = JSON.stringify({ session_id: 's', cwd: made.dir, hook_event_name: 'Stop' });
  const { code, stdout } = await ralph(['hook', 'claude', 'Stop'], {
    cwd: made.dir,
    env: ordersOf(made),
    input,
  });
  expect([code, JSON.parse(stdout).decision]).toEqual([0, 'block']);
});
