/** A pull request that asks for more: rounds of runs of stories, and of runs whose work is merged from lanes. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createForge, type Fake, word } from '../rig/forge.ts';
import { type LaneRig, landedFiles, laneRig, plain, rigFor } from '../rig/lanes.ts';
import { ledgerOf, only, runsOf } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { storyOf } from '../rig/stories.ts';

const CLAIM = 'printf "<promise>COMPLETE</promise>" > "$LANE_AGENT/none;.says"';

/** A rig with a forge, and what its agent does in a round of a list that is done. */
async function stories(script = `echo fixed > fixed.txt; ${CLAIM}`) {
  const rig = laneRig([plain('US-001')]);
  rig.does('none;', 'implement', script);
  return { rig, forge: await createForge(rig.project) };
}

async function ended({ options }: LaneRig, ...args: readonly string[]) {
  const { code, stdout, stderr } = await ralph([...args, '--agent', 'claude'], options);
  expect(code, stdout + stderr).toBe(0);
}

const PRD = ['prd', 'run', '--check', 'test -f work/US-001.txt'];

async function followed({ options }: LaneRig, forge: Fake) {
  const env = { ...options.env, ...forge.env };
  const args = ['pr', '--json', '--follow', '--poll', '0.05'];
  const { code, stdout, stderr } = await ralph(args, { ...options, env });
  expect(stdout, stderr).toMatch(/^\{/);
  return { code, stderr, result: JSON.parse(stdout) };
}

describe('a list of stories', () => {
  test.each([
    ['on its branch', []],
    ['in a worktree', ['--worktree', 'demo']],
  ])('%s: a red check is worked on again, and so is a review', async (_, where) => {
    const { rig, forge } = await stories();
    await ended(rig, ...PRD, ...where);
    forge.redWithout('fixed.txt');
    const first = await followed(rig, forge);
    expect([first.code, first.result.outcome], first.stderr).toEqual([0, 'pull_request_ready']);
    expect(forge.has('ralph/demo', 'fixed.txt')).toBe(true);
    rig.does('none;', 'implement', `echo answered > answered.txt; ${CLAIM}`);
    forge.state.comments.push(word('alice', 'answer this'));
    const second = await followed(rig, forge);
    expect([second.code, forge.has('ralph/demo', 'answered.txt')], second.stderr).toEqual([0, true]);
    const rounds = only(ledgerOf(rig.project), 'forge-round').map(({ why }) => why);
    const turns = rig.turns().map(({ story, mode }) => `${story} ${mode}`);
    const own = ['US-001 implement', 'US-001 review'];
    expect([rounds, turns]).toEqual([
      ['checks', 'review'],
      [...own, 'none; implement', 'none; implement'],
    ]);
    expect([forge.state.pulls.length, storyOf(rig.project, 'US-001').passes || where.length > 0]).toEqual([
      1,
      true,
    ]);
  });

  test('a round is over when the agent says so, and no sooner', async () => {
    const { rig, forge } = await stories(`test -f half.txt && ${CLAIM}; touch half.txt`);
    await ended(rig, ...PRD, '--worktree', 'demo');
    forge.state.comments.push(word('alice', 'do all of it'));
    const { code, stderr } = await followed(rig, forge);
    expect(code, stderr).toBe(0);
    expect(rig.turns().filter(({ story }) => story === 'none;')).toHaveLength(2);
  });

  test('what a round breaks opens its story again', async () => {
    const { rig, forge } = await stories(`rm work/US-001.txt; ${CLAIM}`);
    await ended(rig, ...PRD, '--worktree', 'demo');
    rig.does('US-001', 'review-fix', 'mkdir -p work; echo again > work/US-001.txt');
    forge.state.comments.push(word('alice', 'break it'));
    const { code, stderr } = await followed(rig, forge);
    expect(code, stderr).toBe(0);
    expect(forge.bare.git('show', 'ralph/demo:work/US-001.txt')).toBe('again\n');
    const modes = rig.turns().map(({ story, mode }) => `${story} ${mode}`);
    expect(modes.slice(2)).toEqual(['none; implement', 'US-001 review-fix', 'US-001 review']);
  });

  test('that was done before the run began is worked on as well', async () => {
    const { rig, forge } = await stories();
    await ended(rig, ...PRD, '--worktree', 'demo');
    await ended(rig, ...PRD, '--worktree', 'demo');
    forge.state.comments.push(word('alice', 'more'));
    const { code, stderr } = await followed(rig, forge);
    expect([code, forge.has('ralph/demo', 'fixed.txt')], stderr).toEqual([0, true]);
  });

  test('a conflict with the base in the list itself is nobody’s to solve', async () => {
    const { rig, forge } = await stories(`printf 'both\\n' > README.md; ${CLAIM}`);
    rig.does('US-001', 'implement', 'mkdir work; echo new > work/US-001.txt; echo ours > README.md');
    await ended(rig, ...PRD, '--worktree', 'demo');
    forge.push('main', { 'README.md': 'theirs\n', 'ralph/progress.txt': 'other words\n' });
    forge.conflictsWithBase('ralph/demo');
    const { code, stderr } = await followed(rig, forge);
    expect([code, forge.bare.git('show', 'ralph/demo:README.md')], stderr).toEqual([0, 'both\n']);
    expect(forge.bare.git('show', 'ralph/demo:ralph/progress.txt')).toContain('## US-001 implement');
  });
});

describe('a parallel run', () => {
  test('of stories: a round lands on what has landed, and the branch and the proof follow', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    const forge = await createForge(rig.project);
    await ended(rig, 'prd', 'run', '--parallel', '2', '--check', 'test -d work', '--max-iterations', '6');
    const [id = ''] = runsOf(rig.project);
    const branch = `ralph/${id}/_int`;
    forge.redWithout('fixed.txt');
    rig.does('round-1', 'task', 'echo fixed > fixed.txt');
    rig.does('round-2', 'task', 'echo answered > answered.txt');
    const first = await followed(rig, forge);
    expect([first.code, first.result.outcome], first.stderr).toEqual([0, 'pull_request_ready']);
    forge.state.comments.push(word('alice', 'answer this'));
    const second = await followed(rig, forge);
    expect([second.code, second.result.outcome], second.stderr).toEqual([0, 'pull_request_ready']);
    const there = ['fixed.txt', 'answered.txt'].map(file => forge.has(branch, file));
    expect([there, forge.state.pulls.length]).toEqual([[true, true], 1]);
    expect(Object.keys(landedFiles(rig, 'ralph/demo'))).toContain('answered.txt');
    const status = await ralph(['status', id], rig.options);
    expect(status.stdout).toContain('4/4 landed');
    await verified(forge, id, second.result.commit);
  });

  test('of tasks: no item is ticked for a round, and one that changes nothing is done', async () => {
    const list = '- [ ] Add one\n- [ ] Add two\n';
    const rig = rigFor(repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n', 'tasks.md': list }));
    const forge = await createForge(rig.project);
    await ended(rig, 'loop', '--tasks', 'tasks.md', '--parallel', '2', '--check', 'test -d work');
    forge.state.comments.push(word('alice', 'why so?'));
    rig.does('round-1', 'task', ':');
    const { code, result, stderr } = await followed(rig, forge);
    expect([code, result.outcome], stderr).toEqual([0, 'pull_request_ready']);
    expect(landedFiles(rig, 'main')['tasks.md']).toBe('- [x] Add one\n- [x] Add two\n');
  });

  test('of attempts: a round that stops needs you, and is continued', async () => {
    const rig = rigFor(repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' }), { LANE_CHOICE: 'A1' });
    const forge = await createForge(rig.project);
    await ended(rig, 'loop', 'Make it', '--best-of', '2', '--check', 'test -d work', '--max-iterations', '4');
    forge.state.comments.push(word('alice', 'break it'));
    rig.does('round-1', 'task', 'rm -rf work');
    const first = await followed(rig, forge);
    expect([first.code, first.result.outcome], first.stderr).toEqual([1, 'needs_you']);
    rig.does('round-1', 'task', 'mkdir -p work; echo right > work/right.txt');
    const resumed = await ralph(['resume', '--max-iterations', '20'], rig.options);
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
    const { code, stderr } = await followed(rig, forge);
    const [id = ''] = runsOf(rig.project);
    expect([code, forge.has(`ralph/${id}/_int`, 'work/right.txt')], stderr).toEqual([0, true]);
  });
});

describe('a parallel run whose branch is not alone', () => {
  async function parallel() {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    const forge = await createForge(rig.project);
    rig.does('US-001', 'implement', 'mkdir -p work; echo new > work/US-001.txt; echo ours > README.md');
    await ended(rig, 'prd', 'run', '--parallel', '2', '--check', 'test -d work', '--max-iterations', '6');
    const [id = ''] = runsOf(rig.project);
    return { rig, forge, id, branch: `ralph/${id}/_int` };
  }

  test.each([
    ['what both want', 'both'],
    ['its own alone', 'ours'],
  ])('a conflict with the base is solved in a lane: %s', async (_, text) => {
    const { rig, forge, id, branch } = await parallel();
    forge.push('main', { 'README.md': 'theirs\n', 'later.txt': 'later\n' });
    forge.conflictsWithBase(branch);
    rig.does('round-1', 'task', `echo ${text} > README.md`);
    const { code, result, stderr } = await followed(rig, forge);
    expect([code, result.outcome], stderr).toEqual([0, 'pull_request_ready']);
    expect(forge.bare.git('show', `${branch}:README.md`)).toBe(`${text}\n`);
    expect([forge.has(branch, 'later.txt'), forge.has(branch, 'work/US-002.txt')]).toEqual([true, true]);
    expect(forge.hasMarks(branch)).toBe(false);
    await verified(forge, id, result.commit);
  });

  test('a conflict that nobody solves is not pushed, and needs you', async () => {
    const { rig, forge, branch } = await parallel();
    forge.push('main', { 'README.md': 'theirs\n' });
    forge.conflictsWithBase(branch);
    rig.does('round-1', 'task', ':');
    const before = forge.state.requests.length;
    const { code, result } = await followed(rig, forge);
    expect([code, result.outcome, forge.state.requests.length > before]).toEqual([1, 'needs_you', true]);
    expect([forge.hasMarks(branch), forge.pushes(branch)]).toEqual([false, [expect.anything()]]);
  });

  test('what somebody else has pushed is taken in, and kept', async () => {
    const { rig, forge, id, branch } = await parallel();
    const opened = await ralph(['pr'], { ...rig.options, env: { ...rig.options.env, ...forge.env } });
    expect(opened.code, opened.stderr).toBe(0);
    forge.push(branch, { 'theirs.txt': 'theirs\n' });
    rig.does('round-1', 'task', 'test -f theirs.txt && echo seen > seen.txt');
    const { code, result, stderr } = await followed(rig, forge);
    expect([code, result.outcome], stderr).toEqual([0, 'pull_request_ready']);
    expect([forge.has(branch, 'theirs.txt'), forge.has(branch, 'seen.txt')]).toEqual([true, true]);
    await verified(forge, id, result.commit);
  });

  test('commits with the marks of a conflict between its lanes are not in what is pushed', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    const forge = await createForge(rig.project);
    for (const story of ['US-001', 'US-002'])
      for (const mode of ['implement', 'merge-fix'])
        rig.does(story, mode, `mkdir -p work; echo new > work/${story}.txt; echo ${story} > README.md`);
    await ended(rig, 'prd', 'run', '--parallel', '2', '--check', 'test -d work', '--max-iterations', '12');
    const [id = ''] = runsOf(rig.project);
    expect(rig.project.git('log', '--format=%s', `ralph/${id}/_int`)).toContain('with conflicts to solve');
    const { code, result, stderr } = await followed(rig, forge);
    expect(code, stderr).toBe(0);
    const branch = `ralph/${id}/_int`;
    expect(forge.hasMarks(branch)).toBe(false);
    expect(forge.bare.git('log', '--format=%s', branch)).not.toContain('with conflicts to solve');
    expect(forge.bare.git('rev-parse', `${branch}^{tree}`)).toBe(
      rig.project.git('rev-parse', `${branch}^{tree}`),
    );
    await verified(forge, id, result.commit);
  });
});

describe('Ralph is killed in the middle of a round', () => {
  const WAITS =
    'test -f "$LANE_AGENT/go" || { touch "$LANE_AGENT/begun"; exec cat "$LANE_AGENT/pipe"; }; echo fixed > fixed.txt';
  test.each([
    ['of a list of stories', [...PRD, '--worktree', 'demo'], () => 'ralph/demo', ['none;', 'implement']],
    [
      'of a parallel run',
      ['prd', 'run', '--parallel', '2', '--check', 'test -d work'],
      (id: string) => `ralph/${id}/_int`,
      ['round-1', 'task'],
    ],
  ] as const)('%s: the same command finishes it, once', async (_, args, branch, [name, mode]) => {
    const { rig, forge } = await stories();
    const { options, orders, project } = rig;
    execFileSync('mkfifo', [join(orders, 'pipe')]);
    await ended(rig, ...args);
    rig.does(name, mode, `${WAITS}; ${CLAIM}`);
    forge.redWithout('fixed.txt');
    forge.state.threads.push(word('alice', 'rename this', { path: 'work/US-001.txt', line: 1 }));
    const env = { ...options.env, ...forge.env };
    const first = startRalph(['pr', '--follow', '--poll', '0.05'], { ...options, env });
    await vi.waitFor(() => expect(existsSync(join(orders, 'begun'))).toBe(true), { timeout: 120_000 });
    first.process.kill('SIGKILL');
    await first.finished;
    writeFileSync(join(orders, 'go'), '');
    const { code, stderr } = await followed(rig, forge);
    expect(code, stderr).toBe(0);
    const [id = ''] = runsOf(project);
    expect(forge.has(branch(id), 'fixed.txt')).toBe(true);
    const rounds = only(ledgerOf(project, id), 'forge-round').map(({ why }) => why);
    const replies = forge.state.threads.filter(({ user }) => user.login === 'ralph-bot');
    expect([rounds, forge.state.pulls.length, replies.length]).toEqual([['checks', 'review'], 1, 1]);
  });
});

test('the loop of a session gets no pull request, and says why', async () => {
  const project = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n.claude/\n' });
  const forge = await createForge(project);
  const hook = (event: string, more: object) => {
    const input = JSON.stringify({ session_id: 's1', prompt_id: 'p1', cwd: project.dir, ...more });
    const env = { CLAUDE_PROJECT_DIR: project.dir };
    return ralph(['hook', 'claude', event], { cwd: project.dir, env, input });
  };
  const args = 'Make it --completion-promise DONE --check true';
  await hook('UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: args });
  project.write('made.txt', 'made\n');
  await hook('PreToolUse', { tool_name: 'Glob', tool_input: { pattern: '*' } });
  await hook('Stop', { last_assistant_message: '<promise>DONE</promise>' });
  const { code, stderr } = await ralph(['pr', '--follow'], { cwd: project.dir, env: forge.env });
  expect([code, stderr, forge.state.requests]).toEqual([
    2,
    expect.stringContaining('it was the loop of a session, and gets no pull request'),
    [],
  ]);
});

/** Whoever fetches the proof can verify it in another clone. */
async function verified({ bare }: Fake, id: string, commit: string): Promise<void> {
  const clone = folder('ralph-clone-');
  clone.git('clone', '--quiet', bare.dir, '.');
  clone.git('fetch', '--quiet', 'origin', `refs/ralph/proofs/${id}`);
  clone.write('run.proof', clone.git('show', 'FETCH_HEAD:run.proof'));
  const { code, stdout, stderr } = await ralph(['verify', 'run.proof', '--commit', commit], {
    cwd: clone.dir,
  });
  expect(code, stdout + stderr).toBe(0);
}
