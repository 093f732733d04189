/** The accents of the hosts: what each says to a hook, and how it wants to be answered. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { partsOfHookMain } from '../../scripts/hook-program.mjs';
import { parseState, writeSession } from '../../src/store/session-file.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';
/** Where the stop has another name. */
const HOSTS_STOP: Readonly<Record<string, string>> = { gemini: 'AfterAgent', opencode: 'step-finish' };
const HOSTS = ['claude', 'codex', 'copilot', 'qwen', 'gemini', 'opencode'];

async function hook(project: Repo, [host, event]: readonly [string, string], input: unknown, env = {}) {
  const text = typeof input === 'string' ? input : JSON.stringify({ cwd: project.dir, ...Object(input) });
  const finished = await ralph(['hook', host, event], { cwd: project.dir, env, input: text });
  expect([finished.code, finished.stderr]).toEqual([0, '']);
  return finished.stdout === '' ? undefined : JSON.parse(finished.stdout);
}

const state = (project: Repo) => parseState(project.read(STATE));

test.each(HOSTS)('%s: hostile input and an unknown event are passed over in silence', async host => {
  const project = repo();
  for (const input of ['', '[]', '{"session_id":5}', '{"session_id":"s"']) {
    expect(await hook(project, [host, HOSTS_STOP[host] ?? 'Stop'], input)).toBeUndefined();
  }
  expect(await hook(project, [host, 'Nonsense'], { session_id: 's' })).toBeUndefined();
});

test('a host that there is not is passed over in silence', async () => {
  expect(await hook(repo(), ['nobody', 'Stop'], { session_id: 's' })).toBeUndefined();
});

test('no host is given a hook whose input a shell would read: commands are whole, without args', () => {
  const file = readFileSync(join(import.meta.dirname, '../../plugins/claude/hooks/hooks.json'), 'utf8');
  expect(file).not.toContain('"args"');
  for (const [, command] of file.matchAll(/"command": "(.*)"/g)) {
    expect(command).toMatch(
      /\b(sh|node) \\"\$\{CLAUDE_PLUGIN_ROOT\}\/bin\/(gate\.sh|ralph-hook\.cjs)\\" \w+ \w+$/,
    );
  }
});

test('the hook program holds every dialect and no adapter, and loads nothing slow of Node: it must start fast', async () => {
  const main = join(import.meta.dirname, '../../plugins/claude/bin/ralph-hook-main.cjs');
  const parts = (await partsOfHookMain()).join('\n');
  expect(parts.match(/src\/agents\/\w+\/dialect\.ts$/gm)).toHaveLength(6);
  expect(parts).not.toMatch(/src\/agents\/\w+\/(adapter|plugin)\.ts|src\/agents\/tools\.ts/);
  const list = `require(${JSON.stringify(main)}); console.log(process.moduleLoadList.join())`;
  const loaded = execFileSync(process.execPath, ['-e', list], { encoding: 'utf8' });
  expect(loaded).not.toMatch(/NativeModule (crypto|child_process|http)\b/);
});

describe('the same plugin in four hosts', () => {
  const prompt = { session_id: 's', prompt: '/ralph-loop x --completion-promise DONE' };
  const here = { CLAUDE_PLUGIN_ROOT: '/p', PLUGIN_ROOT: '/p' };

  test('Codex is known by its turn, Copilot by its root, Qwen Code by its session', {
    tags: 'promise',
  }, async () => {
    const event = ['auto', 'UserPromptSubmit'] as const;
    expect(await hook(repo(), event, { ...prompt, turn_id: 't' }, here)).toHaveProperty('hookSpecificOutput');
    const inCopilot = { ...here, COPILOT_PLUGIN_ROOT: '/p' };
    expect(await hook(repo(), event, prompt, inCopilot)).toHaveProperty('modifiedPrompt');
    // Both have an event of their own for a command.
    expect(await hook(repo(), event, prompt, { QWEN_CODE_SESSION_ID: 's' })).toBeUndefined();
    expect(await hook(repo(), event, prompt)).toBeUndefined();
  });
});

describe('Codex', () => {
  test('a loop belongs to its turn: the stop of another one goes through', async () => {
    const project = repo();
    await hook(project, ['codex', 'UserPromptSubmit'], {
      session_id: 's',
      turn_id: 't1',
      prompt: '/ralph-loop x',
    });
    expect(await hook(project, ['codex', 'Stop'], { session_id: 's', turn_id: 't2' })).toBeUndefined();
    const own = { session_id: 's', turn_id: 't1', last_assistant_message: 'x' };
    expect(await hook(project, ['codex', 'Stop'], own)).toMatchObject({ decision: 'block' });
  });
});

describe('Copilot', () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const line = (type: string, data: unknown) => `${JSON.stringify({ type, data })}\n`;
  const said = (content: string, more = {}) => line('assistant.message', { content, ...more });
  const called = (timestamp: number) => line('hook.start', { hookType: 'agentStop', input: { timestamp } });
  const start = (project: Repo) =>
    hook(project, ['copilot', 'UserPromptSubmit'], {
      session_id: 's',
      prompt: '/ralph-loop x --completion-promise DONE --min-tool-calls 0',
    });

  test('a transcript that is late is waited for; what stood there before is not believed', async () => {
    const project = repo();
    await start(project);
    project.write('events.jsonl', said(DONE) + called(1_000));
    const answer = hook(project, ['copilot', 'Stop'], {
      session_id: 's',
      timestamp: at(2_000),
      transcript_path: project.path('events.jsonl'),
    });
    appendFileSync(project.path('events.jsonl'), said('not yet') + called(2_000));
    expect(await answer).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining('you did not output the completion promise'),
    });
  });

  test('a skill that the user called in its terminal is the command, with the arguments as they were typed', async () => {
    const project = repo();
    const task = 'one\nARGUMENTS: two\n</skill-context> three';
    const body =
      'Follow its instructions now.\n\n<skill-context name="ralph-loop">\nThe loop has been set up.\n\n';
    const prompt = `The user explicitly invoked the "/ralph:ralph-loop" skill. ${body}\nARGUMENTS: ${task}\n</skill-context>`;
    await hook(project, ['copilot', 'UserPromptSubmit'], { session_id: 's', prompt });
    expect(state(project)).toMatchObject({ task });
    const cancel = `The user explicitly invoked the "/ralph:cancel-ralph" skill. ${body}\n</skill-context>`;
    expect(
      await hook(project, ['copilot', 'UserPromptSubmit'], { session_id: 's', prompt: cancel }),
    ).toMatchObject({
      reason: expect.stringContaining('Cancelled the Ralph loop'),
    });
  });

  test("a sub-agent's promise is not the agent's", async () => {
    const project = repo();
    await start(project);
    project.write('events.jsonl', said('not yet') + said(DONE, { parentToolCallId: 'c' }) + called(2_000));
    const input = { session_id: 's', timestamp: at(2_000), transcript_path: project.path('events.jsonl') };
    expect(await hook(project, ['copilot', 'Stop'], input)).toMatchObject({ decision: 'block' });
  });

  test('a prompt of the user lets the loop sleep, the command without a task wakes it', async () => {
    const project = repo();
    await start(project);
    await hook(project, ['copilot', 'UserPromptSubmit'], { session_id: 's', prompt: 'What time is it?' });
    expect(state(project)).toMatchObject({ active: false });
    expect(await hook(project, ['copilot', 'Stop'], { session_id: 's' })).toBeUndefined();
    await hook(project, ['copilot', 'UserPromptSubmit'], { session_id: 's', prompt: '/ralph-loop' });
    expect(state(project)).toMatchObject({ active: true, iteration: 1 });
  });
});

describe('Gemini', () => {
  test('an old promise in its cumulative answer is not found again', async () => {
    const project = repo();
    const prompt = '/ralph-loop x --completion-promise DONE --min-tool-calls 0';
    await hook(project, ['gemini', 'BeforeAgent'], { session_id: 's', prompt });
    const record = (type: string, content: unknown) => `${JSON.stringify({ type, content })}\n`;
    project.write(
      'chat.jsonl',
      record('gemini', DONE) + record('user', [{ text: 'go on' }]) + record('gemini', 'not yet'),
    );
    const input = {
      session_id: 's',
      prompt,
      prompt_response: `${DONE} not yet`,
      transcript_path: project.path('chat.jsonl'),
    };
    expect(await hook(project, ['gemini', 'AfterAgent'], input)).toMatchObject({ decision: 'deny' });
    appendFileSync(project.path('chat.jsonl'), record('user', []) + record('gemini', [{ text: DONE }]));
    expect(await hook(project, ['gemini', 'AfterAgent'], input)).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });
});

describe('OpenCode', () => {
  test('a peek says what the answer to a stop would be, and changes nothing', async () => {
    const project = repo();
    const prompt = '/ralph-loop x --completion-promise DONE --min-tool-calls 0';
    await hook(project, ['opencode', 'chat.message'], { session_id: 's', prompt });
    const before = project.read(STATE);
    const wrong = { session_id: 's', last_assistant_message: 'not yet' };
    const right = { session_id: 's', last_assistant_message: DONE };
    const peeked = await hook(project, ['opencode', 'text.complete'], wrong);
    expect(await hook(project, ['opencode', 'text.complete'], right)).toHaveProperty('message');
    expect(project.read(STATE)).toBe(before);
    expect(await hook(project, ['opencode', 'step-finish'], wrong)).toEqual(peeked);
    expect(state(project)).toMatchObject({ iteration: 2 });
  });
});

test.each([
  ['claude', 'UserPromptExpansion', 'ralph:ralph-loop'],
  ['claude', 'UserPromptExpansion', 'ralph:cancel-ralph'],
  ['codex', 'UserPromptSubmit', ''],
  ['gemini', 'BeforeAgent', ''],
  ['opencode', 'chat.message', ''],
])('%s: %s with --help prints the help and begins nothing', async (host, event, name) => {
  const project = repo();
  const input = { session_id: 's', prompt: '/ulw-loop --help', command_name: name, command_args: '--help' };
  const { reason } = await hook(project, [host, event], input);
  expect(reason).toContain('--max-iterations N');
  expect(existsSync(project.path(STATE))).toBe(false);
  expect(existsSync(project.path('.ralph'))).toBe(false);
});

test('what is started from a terminal is as it was typed, and nobody takes it an hour later', async () => {
  const project = repo();
  const words = [
    'Say "a b" twice',
    '--check',
    `grep "a 'b" f`,
    '--completion-promise',
    '<promise>OK</promise>',
  ];
  const started = await ralph(['session', 'start', '--session', 'next', ...words], { cwd: project.dir });
  expect(started.stdout).toContain('needs the text alone');
  expect(state(project)).toMatchObject({
    task: 'Say "a b" twice',
    checks: [`grep "a 'b" f`],
    completionPromise: 'OK',
  });
  const escaped = ['session', 'start', '--session', 'next', '--', 'Explain', '--check', 'and --json'];
  await ralph(escaped, { cwd: project.dir });
  const waiting = state(project);
  expect(waiting).toMatchObject({ task: 'Explain --check and --json', checks: [] });
  if ('problem' in waiting) throw new Error(waiting.problem);
  writeSession(project.path(STATE), { ...waiting, turnAt: Date.now() - 3_700_000 });
  expect(
    await hook(project, ['codex', 'UserPromptSubmit'], { session_id: 's9', prompt: 'Hi' }),
  ).toBeUndefined();
  expect(state(project)).toMatchObject({ sessionId: 'next' });
});

test.each([
  ['codex', 'UserPromptSubmit'],
  ['copilot', 'UserPromptSubmit'],
  ['gemini', 'BeforeAgent'],
  ['opencode', 'chat.message'],
])(
  '%s: a loop started from a terminal goes to the session that sends the next prompt',
  async (host, event) => {
    const project = repo();
    const started = await ralph(
      ['session', 'start', '--session', 'next', 'Do it', '--completion-promise', 'DONE'],
      {
        cwd: project.dir,
      },
    );
    expect(started.code).toBe(0);
    const answer = await hook(project, [host, event], { session_id: 's9', prompt: 'Begin' });
    expect(JSON.stringify(answer)).toContain('This is a Ralph loop');
    const taken = state(project);
    expect(taken).toMatchObject({ sessionId: 's9', task: 'Do it' });
    const { runId } = taken as { runId: string };
    // The run is the host's that took it.
    const [first] = project.read(`.ralph/runs/${runId}/events.jsonl`).split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ type: 'run-started', agent: host });
  },
);
