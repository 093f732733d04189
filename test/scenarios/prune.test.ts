import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { startRalph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

async function runs(project: Repo, bin: string, count: number): Promise<readonly string[]> {
  for (let made = 0; made < count; made++)
    await ralph(['run', '-p', `x ${DONE}`, '--agent', 'worker'], { cwd: project.dir, path: [bin] });
  return ids(project);
}

const ids = (project: Repo) => readdirSync(project.path('.ralph/runs')).sort();

test('removes what is asked for, and says what and how much; a dry run removes nothing', {
  tags: 'promise',
}, async () => {
  const project = repo();
  const agent = await fakeAgent('worker', says(`${DONE}\n`));
  const made = await runs(project, agent.bin, 3);
  const dry = await ralph(['prune', '--keep', '1', '--dry-run'], { cwd: project.dir });
  expect(dry.stdout).toMatch(/Would remove 2 runs, \d+ KB\.\n$/);
  expect(ids(project)).toEqual(made);
  const real = await ralph(['prune', '--keep', '1', '--json'], { cwd: project.dir });
  expect(JSON.parse(real.stdout)).toMatchObject({ removed: made.slice(0, 2), spared: [] });
  expect(ids(project)).toEqual(made.slice(2));
  expect(readdirSync(project.path('.ralph')).filter(name => name.startsWith('removed-'))).toEqual([]);
  const none = await ralph(['prune', '--older-than', '1d'], { cwd: project.dir });
  expect(none.stdout).toBe('Nothing to remove.\n');
});

test('--raw takes only what the agents printed: the ledger still tells, and can be judged again', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', says(`${DONE}\n`));
  const [id] = await runs(project, agent.bin, 1);
  const raw = project.path(`.ralph/runs/${id}/iterations/0001/agent.jsonl`);
  expect(existsSync(raw)).toBe(true);
  expect((await ralph(['prune', '--raw'], { cwd: project.dir })).stdout).toContain('the raw output of 1 run');
  expect(existsSync(raw)).toBe(false);
  expect((await ralph(['log'], { cwd: project.dir })).stdout).toContain('DONE');
  const again = await ralph(['replay'], { cwd: project.dir });
  expect([again.code, again.stdout.includes('its raw stream is not there')]).toEqual([0, true]);
});

test('a run that is alive stays, always; one that can be resumed, unless --force is given', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', async turn => void (await turn.print('working\n')));
  const run = startRalph(['run', '-p', 'x', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
  await run.until('working');
  const [id] = ids(project);
  const alive = await ralph(['prune', '--keep', '0', '--force'], { cwd: project.dir });
  expect(alive.stdout).toContain(`${id}  kept: it is running`);
  run.process.kill('SIGKILL');
  await run.finished;
  const spared = await ralph(['prune', '--keep', '0'], { cwd: project.dir });
  expect(spared.stdout).toContain('it can still be resumed; --force removes it all the same');
  expect(ids(project)).toEqual([id]);
  await ralph(['prune', '--keep', '0', '--force'], { cwd: project.dir });
  expect(ids(project)).toEqual([]);
});

test('a worktree goes only when it is asked for and everything in it is merged', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', async turn => {
    await turn.shell('echo work > work.txt; git add work.txt; git commit -qm work');
    await turn.print('<promise>COMPLETE</promise>\n');
    turn.exit();
  });
  const loop = ['loop', 'x', '--agent', 'worker', '--check', 'test -e work.txt', '--worktree=w'];
  await ralph(loop, { cwd: project.dir, path: [agent.bin] });
  const kept = await ralph(['prune', '--keep', '0', '--worktrees'], { cwd: project.dir });
  expect(kept.stdout).toContain('kept worktree w: ');
  expect(kept.stdout).toContain('holds 1 commit that no other branch has');
  expect(existsSync(project.path('.ralph/worktrees/w/work.txt'))).toBe(true);
  project.git('merge', '--quiet', 'ralph/w');
  await ralph([...loop, '--max-iterations', '1'], { cwd: project.dir, path: [agent.bin] });
  await ralph(['prune', '--keep', '0', '--worktrees', '--force'], { cwd: project.dir });
  expect(existsSync(project.path('.ralph/worktrees/w'))).toBe(false);
});

test('asks which, and reports every problem at once', async () => {
  const none = await ralph(['prune'], { cwd: repo().dir });
  expect([none.code, none.stderr.includes('say which runs to remove')]).toEqual([2, true]);
  const wrong = await ralph(['prune', '--keep', 'x', '--older-than', '3'], { cwd: repo().dir });
  expect(wrong.stderr).toContain('--keep x: must be a whole number');
  expect(wrong.stderr).toContain('--older-than 3: must be a number and one of s, m, h, d, w');
});
