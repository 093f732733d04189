/** What lets a loop sleep, what it waits for, and what is the user's own while it does. */
import { appendFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { parseState } from '../../src/store/session-file.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';

async function hook(project: Repo, [host, event]: readonly [string, string], input: object) {
  const text = JSON.stringify({ session_id: 's', cwd: project.dir, ...input });
  const answer = await runHook(host, event, text, { ...process.env, CLAUDE_PROJECT_DIR: project.dir });
  return answer === '' ? undefined : JSON.parse(answer);
}

const state = (project: Repo) => parseState(project.read(STATE));

/** The same moments, by the names that each host has for them. */
const NAMES: Readonly<Record<string, readonly [prompt: string, stop: string]>> = {
  claude: ['UserPromptExpansion', 'Stop'],
  codex: ['UserPromptSubmit', 'Stop'],
  copilot: ['UserPromptSubmit', 'Stop'],
  qwen: ['UserPromptExpansion', 'Stop'],
  gemini: ['BeforeAgent', 'AfterAgent'],
  opencode: ['chat.message', 'step-finish'],
};

async function begun(host: string, args = 'Do it --completion-promise DONE') {
  const project = repo();
  const [prompt] = NAMES[host] ?? [''];
  const command = { command_name: 'ralph-loop', command_args: args };
  await hook(project, [host, prompt], { prompt: `/ralph-loop ${args}`, ...command });
  expect(state(project)).toMatchObject({ active: true, iteration: 1 });
  return project;
}

describe('a turn in which nobody said or did anything', () => {
  test.each(Object.keys(NAMES))('%s: is let go, and the loop sleeps', async host => {
    const project = await begun(host);
    const [, stop] = NAMES[host] ?? ['', ''];
    const transcript_path = project.path('t.jsonl');
    project.write('t.jsonl', emptyTurn(host));
    const input = { last_assistant_message: '', prompt_response: '', transcript_path };
    const answer = await hook(project, [host, stop], input);
    expect(answer?.decision).toBeUndefined();
    expect(answer?.reason).toBeUndefined();
    expect(state(project)).toMatchObject({ active: false, iteration: 1 });
    // However often the host calls: there is no way back into a spin.
    expect(await hook(project, [host, stop], input)).toBeUndefined();
    expect(state(project)).toMatchObject({ active: false, iteration: 1 });
  });

  const emptyTurn = (host: string) =>
    host === 'copilot' ? `${JSON.stringify({ type: 'hook.start', data: { hookType: 'agentStop' } })}\n` : '';

  test('Gemini: Esc comes as an answer without text, at any iteration, and says so to the user', async () => {
    const project = await begun('gemini');
    const record = (type: string, content: string) => `${JSON.stringify({ type, content })}\n`;
    project.write('t.jsonl', record('user', 'x') + record('gemini', 'not yet'));
    const transcript_path = project.path('t.jsonl');
    const first = { prompt_response: 'not yet', transcript_path };
    expect(await hook(project, ['gemini', 'AfterAgent'], first)).toMatchObject({ decision: 'deny' });
    const esc = { prompt_response: '[no response text]', transcript_path };
    const answer = await hook(project, ['gemini', 'AfterAgent'], esc);
    expect(answer).toEqual({ systemMessage: expect.stringContaining('the loop sleeps at iteration 2') });
    expect(answer.systemMessage).toContain('/ralph-loop resumes it');
    expect(state(project)).toMatchObject({ active: false, iteration: 2 });
  });

  test('Gemini: Esc after words and tools of the same prompt is not sent back, not once', async () => {
    const project = await begun('gemini');
    const record = (type: string, content: string, more = {}) =>
      `${JSON.stringify({ type, content, ...more })}\n`;
    const transcript_path = project.path('t.jsonl');
    const stop = (prompt_response: string) =>
      hook(project, ['gemini', 'AfterAgent'], { prompt_response, transcript_path });
    project.write('t.jsonl', record('user', 'x') + record('gemini', 'Not yet.'));
    expect(await stop('Not yet.')).toMatchObject({ decision: 'deny' });
    // The words that it gives are those of the turn before: nobody has said anything since.
    expect(await stop('Not yet.')).toEqual({
      systemMessage: expect.stringContaining('sleeps at iteration 2'),
    });
    await hook(project, ['gemini', 'BeforeAgent'], { prompt: '/ralph-loop', transcript_path });
    const called = { toolCalls: [{ id: 't1' }] };
    appendFileSync(transcript_path, record('user', 'y') + record('gemini', 'Let me look.', called));
    expect(await stop('Let me look.')).toEqual({
      systemMessage: expect.stringContaining('sleeps at iteration 2'),
    });
    expect(state(project)).toMatchObject({ active: false, iteration: 2 });
  });

  test.each(['\u200b', '\n \u2060', null])('no word that anybody could read is none: %j', async said => {
    const project = await begun('claude');
    const answer = await hook(project, ['claude', 'Stop'], { last_assistant_message: said });
    expect(answer).toEqual({ systemMessage: expect.stringContaining('sleeps at iteration 1') });
  });

  test('OpenCode: Esc comes as an error of the session', async () => {
    const project = await begun('opencode');
    const answer = await hook(project, ['opencode', 'session.error'], { interrupted: true });
    expect(answer).toEqual({ message: expect.stringContaining('sleeps at iteration 1') });
    expect(state(project)).toMatchObject({ active: false });
  });

  test('with tool calls, an empty last message is a stop like any other', async () => {
    const project = await begun('opencode');
    const worked = { last_assistant_message: '', counted_calls: 2 };
    expect(await hook(project, ['opencode', 'step-finish'], worked)).toHaveProperty('reason');
    expect(state(project)).toMatchObject({ active: true, iteration: 2, toolCalls: 2 });
  });
});

describe('while a loop sleeps', () => {
  const dangerous = { tool_name: 'Bash', tool_input: { command: 'rm -rf /' } };

  test.each(Object.keys(NAMES))(
    '%s: after an Esc that no hook saw, a prompt of the user is answered once and lets it sleep, the guard is off, and every reader says so',
    async host => {
      const project = await begun(host, 'Do it --completion-promise DONE');
      const before: Record<string, string> = { gemini: 'BeforeTool', opencode: 'tool.execute.before' };
      const prompt: Record<string, string> = { claude: 'UserPromptSubmit', qwen: 'UserPromptSubmit' };
      const guarded = () => hook(project, [host, before[host] ?? 'PreToolUse'], dangerous);
      expect(JSON.stringify(await guarded())).toContain("Ralph's guard refused this");
      const [asked] = NAMES[host] ?? [''];
      const own = { prompt: 'What time is it?', prompt_id: 'p2', turn_id: 't2' };
      if (host === 'claude') await wakeWith(project, 'p1');
      if (host === 'codex')
        await hook(project, ['codex', 'UserPromptSubmit'], { prompt: '/ralph-loop', turn_id: 't1' });
      await hook(project, [host, prompt[host] ?? asked], own);
      expect(state(project)).toMatchObject({ active: false });
      expect(await guarded()).toBeUndefined();
      const [, stop = ''] = NAMES[host] ?? [];
      const answered = { ...own, last_assistant_message: 'It is noon.', prompt_response: 'It is noon.' };
      expect(await hook(project, [host, stop], answered)).toBeUndefined();
      const shown = await ralph(['session', 'status'], { cwd: project.dir });
      expect(shown.stdout).toContain('dormant');
      const runs = JSON.parse((await ralph(['status', '--json'], { cwd: project.dir })).stdout).runs;
      expect(runs).toMatchObject([{ state: 'paused', iteration: 1 }]);
    },
  );

  const wakeWith = (project: Repo, prompt_id: string) =>
    hook(project, ['claude', 'UserPromptExpansion'], {
      command_name: 'ralph:ralph-loop',
      command_args: '',
      prompt_id,
    });

  test('the guard goes by the prompt, also before the host has said that there is another one', async () => {
    const project = await begun('claude');
    await wakeWith(project, 'p1');
    const own = { ...dangerous, prompt_id: 'p2' };
    expect(await hook(project, ['claude', 'PreToolUse'], own)).toBeUndefined();
    expect(await hook(project, ['claude', 'PreToolUse'], { ...dangerous, prompt_id: 'p1' })).toBeDefined();
  });

  test.each(['copilot', 'gemini', 'opencode'])(
    '%s: a prompt of the user that holds the words of the task is the user’s all the same',
    async host => {
      const project = await begun(host, 'Fix --completion-promise DONE');
      const [asked] = NAMES[host] ?? [''];
      const again = { prompt: 'You attempted to end the loop.\n\nOriginal task:\nFix' };
      await hook(project, [host, asked], again);
      expect(state(project)).toMatchObject({ active: true });
      await hook(project, [host, asked], { prompt: 'Fix the colour of the button, please' });
      expect(state(project)).toMatchObject({ active: false });
    },
  );

  test('it is still there for the one who wakes it', async () => {
    const project = await begun('codex');
    await hook(project, ['codex', 'UserPromptSubmit'], { prompt: '$ralph-loop', turn_id: 't1' });
    await hook(project, ['codex', 'UserPromptSubmit'], { prompt: 'Hello', turn_id: 't2' });
    const woken = await hook(project, ['codex', 'UserPromptSubmit'], {
      prompt: '$ralph-loop',
      turn_id: 't3',
    });
    expect(JSON.stringify(woken)).toContain('resumed at iteration 1');
    expect(state(project)).toMatchObject({ active: true });
    const stop = { turn_id: 't3', last_assistant_message: 'no' };
    expect(await hook(project, ['codex', 'Stop'], stop)).toMatchObject({ decision: 'block' });
  });
});

describe('work that brings the agent back', () => {
  const stop = (project: Repo, more: object) =>
    hook(project, ['claude', 'Stop'], { last_assistant_message: 'waiting', ...more });
  const shell = (command: string) => ({
    background_tasks: [{ id: 'b', type: 'shell', status: 'running', command }],
  });

  test('a command in the background lets the stop through, and says what is waited for', async () => {
    const project = await begun('claude');
    const answer = await stop(project, shell('npm test'));
    expect(answer).toEqual({ systemMessage: expect.stringContaining('the loop waits for `npm test`') });
    expect(state(project)).toMatchObject({ active: true, iteration: 1 });
    const back = { prompt: '<task-notification>done</task-notification>', prompt_id: 'p2' };
    await hook(project, ['claude', 'UserPromptSubmit'], back);
    expect(await stop(project, { prompt_id: 'p2' })).toMatchObject({ decision: 'block' });
  });

  test('a claim is judged all the same', async () => {
    const project = await begun('claude', 'Do it --completion-promise DONE --min-tool-calls 0');
    const answer = await stop(project, { ...shell('npm test'), last_assistant_message: DONE });
    expect(answer.systemMessage).toContain('PROMISE_ACCEPTED');
  });

  test.each([
    'npm run dev',
    'npm start',
    'python3 -m http.server 8000',
    'tail -f log',
    'vite --port 3',
    'tsc -w',
  ])('`%s` never comes back, and is not waited for', async command => {
    const project = await begun('claude');
    expect(await stop(project, shell(command))).toMatchObject({ decision: 'block' });
  });

  test('a user who wakes the loop does not want it to wait again', async () => {
    const project = await begun('claude');
    await stop(project, shell('./serves-for-ever'));
    await hook(project, ['claude', 'UserPromptExpansion'], {
      command_name: 'ralph:ralph-loop',
      command_args: '',
    });
    expect(await stop(project, shell('./serves-for-ever'))).toMatchObject({ decision: 'block' });
  });

  test('a wake-up that the agent has scheduled is waited for, and its prompt is the loop’s', async () => {
    const project = await begun('claude');
    await hook(project, ['claude', 'UserPromptExpansion'], {
      command_name: 'ralph:ralph-loop',
      command_args: '',
      prompt_id: 'p1',
    });
    const crons = {
      session_crons: [{ id: 'c', schedule: '2 0 * * *', recurring: false, prompt: 'Look again' }],
    };
    expect(await stop(project, { ...crons, prompt_id: 'p1' })).toEqual({
      systemMessage: expect.stringContaining('`Look again`'),
    });
    await hook(project, ['claude', 'UserPromptSubmit'], { prompt: 'Look again', prompt_id: 'p2' });
    expect(state(project)).toMatchObject({ active: true, promptId: 'p2' });
    expect(await stop(project, { prompt_id: 'p2' })).toMatchObject({ decision: 'block' });
  });
});
