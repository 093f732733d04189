import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { approve, change, handIn, prdRepo, prdRun, reject, works } from '../rig/stories.ts';

const COMPLETE = '<promise>COMPLETE</promise>';

const writes = (file: string, words: string) => writesFile(file, 'x\n', words);

async function recorded(): Promise<{ project: Repo; folder: string }> {
  const project = repo();
  const agent = await fakeAgent('claude', writes('a', 'on my way'), writes('b', `All there. ${COMPLETE}`));
  await ralph(['loop', 'x', '--agent', 'claude', '--check', 'test -e a', '--check', 'test -e b'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const [id] = readdirSync(project.path('.ralph/runs'));
  return { project, folder: project.path(`.ralph/runs/${id}`) };
}

test('every verdict of a run comes out the same', { tags: ['promise', 'P-replay'] }, async () => {
  const { project } = await recorded();
  const { code, stdout } = await ralph(['replay'], { cwd: project.dir });
  expect(code).toBe(0);
  expect(stdout).toContain('Iteration 1: the same: continue: check "test -e b" failed');
  expect(stdout).toContain('Iteration 2: the same: all_checks_passed');
  expect(stdout).toContain('2 verdicts judged again: all the same.');
  expect(project.git('status', '--porcelain')).toBe('?? .ralph/\n?? a\n?? b\n');
});

test('what is read otherwise today is told, and the verdict that comes of it', async () => {
  const { project, folder } = await recorded();
  const raw = `${folder}/iterations/0002/agent.jsonl`;
  writeFileSync(raw, readFileSync(raw, 'utf8').replace(COMPLETE, 'almost'));
  const { code, stdout } = await ralph(['replay', '--json'], { cwd: project.dir });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    same: false,
    iterations: [
      { iteration: 1, same: true, differences: [] },
      {
        iteration: 2,
        same: false,
        recorded: { kind: 'stop', reason: 'all_checks_passed' },
        today: { kind: 'continue', feedback: [{ kind: 'claim-missing' }] },
        differences: ['claim: was {"found":true}, is {"found":false}'],
      },
    ],
  });
});

test('limits are those of the time, not of a later resumption', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes('a', 'one'), writes('b', COMPLETE));
  const world = { cwd: project.dir, path: [agent.bin] };
  await ralph(['loop', 'x', '--agent', 'claude', '--check', 'test -e b', '--max-iterations', '1'], world);
  await ralph(['resume', '--max-iterations', '5'], world);
  const { code, stdout } = await ralph(['replay'], { cwd: project.dir });
  expect([code, stdout.includes('Iteration 1: the same: max_iterations')]).toEqual([0, true]);
});

test('a plain command that echoes its prompt is read again with that prompt', async () => {
  const project = repo();
  const prompt = 'When done, say <response>DONE</response>.';
  const agent = await fakeAgent('worker', says(`${prompt}\nnot yet\n`), says('<response>DONE</response>\n'));
  await ralph(['run', '-p', prompt, '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
  const { stdout, code } = await ralph(['replay'], { cwd: project.dir });
  expect(code).toBe(0);
  expect(stdout).toContain('2 verdicts judged again: all the same.');
});

test('a run over stories too, with one that cheats', async () => {
  const project = prdRepo();
  const step = (edit: Parameters<typeof works>[1]) => works(project, edit);
  const cheat = change('US-001', { passes: true });
  const agent = await fakeAgent(
    'claude',
    step(cheat),
    step(handIn()),
    step(reject()),
    step(handIn()),
    step(approve()),
  );
  const { code } = await prdRun(project, agent.bin);
  expect(code).toBe(0);
  const replayed = await ralph(['replay'], { cwd: project.dir });
  expect([replayed.code, replayed.stdout]).toEqual([0, expect.stringContaining('all_stories_approved')]);
});

test('ralph status says which story a run is at', async () => {
  const project = prdRepo();
  let seen = '';
  const looks = works(project, handIn(), {
    also: async () => {
      seen = (await ralph(['status'], { cwd: project.dir })).stdout;
    },
  });
  const agent = await fakeAgent('claude', looks);
  await prdRun(project, agent.bin, '-n', '1');
  expect(seen).toContain('implement US-001');
});
