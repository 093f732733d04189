/** `ralph log`: what of a run somebody wants to see. */
import { expect, test } from 'vitest';
import { writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { repo } from '../rig/repo.ts';

const works = (file: string, words: string) => writesFile(file, '1', words);

/** Two iterations: the check is red in the first and green in the second. */
async function twoIterations() {
  const project = repo();
  const agent = await fakeAgent(
    'claude',
    works('a', 'first words'),
    works('b', 'second words <promise>COMPLETE</promise>'),
  );
  await ralph(['loop', 'Do it', '--check', 'test -e b', '--agent', 'claude'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  return async (...flags: readonly string[]) => {
    const { stdout } = await ralph(['log', '--json', ...flags], { cwd: project.dir });
    return stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
  };
}

test('by kind, by iteration, and by both', async () => {
  const log = await twoIterations();
  const types = (entries: readonly { type: string }[]) => entries.map(entry => entry.type);
  expect(types(await log('--only', 'checks'))).toEqual([
    'check-started',
    'check-ended',
    'check-started',
    'check-ended',
  ]);
  expect(types(await log('--only', 'verdicts, run'))).toEqual([
    'run-started',
    'prepared',
    'iteration-started',
    'judged',
    'iteration-ended',
    'iteration-started',
    'judged',
    'iteration-ended',
    'run-ended',
  ]);
  const second = await log('--iteration', '2');
  expect(types(second).at(0)).toBe('iteration-started');
  expect(types(second).at(-1)).toBe('iteration-ended');
  expect(await log('--iteration', '2', '--only', 'words')).toMatchObject([
    { event: { text: 'second words <promise>COMPLETE</promise>' } },
  ]);
  expect((await log('--iteration', '1-', '--only', 'tools')).length).toBe(4);
  expect((await log('--iteration', '0')).every(entry => entry.type !== 'agent')).toBe(true);
});

test('everything that is wrong with the flags is told at once', async () => {
  const { code, stderr } = await ralph(['log', '--only', 'checsk,verdicts,x', '--iteration', '3..4'], {
    cwd: repo().dir,
  });
  expect(code).toBe(2);
  for (const words of [
    'did you mean checks?',
    'one of run, prompt',
    '--iteration 3..4: must be 3, 2-5 or 4-',
  ])
    expect(stderr).toContain(words);
});
