/** `--agent "acp:COMMAND ARGS"` as a user calls it, with a small agent that speaks the protocol. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

/** Asks, writes a file if it may, says `words`, and waits for its stdin to close. */
const AGENT = `
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [words] = process.argv.slice(2);
const say = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const update = update => say({ method: 'session/update', params: { sessionId: 's', update } });
const speak = text => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentInfo: { name: 'small' } } });
  if (method === 'session/new') say({ id, result: { sessionId: 's' } });
  if (method === 'session/prompt' && params.prompt[0].text.includes('commit message')) {
    speak('<response>Add out.txt</response>');
    say({ id, result: { stopReason: 'end_turn' } });
  } else if (method === 'session/prompt') {
    const options = [{ optionId: 'yes', kind: 'allow_once' }, { optionId: 'no', kind: 'reject_once' }];
    say({ id: 'ask', method: 'session/request_permission', params: { sessionId: 's', toolCall: { toolCallId: 't', title: 'write' }, options } });
  }
  if (id === 'ask') {
    const may = result.outcome.optionId === 'yes';
    if (may) writeFileSync('out.txt', 'x');
    update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: may ? 'completed' : 'failed' });
    for (const word of words.split(/(?<= )/)) speak(word);
    say({ id: 3, result: { stopReason: 'end_turn', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } } });
  }
}
`;

function project(): Repo {
  return repo({ 'README.md': '# test\n', 'agent.mjs': AGENT });
}

const agent = (words: string) => ['--agent', `acp:${process.execPath} agent.mjs '${words}'`];

test('a loop with it is done when it says so and the check agrees; the run can be judged again', {
  tags: 'promise',
}, async () => {
  const { dir } = project();
  const args = [
    'loop',
    'x',
    '--check',
    'test -e out.txt',
    '--json',
    ...agent('Done. <promise>COMPLETE</promise>'),
  ];
  const { code, stdout, stderr } = await ralph(args, { cwd: dir });
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    stopReason: 'all_checks_passed',
    iterations: [{ toolCalls: 1, tokens: { input: 10, output: 5 }, completionTagFound: true }],
  });
  const replay = await ralph(['replay'], { cwd: dir });
  expect(replay.stdout).toContain('1 verdict judged again: all the same.');
});

test('ralph run: it is refused what it asks for, unless permissions are skipped, and writes commit messages', async () => {
  const made = project();
  made.settings({ scm: { command: 'git', tasks: ['commit'] } });
  const args = ['run', '-p', 'x', '-m', '1', ...agent('<response>DONE</response>')];
  await ralph([...args, '--permissions', 'host'], { cwd: made.dir });
  expect(readdirSync(made.dir)).not.toContain('out.txt');
  const { code, stderr } = await ralph(args, { cwd: made.dir });
  expect(code, stderr).toBe(0);
  expect(made.git('log', '-1', '--format=%s')).toBe('Add out.txt\n');
});

test('limits that it may not report are refused, and so is a command that is not there', async () => {
  const { dir } = project();
  const limited = await ralph(['loop', 'x', '--check', 'true', '--max-tokens', '9', ...agent('x')], {
    cwd: dir,
  });
  expect([limited.code, limited.stderr]).toEqual([2, expect.stringContaining('does not report its tokens')]);
  const args = ['loop', 'x', '--check', 'true', '--fallback', 'acp:no-such-agent acp', ...agent('x')];
  const absent = await ralph(args, { cwd: dir });
  expect([absent.code, absent.stderr]).toEqual([2, expect.stringContaining('there is no such command')]);
});
