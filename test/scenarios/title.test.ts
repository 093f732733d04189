/** What a run is about, wherever it is shown; and what it changed. */
import { expect, test } from 'vitest';
import { titleOf } from '../../src/domain/run/title.ts';
import { writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const writes = writesFile('sum.js', 'a\nb\n', '<response>DONE</response><promise>COMPLETE</promise>');

test('the first line of the task is in status, log, report, notification and commit; `show` has the diff', async () => {
  const project = repo({
    'sum.js': 'a\n',
    'TASK.md': '\n# Make `sum` add\n\nSay <response>DONE</response>\n',
  });
  const sent = project.path('.git/sent');
  project.settings({
    scm: { command: 'git', tasks: ['commit'] },
    notify: { command: `cat > ${JSON.stringify(sent)}`, bell: false },
  });
  const agent = await fakeAgent('claude', writes);
  const world = { cwd: project.dir, path: [agent.bin] };
  const { code, stderr, stdout } = await ralph(['run', '-f', 'TASK.md', '--agent', 'claude'], world);
  expect(code).toBe(0);
  expect(stdout + stderr).toContain('  Task: Make `sum` add');
  expect(JSON.parse(project.read('.git/sent')).title).toBe('Make `sum` add');
  const trailers = project.git('log', '-1', '--format=%(trailers:unfold)');
  // The agent only said that it is done: that is no message.
  expect(project.git('log', '-1', '--format=%s')).toBe('Make `sum` add\n');
  expect(trailers).toMatch(/^Ralph-Run: \S+\nRalph-Task: Make `sum` add\n/);

  for (const command of [['status'], ['log', '--only', 'run'], ['explain'], ['report', '--all']])
    expect((await ralph(command, world)).stdout).toContain('Make `sum` add');
  const html = (await ralph(['report', '--format', 'html'], world)).stdout;
  expect(html).toContain('<title>Make `sum` add</title>');

  const shown = await ralph(['show'], world);
  expect(shown.stdout).toContain('Make `sum` add');
  expect(shown.stdout).toMatch(/ sum\.js \| +1 \+\n 1 file changed, 1 insertion, 0 deletions\n/);
  expect(shown.stdout).toContain('\n+b\n');
  const stat = await ralph(['show', '--stat', '--json'], world);
  expect(JSON.parse(stat.stdout)).toMatchObject({
    title: 'Make `sum` add',
    files: [{ name: 'sum.js', added: 1, removed: 0 }],
  });
  const markdown = (await ralph(['report'], world)).stdout;
  expect(markdown).toContain('<summary>1 file changed, 1 insertion, 0 deletions</summary>');
  expect(markdown).toContain('\n+b\n');
});

test('`--title` names it otherwise, and a resumed run keeps its title', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes);
  const world = { cwd: project.dir, path: [agent.bin] };
  const title = async () => JSON.parse((await ralph(['status', '--json'], world)).stdout).runs[0].title;
  const task = ['loop', 'Do it', '--check', 'test -e more', '--title', 'The adder'];
  await ralph([...task, '--agent', 'claude', '--max-iterations', '1'], world);
  expect(await title()).toBe('The adder');
  const resumed = await ralph(['resume', '--max-iterations', '2'], world);
  expect(resumed.stdout + resumed.stderr).toContain('The adder');
});

test('a story list is named by its project', async () => {
  const project = prdRepo();
  const agent = await fakeAgent('claude', works(project, handIn()), works(project, approve()));
  const { code } = await prdRun(project, agent.bin);
  expect(code).toBe(0);
  const { runs } = JSON.parse((await ralph(['status', '--json'], { cwd: project.dir })).stdout);
  expect(runs[0].title).toBe(JSON.parse(project.read('ralph/tasks.json')).project);
});

test('the title of a task', () => {
  expect(titleOf('\n\n## **Fix** the login\n- more')).toBe('**Fix** the login');
  expect(titleOf('Fix it. When done, say <response>DONE</response>')).toBe('Fix it.');
  expect(titleOf('Say <response>DONE</response>')).toBe('Say <response>DONE</response>');
  expect(titleOf('---\n```\n')).toBeUndefined();
  expect(titleOf(`1. ${'word '.repeat(50)}`)).toMatch(/^(?:word ?)+…$/);
  expect([...(titleOf('😀x'.repeat(200)) ?? '')]).toHaveLength(100);
});
