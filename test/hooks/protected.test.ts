/** Protected files in a session: put back at a stop, in the words and with the effect that they have in an outer loop. */
import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { parseState } from '../../src/store/session-file.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';
const TEST = 'test/a.test.sh';
const RED = 'test -e feature\n';

async function hook(project: Repo, event: string, more: object = {}, host = 'claude') {
  const input = JSON.stringify({ session_id: 's', prompt_id: 'p1', cwd: project.dir, ...more });
  const answer = await runHook(host, event, input, { ...process.env, CLAUDE_PROJECT_DIR: project.dir });
  return answer === '' ? {} : JSON.parse(answer);
}

const command = (project: Repo, args: string, more = {}) =>
  hook(project, 'UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: args, ...more });
const stop = (project: Repo, said: string, more = {}) =>
  hook(project, 'Stop', { last_assistant_message: said, ...more });
const ledger = async (project: Repo) =>
  (await ralph(['log', '--json'], { cwd: project.dir })).stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

const LOOP = `Do it --completion-promise DONE --min-tool-calls 0 --check "sh ${TEST}"`;

async function begun(settings: object = {}, args = LOOP) {
  const project = repo({ [TEST]: RED, 'app.txt': 'x\n' });
  project.write('.ralph/settings.json', JSON.stringify({ protect: ['test/**'], ...settings }));
  await command(project, args);
  return project;
}

test('a test that the agent made green is put back before it runs, and the agent and the ledger learn it', {
  tags: 'promise',
}, async () => {
  const project = await begun();
  project.write(TEST, 'true\n');
  const { reason } = await stop(project, DONE);
  expect(reason).toContain(
    `You changed something that is not yours to change: ${TEST} was changed. It has been undone.`,
  );
  expect(reason).toContain('failed (exit code 1)');
  expect(project.read(TEST)).toBe(RED);
  const events = await ledger(project);
  expect(events.filter(({ type }) => type === 'tampered' || type === 'violation')).toMatchObject([
    { what: [`${TEST} was changed`] },
    { violation: { what: `${TEST} was changed`, restored: true } },
  ]);
  project.write('feature', '');
  expect((await stop(project, DONE)).systemMessage).toContain('PROMISE_ACCEPTED');
  const { result } = (await ledger(project)).at(-1);
  expect(result.iterations[0].violations).toEqual([expect.stringContaining(TEST)]);
});

test('without a claim, too; and what the agent does to the settings changes nothing', async () => {
  const project = await begun();
  rmSync(project.path(TEST));
  project.write('.ralph/settings.json', '{"protect":[]}');
  expect((await stop(project, 'not yet')).reason).toContain(`${TEST} was deleted. It has been undone.`);
  expect(project.read(TEST)).toBe(RED);
});

test('new files are moved aside where the settings forbid them, and the state file of a loop is none', async () => {
  const project = await begun({ protect: ['test/**', '.claude/**'], protectNew: true });
  await stop(project, 'not yet');
  project.write('test/b.test.sh', 'true\n');
  expect((await stop(project, 'not yet')).reason).toContain('test/b.test.sh is new. It has been undone.');
  expect(existsSync(project.path('test/b.test.sh'))).toBe(false);
  expect(parseState(project.read(STATE))).toMatchObject({ active: true, iteration: 3 });
  const violations = (await ledger(project)).filter(({ type }) => type === 'violation');
  expect(violations).toHaveLength(1);
});

test('a prompt of the user puts back what the agent did; what the user does while the loop sleeps is kept', async () => {
  const project = await begun();
  project.write(TEST, 'true\n');
  const asked = { prompt: 'What are you doing?', prompt_id: 'p2' };
  expect((await hook(project, 'UserPromptSubmit', asked)).systemMessage).toContain(
    `the agent changed protected files: ${TEST} was changed. This was undone.`,
  );
  expect(project.read(TEST)).toBe(RED);
  project.write(TEST, 'test -e other\n');
  await command(project, '', { prompt_id: 'p3' });
  expect((await stop(project, 'not yet', { prompt_id: 'p3' })).reason).not.toContain('not yours to change');
  expect(project.read(TEST)).toBe('test -e other\n');
});

test('an Esc that the host reports, and a hand-over to a terminal, put back first', async () => {
  const project = await begun();
  project.write(TEST, 'true\n');
  expect((await stop(project, '')).systemMessage).toContain('the loop sleeps');
  expect(project.read(TEST)).toBe(RED);
  await command(project, '');
  project.write(TEST, 'true\n');
  await hook(project, 'UserPromptExpansion', { command_name: 'ralph:hand-over', command_args: '' });
  expect(project.read(TEST)).toBe(RED);
});

test('a host that asks before the stop has the same answer, with files that are as they were', async () => {
  const project = repo({ [TEST]: RED, '.ralph/settings.json': '{"protect":["test/**"]}' });
  await hook(project, 'chat.message', { prompt: `/ralph-loop ${LOOP}` }, 'opencode');
  project.write(TEST, 'true\n');
  const said = { last_assistant_message: DONE };
  const peeked = await hook(project, 'text.complete', said, 'opencode');
  expect(peeked.reason).toContain('It has been undone.');
  expect(peeked.reason).toContain('failed (exit code 1)');
  expect((await hook(project, 'step-finish', said, 'opencode')).reason).toContain('failed (exit code 1)');
  expect(project.read(TEST)).toBe(RED);
});

test('a check that changes them proves nothing, and they are put back', async () => {
  const args = `Do it --completion-promise DONE --min-tool-calls 0 --check "echo true > ${TEST}" --check "sh ${TEST}"`;
  const project = await begun({}, args);
  const { reason } = await stop(project, DONE);
  expect(reason).toContain(`${TEST} was changed`);
  expect(project.read(TEST)).toBe(RED);
  const violations = (await ledger(project)).filter(({ type }) => type === 'violation');
  expect(violations).toMatchObject([{ violation: { by: `echo true > ${TEST}`, restored: true } }]);
});

test('a check that changes them and puts them back before it ends proves nothing', async () => {
  const swap = `cp -p ${TEST} kept; echo true > ${TEST}; sh ${TEST}; end=$?; cat kept > ${TEST}; touch -r kept ${TEST}; exit $end`;
  const project = repo({ [TEST]: RED, 'swap.sh': `${swap}\n` });
  project.write('.ralph/settings.json', JSON.stringify({ protect: ['test/**'] }));
  await command(project, 'Do it --completion-promise DONE --min-tool-calls 0 --check "sh swap.sh"');
  const { reason, systemMessage } = await stop(project, DONE);
  expect(reason).toContain(`${TEST} was changed and put back`);
  expect(systemMessage).not.toContain('PROMISE_ACCEPTED');
  expect(project.read(TEST)).toBe(RED);
});

test('a loop in a folder of settings that is a link is kept there, and a link that was put in its place leads nowhere', async () => {
  const project = repo({ [TEST]: RED, 'shared/keep': '' });
  symlinkSync('shared', project.path('.claude'));
  await command(project, LOOP);
  expect(existsSync(project.path('shared/ralph-loop.local.md'))).toBe(true);
  expect((await stop(project, DONE)).reason).toContain('failed (exit code 1)');
  const other = repo({ 'mine.txt': 'mine\n' });
  rmSync(project.path('.claude'));
  symlinkSync(other.dir, project.path('.claude'));
  expect((await stop(project, DONE)).systemMessage ?? '').not.toContain('PROMISE_ACCEPTED');
  expect(readdirSync(other.dir).sort()).toEqual(['.git', 'mine.txt']);
});

test('a loop that waits for its session protects from the prompt that takes it', async () => {
  const project = repo({ [TEST]: RED, '.ralph/settings.json': '{"protect":["test/**"]}' });
  await ralph(['session', 'start', '--session', 'next', 'Do it', '--completion-promise', 'DONE'], {
    cwd: project.dir,
  });
  await hook(project, 'UserPromptSubmit', { prompt: 'Go' });
  project.write(TEST, 'true\n');
  expect((await stop(project, 'not yet')).reason).toContain('It has been undone.');
});

test('one that was started from a terminal for a running session protects from its first stop on', async () => {
  const project = repo({ [TEST]: RED, '.ralph/settings.json': '{"protect":["test/**"]}' });
  await ralph(['session', 'start', '--session', 's', 'Do it', '--completion-promise', 'DONE'], {
    cwd: project.dir,
  });
  await stop(project, 'not yet');
  project.write(TEST, 'true\n');
  expect((await stop(project, 'not yet')).reason).toContain('It has been undone.');
});

test('where files cannot be protected, no loop starts, the reason is the one of an outer loop, and a loop that slept is kept', async () => {
  const project = await begun();
  project.write('.ralph/settings.json', '{"protect":["!a"]}');
  const before = project.read(STATE);
  const answer = await command(project, 'Another task');
  expect(answer.reason).toContain('not started');
  expect(answer.reason).toContain('exceptions with ! are not supported');
  expect(project.read(STATE)).toBe(before);
});

test('without protected files nothing is kept', async () => {
  const project = await begun({ protect: [] });
  expect(parseState(project.read(STATE))).toMatchObject({ protect: [], kept: null });
});
