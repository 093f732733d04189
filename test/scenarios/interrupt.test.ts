/** An orderly interruption loses nothing: what was proven is kept, and what was not begun is left for `ralph resume`. */
import { expect, test } from 'vitest';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { startRalph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';
/** A guardrail that is under way until the test says so. */
const HELD = 'touch under-way; until [ -e go ]; do :; done';
const SCM = { scm: { command: 'git', tasks: ['commit'] } };

const works =
  (words: string): Handler =>
  async turn => {
    const isMessage = turn.input.includes('commit message');
    if (!isMessage) await turn.write('work', 'done\n');
    await turn.print(isMessage ? 'Do the work' : words);
    turn.exit();
  };

async function interruptedInCheck(project: Repo, words: string, args: readonly string[]) {
  const agent = await fakeAgent('worker', works(words));
  const run = startRalph(['run', '-p', 'go', ...args], { cwd: project.dir, path: [agent.bin] });
  await run.until(`Guardrail "${HELD}"`);
  run.process.kill('SIGINT');
  await run.until('Received signal, shutting down...');
  project.write('go', '');
  return { ...(await run.finished), agent };
}

function projectWith(settings: Readonly<Record<string, unknown>>): Repo {
  const project = repo({ 'README.md': '# test\n', '.gitignore': 'go\nunder-way\n' });
  project.settings({ agent: { command: 'worker' }, guardrails: [{ command: HELD }], ...settings });
  return project;
}

test('a signal in the last check does not throw away what that check proves', {
  tags: 'promise',
}, async () => {
  const project = projectWith(SCM);
  const { code, stdout } = await interruptedInCheck(project, DONE, []);
  expect([code, stdout]).toEqual([0, expect.stringContaining('Done')]);
  expect(project.git('log', '--format=%s')).toBe('Do the work\nstart\n');
});

test('green work is committed before the run stops, whichever verdict ends it', async () => {
  const project = projectWith(SCM);
  const { code } = await interruptedInCheck(project, 'not yet', ['-m', '1']);
  expect([code, project.git('log', '--format=%s')]).toEqual([1, 'Do the work\nstart\n']);
});

test('where there is more to do, the iteration is finished and the run ends as interrupted', async () => {
  const project = projectWith(SCM);
  const { code, agent } = await interruptedInCheck(project, 'not yet', ['-m', '5']);
  expect([code, project.git('log', '--format=%s')]).toEqual([130, 'Do the work\nstart\n']);
  expect(agent.calls.filter(({ input }) => !input.includes('commit message'))).toHaveLength(1);
});
