/** A command finds its project from any folder in it, and one run works in a tree at a time. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { runsOf } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';

const DONE = '<response>DONE</response>';
const RED = { agent: { command: 'bot' }, guardrails: [{ command: 'test -e done' }], maximumIterations: 1 };

describe('from a subfolder', () => {
  test('the settings, the guardrails and the runs are those of the project, and it is said', {
    tags: ['promise', 'P-project-root'],
  }, async () => {
    const project = repo({ 'src/deep/a.js': '' });
    project.settings(RED);
    const { bin, calls } = await fakeAgent('bot', says(DONE));
    const cwd = project.path('src/deep');
    const { code, stdout } = await ralph(['run', '-p', `Say ${DONE}`], { cwd, path: [bin] });
    expect([code, calls[0]?.cwd]).toEqual([1, project.dir]);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      `The project is ${project.dir}: agent and checks run there`,
    );
    expect(existsSync(join(cwd, '.ralph'))).toBe(false);
    const status = await ralph(['status', '--json'], { cwd });
    expect(JSON.parse(status.stdout).runs.map(({ id }: { id: string }) => id)).toEqual(runsOf(project));
  });

  test.each([
    ...[['status'], ['log'], ['show'], ['explain'], ['report'], ['report', '--all'], ['replay']],
    ...[['prune', '--keep', '0', '--dry-run'], ['doctor'], ['run', '-p', 'x', '--agent', 'cat', '--dry-run']],
  ])('%j answers as in the project itself', async (...args) => {
    const project = repo({ 'src/deep/a.js': '' });
    project.settings(RED);
    writeRun(project.dir, { iterations: 1, ends: 'stuck' });
    const env = { HOME: folder().dir, XDG_STATE_HOME: process.env.XDG_STATE_HOME ?? '' };
    const [above, below] = await Promise.all(
      [project.dir, project.path('src/deep')].map(cwd => ralph(args, { cwd, env })),
    );
    expect(above?.stdout).not.toBe('');
    expect(below).toEqual(above);
    expect(existsSync(project.path('src/deep/.ralph'))).toBe(false);
  });

  test('the nearest folder with .ralph counts, not the repository', async () => {
    const project = repo({ 'packages/api/src/a.js': '' });
    project.settings(RED);
    mkdirSync(project.path('packages/api/.ralph'));
    const { bin, calls } = await fakeAgent('bot', says(DONE));
    const cwd = project.path('packages/api/src');
    const { code } = await ralph(['run', '-p', 'x', '--agent', 'bot'], { cwd, path: [bin] });
    expect([code, calls[0]?.cwd]).toEqual([0, project.path('packages/api')]);
  });

  test('files are named from where the user is, also when the run is resumed elsewhere', async () => {
    const project = repo({ 'notes/task.md': `Say ${DONE}\n` });
    project.settings(RED);
    const { bin, calls } = await fakeAgent('bot', says('not yet'));
    const first = await ralph(['run', '-f', 'task.md'], { cwd: project.path('notes'), path: [bin] });
    expect(first.code).toBe(1);
    const second = await ralph(['resume', '--max-iterations', '2'], { cwd: project.dir, path: [bin] });
    expect([second.code, calls.length]).toEqual([1, 2]);
    expect(calls[1]?.input).toContain(`Say ${DONE}`);
  });

  test('outside of a repository nobody else decides what runs: the project is the folder itself', async () => {
    const above = folder();
    above.settings({ ...RED, agent: { command: 'stranger' } });
    mkdirSync(above.path('mine'));
    const { bin, calls } = await fakeAgent('bot', says(DONE));
    const cwd = above.path('mine');
    const { code } = await ralph(['run', '-p', 'x', '--agent', 'bot'], { cwd, path: [bin] });
    expect([code, calls[0]?.cwd, existsSync(join(cwd, '.ralph/runs'))]).toEqual([0, cwd, true]);
  });
});

describe('a second run in the same tree', () => {
  test('is refused and names the first; in a worktree it works beside it', async () => {
    const project = repo();
    const { open: release, opened: held } = createGate();
    const { bin } = await fakeAgent(
      'bot',
      async turn => {
        await held;
        await turn.print(DONE);
        turn.exit();
      },
      says('<promise>COMPLETE</promise>'),
    );
    const started = { cwd: project.dir, path: [bin] };
    const first = startRalph(['run', '-p', `Say ${DONE}`, '--agent', 'bot'], started);
    await first.until('Iteration 1');
    const [id] = runsOf(project);
    for (const args of [
      ['run', '-p', 'x', '--agent', 'bot'],
      ['loop', 'x', '--check', 'true', '--agent', 'bot'],
    ]) {
      const { code, stderr } = await ralph(args, started);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`the run ${id} is working here`)]);
      expect(stderr).toContain('--worktree');
    }
    expect(runsOf(project)).toEqual([id]);
    const args = ['loop', 'x', '--check', 'true', '--agent', 'bot', '--worktree', 'side'];
    expect((await ralph(args, started)).stdout).toContain('side');
    const chosen = [...args.with(-1, 'auto'), '--max-iterations', '1'];
    for (const _ of ['once', 'again'])
      expect((await ralph(chosen, started)).stdout).toMatch(/Branch: ralph\/\d{8}-/);
    expect(readdirSync(project.path('.ralph/worktrees')).filter(name => !name.startsWith('.'))).toHaveLength(
      3,
    );
    const inside = project.path('.ralph/worktrees/side');
    const seen = await ralph(['status', '--json'], { cwd: inside });
    expect(JSON.parse(seen.stdout).runs).toHaveLength(4);
    release();
    expect((await first.finished).code).toBe(0);
  });

  test('of two that start at the same moment one works', async () => {
    const project = repo();
    let turns = 0;
    const { open: release, opened: held } = createGate();
    const { bin } = await fakeAgent('bot', async turn => {
      turns++;
      await held;
      await turn.print(DONE);
      turn.exit();
    });
    const start = () =>
      startRalph(['run', '-p', `Say ${DONE}`, '--agent', 'bot'], { cwd: project.dir, path: [bin] }).finished;
    const both = [start(), start()];
    const refused = await Promise.race(both);
    expect([refused.code, turns <= 1]).toEqual([2, true]);
    release();
    expect((await Promise.all(both)).map(({ code }) => code).sort()).toEqual([0, 2]);
  });
});
