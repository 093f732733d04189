/** A branch of the user's that the agent moves, deletes or rewrites: the run does not end well, and what the branch held is kept. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { LoopResult } from '../../src/domain/run/result.ts';
import { story } from '../domain/stories/stories.ts';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo, scriptedAgent } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const GIT = 'git -c user.name=a -c user.email=a@example.invalid';

/** In the project. After it `main` does not hold what it held, or is not there. */
const MOVES = {
  'reset --hard': 'git reset -q --hard HEAD~1',
  'update-ref': 'git update-ref refs/heads/main HEAD~1',
  'a branch that is deleted': 'git update-ref -d refs/heads/main',
  'a branch that is renamed': 'git branch -q -m main other',
  'push .': 'git config receive.denyCurrentBranch ignore; git push -q . +HEAD~1:refs/heads/main',
  // With a date of its own: a commit that is made again in the same second is the same one.
  rebase: `GIT_COMMITTER_DATE=@1000000000 ${GIT} rebase -q --force-rebase --root`,
  amend: `${GIT} commit -q --amend -m theirs`,
};

function made(): { readonly project: Repo; readonly before: string } {
  const project = repo({ 'README.md': '# test\n', 'tasks.md': '- [ ] Add one\n', '.gitignore': '.ralph/\n' });
  project.write('mine.txt', 'mine\n');
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message', 'mine');
  return { project, before: project.git('rev-parse', 'main').trim() };
}

function agentOf(script: string): string {
  return scriptedAgent(`cat > /dev/null\n${script}\necho '<promise>COMPLETE</promise>'`);
}

async function loop(project: Repo, script: string, ...args: readonly string[]) {
  const agent = agentOf(script);
  const words = ['loop', ...args, '--check', 'true', '--max-iterations', '1', '--agent', agent, '--json'];
  const { code, stdout, stderr } = await ralph(words, { cwd: project.dir });
  const line = stdout.split('\n').find(each => each.startsWith('{"runId"'));
  if (line === undefined) throw new Error(stdout + stderr);
  return { code, stderr, result: JSON.parse(line) as LoopResult };
}

/** Nothing is lost: it has a name. */
function isKept(project: Repo, { runId }: LoopResult, commit: string): boolean {
  const refs = project.git('for-each-ref', '--format=%(objectname)', `refs/ralph/kept/${runId}`);
  return refs.split('\n').includes(commit);
}

describe.each(Object.entries(MOVES))('%s', (_, move) => {
  test('in a loop', async () => {
    const { project, before } = made();
    const { code, result } = await loop(project, `echo one > one.txt; ${move}`, 'Add one');
    expect([code, result.stopReason, result.success]).toEqual([1, 'scm_failed', false]);
    expect(result.detail).toContain('main');
    expect(isKept(project, result, before)).toBe(true);
    expect(project.read('one.txt')).toBe('one\n');
  });

  test('in a lane', async () => {
    const { project, before } = made();
    const there = `cd '${project.dir}' && { ${move}; }`;
    const { code, result } = await loop(project, `echo one > one.txt; (${there})`, '--tasks', 'tasks.md');
    expect([code, result.stopReason]).toEqual([1, 'scm_failed']);
    expect(result.detail).toContain('main');
    expect(isKept(project, result, before)).toBe(true);
    expect(project.git('show', `ralph/${result.runId}/_int:one.txt`)).toBe('one\n');
  });
});

test('a run does not end well in a repository whose objects are gone', async () => {
  const { project, before } = made();
  const gone = 'rm -rf .git/objects; mkdir .git/objects; echo one > one.txt';
  const { code, result } = await loop(project, gone, 'Add one');
  expect([code, result.stopReason]).toEqual([1, 'scm_failed']);
  expect(result.detail).toContain('is not in the repository any more');
  const back = /`(git -C .*?)`/.exec(result.detail ?? '')?.[1] ?? 'false';
  execFileSync('sh', ['-c', back], { stdio: 'pipe' });
  expect(project.git('show', `${before}:mine.txt`)).toBe('mine\n');
});

test('a run does not end well in a repository that git cannot read', async () => {
  const { project } = made();
  const { code, result } = await loop(project, 'mv .git/HEAD .git/H; echo one > one.txt', 'Add one');
  expect([code, result.stopReason]).toEqual([1, 'scm_failed']);
  expect(result.detail).toContain('cannot be read any more');
});

test('commits of the agent on the branch that is checked out are its work', async () => {
  const { project, before } = made();
  const { code, result } = await loop(
    project,
    `echo one > one.txt; ${GIT} add -A; ${GIT} commit -qm one`,
    'Add one',
  );
  expect([code, result.stopReason, isKept(project, result, before)]).toEqual([0, 'all_checks_passed', false]);
});

test('in a list of stories', async () => {
  const project = prdRepo(story('US-001'));
  const before = project.git('rev-parse', 'HEAD').trim();
  const amend = { also: (turn: FakeTurn) => turn.shell(MOVES.amend) };
  const { bin } = await fakeAgent('claude', works(project, handIn(), amend), works(project, approve()));
  const { code, result } = await prdRun(project, bin, '--check', 'true');
  expect([code, result.stopReason]).toEqual([1, 'scm_failed']);
  expect(isKept(project, result, before)).toBe(true);
});

test('once the branch is back, resuming is enough', async () => {
  const { project, before } = made();
  const { result } = await loop(project, `echo one > one.txt; ${MOVES['update-ref']}`, 'Add one');
  project.git('update-ref', 'refs/heads/main', before);
  const { code, stdout } = await ralph(['resume', result.runId, '--json'], { cwd: project.dir });
  expect([code, stdout]).toEqual([0, expect.stringContaining('"stopReason":"all_checks_passed"')]);
});

test('where somebody has merged what landed, the branch has it', async () => {
  const { project } = made();
  const away = `cd '${project.dir}' && ${GIT} commit -q --allow-empty -m mine`;
  const { code, result } = await loop(project, `echo one > one.txt; (${away})`, '--tasks', 'tasks.md');
  expect([code, result.stopReason]).toEqual([1, 'scm_failed']);
  project.git('merge', '--quiet', '--no-edit', `ralph/${result.runId}/_int`);
  const again = await ralph(['resume', result.runId, '--json'], { cwd: project.dir });
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringContaining('"stopReason":"all_checks_passed"'),
  ]);
});
