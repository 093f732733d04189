/** What the user had changed before a run is the user's: it is said, shown apart, and can be had back. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { speaks, toolResult, toolUse } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { gitEnv, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const FILES = { 'clean.txt': 'clean\n', 'mine.txt': 'mine\n', 'both.txt': 'both\n' };
const DONE = '<promise>COMPLETE</promise> <response>DONE</response>';

/** A project with work of the user's that is not committed. */
function dirty() {
  const project = repo(FILES);
  project.write('mine.txt', 'mine, by me\n');
  project.write('both.txt', 'both, by me\n');
  project.write('new.txt', 'new, by me\n');
  return project;
}

const works2: Handler = async turn => {
  await turn.write('clean.txt', 'clean, by the agent\n');
  await turn.write('both.txt', 'both, by the agent\n');
  await turn.line(toolUse('t', 'Write', { file_path: 'clean.txt' }));
  await turn.line(toolResult('t', 'written'));
  return speaks(DONE)(turn);
};

const oneLine = (text: string) => text.replace(/\n\s*/g, ' ');

test.each([
  ['loop', ['loop', 'Make it', '--check', 'true']],
  ['run', ['run', '-p', 'Make it', '--check', 'true']],
])('of ralph %s', { tags: 'promise' }, async (command, args) => {
  const project = dirty();
  const agent = await fakeAgent('claude', speaks('Not yet.'), works2);
  const world = { cwd: project.dir, path: [agent.bin] };
  const { code, stdout, stderr } = await ralph([...args, '--agent', 'claude', '--json'], world);
  expect(code, stderr).toBe(0);
  const { runId } = JSON.parse(stdout);
  const said = oneLine(stderr);
  // At the start: which they are, and what becomes of them.
  expect(said).toContain('3 files are changed and not committed: both.txt, mine.txt, new.txt.');
  expect(said.indexOf('not committed')).toBeLessThan(said.indexOf('Iteration 1'));
  // The prompts show the run's work only.
  if (command === 'loop') for (const { input } of agent.calls) expect(input).not.toContain('by me');

  const shown = await ralph(['show', runId, '--json'], world);
  const { files, before, diff } = JSON.parse(shown.stdout);
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  expect([names(files), names(before)]).toEqual([
    ['both.txt', 'clean.txt'],
    ['both.txt', 'mine.txt', 'new.txt'],
  ]);
  expect(diff).toContain('-both, by me\n+both, by the agent');
  expect(diff).not.toContain('mine, by me');
  const people = oneLine((await ralph(['show', runId], world)).stdout);
  expect(people).toContain('Changed before the run, and yours:');
  const report = (await ralph(['report', runId, '--format', 'md'], world)).stdout;
  expect(report).toContain('<summary>Changed before the run: 3 files changed');
  const html = (await ralph(['report', runId, '--format', 'html'], world)).stdout;
  const details = JSON.parse(/id="details">(.*?)<\/script>/s.exec(html)?.[1] ?? '{}');
  expect(Object.keys(details)).toEqual(['0', '1', '2']);
  expect(details[0].diff.text).toContain('+mine, by me');
  expect(details[2].diff.text).not.toContain('mine, by me');

  // The command that is printed brings the user's version back.
  const restore = /`(git restore --source=\S+ -- both\.txt)`/.exec(said)?.[1] ?? '';
  expect(restore, said).not.toBe('');
  expect(project.read('both.txt')).toBe('both, by the agent\n');
  execFileSync('sh', ['-c', restore], { cwd: project.dir, env: gitEnv() });
  expect(project.read('both.txt')).toBe('both, by me\n');
  expect(project.read('clean.txt')).toBe('clean, by the agent\n');
});

test('of ralph prd run: the list is nobody’s news, and a reviewer sees the story only', async () => {
  const project = prdRepo();
  project.write('mine.txt', 'by me\n');
  project.write('ralph/prd.md', '# Changed\n');
  const also = () => project.write('built.txt', 'by the agent\n');
  const agent = await fakeAgent(
    'claude',
    works(project, handIn(), { also, commit: false }),
    works(project, approve(), { commit: false }),
  );
  const { stderr } = await prdRun(project, agent.bin);
  expect(oneLine(stderr)).toContain('1 file is changed and not committed: mine.txt.');
  expect(agent.calls[1]?.input).toContain('+by the agent');
  expect(agent.calls[1]?.input).not.toContain('+by me');
  expect(stderr).not.toContain('git restore');
});

test('in a clean tree nothing is said', async () => {
  const project = repo(FILES);
  const agent = await fakeAgent('claude', works2);
  const world = { cwd: project.dir, path: [agent.bin] };
  const { stderr, code } = await ralph(['loop', 'x', '--check', 'true', '--agent', 'claude'], world);
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/not committed|git restore/)]);
  expect((await ralph(['show'], world)).stdout).not.toContain('and yours');
});

test('what is committed is said to stay out of it', async () => {
  const project = dirty();
  project.settings({ scm: { command: 'git', tasks: ['commit'] } });
  const agent = await fakeAgent('claude', works2, speaks('Do it'));
  const args = ['loop', 'x', '--check', 'true', '--agent', 'claude'];
  const { stdout, stderr } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
  expect(oneLine(stdout + stderr)).toContain('not committed with its work');
  expect(project.git('show', '--name-only', '--format=', 'HEAD').trim()).toBe('clean.txt');
});
