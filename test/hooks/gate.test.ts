/** The shell script before the hook program: it leaves where nothing of Ralph's is on, and else it starts the program. */
import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder, type Repo, repo } from '../rig/repo.ts';

const GATE = join(import.meta.dirname, '../../plugins/claude/bin/gate.sh');
const EVENTS = ['Stop', 'PreToolUse', 'PostToolBatch', 'PostToolUse', 'SessionStart', 'UserPromptSubmit'];
const GEMINI_EVENTS = ['AfterAgent', 'BeforeTool', 'AfterTool'];

/** Those that are here; `sh` is one of them by another name. */
const SHELLS = [['dash'], ['bash'], ['busybox', 'sh']].filter(
  ([name = '', ...rest]) => spawnSync(name, [...rest, '-c', ':']).status === 0,
);

/** With a program in place of node that prints how it was called, and what it was given. */
function call(project: Repo, shell: readonly string[], event: string, input = '', env = {}) {
  const bin = folder('ralph gate ');
  bin.script('node', 'printf "%s|" "${*##*/}"\ncat');
  const [command = 'sh', ...rest] = shell;
  const path = `${bin.dir}${delimiter}${process.env.PATH}`;
  const { status, stdout, stderr } = spawnSync(command, [...rest, GATE, 'auto', event], {
    cwd: project.dir,
    env: { PATH: path, CLAUDE_PROJECT_DIR: project.dir, ...env },
    input,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

/** Node 16, as far as a program can tell. */
function makeOldNode(bin: Repo): void {
  bin.write('old.cjs', "Object.defineProperty(process.versions, 'node', { value: '16.20.2' });");
  bin.script('node', `exec '${process.execPath}' --require '${bin.path('old.cjs')}' "$@"`);
}

describe.each(SHELLS)('%s', (...shell) => {
  test.each([...EVENTS, ...GEMINI_EVENTS])('with no loop and no settings, %s starts nothing', event => {
    const { dir } = repo();
    // Whatever it would start, it would not find; and it reads nothing, or it would wait for ever.
    const { status, stdout, stderr } = spawnSync('/bin/sh', [GATE, 'auto', event], {
      cwd: dir,
      env: { PATH: '/nowhere', CLAUDE_PROJECT_DIR: dir },
      stdio: [0, 'pipe', 'pipe'],
      timeout: 60_000,
      encoding: 'utf8',
    });
    expect([status, stdout, stderr]).toEqual([0, '', '']);
  });

  test('with a loop the program gets the input as it is, whatever it holds', {
    tags: ['promise', 'P-session-input'],
  }, () => {
    const project = repo({ '.claude/ralph-loop.s2.local.md': 'x' });
    const input = '{"session_id":"s","x":"%s \\\\ \\u0000 \'\\""}';
    expect(call(project, shell, 'Stop', input)).toBe(`ralph-hook.cjs auto Stop|${input}`);
    for (const event of ['PreToolUse', 'SessionStart', 'UserPromptSubmit', 'BeforeTool', 'AfterAgent'])
      expect(call(project, shell, event, input)).toBe(`ralph-hook.cjs auto ${event}|${input}`);
    expect(call(repo({ '.ralph-active': '{}' }), shell, 'Stop', input)).toBe('');
  });

  test('after a tool only the context monitor needs the program, with a loop or without', () => {
    const loop = { '.claude/ralph-loop.local.md': 'x' };
    for (const event of ['PostToolBatch', 'PostToolUse', 'AfterTool']) {
      expect(call(repo(loop), shell, event)).toBe('');
      const guarded = repo({ ...loop, '.ralph/settings.json': '{"guard":{"enabled":true}}' });
      expect(call(guarded, shell, event)).toBe('');
      const watched = repo({ '.ralph/settings.local.json': '{"contextMonitor":{"enabled":true}}' });
      expect(call(watched, shell, event)).toBe(`ralph-hook.cjs auto ${event}|`);
    }
  });

  test('before a tool the guard needs it where the settings name it, without a loop', () => {
    const project = repo({ '.ralph/settings.json': '{"guard":{"enabled":true}}' });
    expect(call(project, shell, 'PreToolUse')).toBe('ralph-hook.cjs auto PreToolUse|');
    expect(call(project, shell, 'Stop')).toBe('');
  });

  test('a prompt is looked at where the host has no event for commands', () => {
    const asked = { PLUGIN_ROOT: '/p' };
    const input = '{"prompt":"$ralph-loop %s \\\\n Do it"}';
    expect(call(repo(), shell, 'UserPromptSubmit', input, asked)).toBe(
      `ralph-hook.cjs auto UserPromptSubmit|${input}`,
    );
    expect(call(repo(), shell, 'BeforeAgent', input)).toContain(input);
    expect(call(repo(), shell, 'UserPromptSubmit', input)).toBe('');
    expect(call(repo(), shell, 'UserPromptSubmit', '{"prompt":"Hello"}', asked)).toBe('');
  });

  test.each(['without node', 'with a node that is too old'])(
    '%s a command is answered, a loop of this session is guarded, and nobody else is held up',
    how => {
      const own = repo({ '.claude/ralph-loop.local.md': '---\nactive: true\nsession_id: "s1"\n---\nx' });
      const asleep = repo({ '.claude/ralph-loop.local.md': '---\nactive: false\nsession_id: "s1"\n---\nx' });
      const without = (project: Repo, event: string, input: object, more = {}) => {
        const [command = 'sh', ...rest] = shell;
        const bin = folder('ralph no node ');
        for (const name of ['cat', 'grep', command])
          symlinkSync(
            spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim(),
            bin.path(name),
          );
        if (how !== 'without node') makeOldNode(bin);
        const { status, stdout, stderr } = spawnSync(bin.path(command), [...rest, GATE, 'auto', event], {
          env: { PATH: bin.dir, CLAUDE_PROJECT_DIR: project.dir, ...more },
          input: JSON.stringify(input),
          encoding: 'utf8',
        });
        expect([status, stderr]).toEqual([0, '']);
        return stdout === '' ? undefined : JSON.parse(stdout);
      };
      const command = { session_id: 's2', prompt: '$ralph-loop x', command_name: 'ralph:ralph-loop' };
      expect(without(repo(), 'UserPromptExpansion', command)).toMatchObject({ decision: 'block' });
      const asked = { PLUGIN_ROOT: '/p' };
      expect(without(repo(), 'UserPromptSubmit', command, asked).reason).toContain('node');
      expect(without(own, 'UserPromptSubmit', command, asked)).toMatchObject({ decision: 'block' });
      expect(without(repo(), 'BeforeAgent', command)).toMatchObject({ decision: 'deny' });
      for (const event of [
        'PreToolUse',
        'BeforeTool',
        'Stop',
        'AfterAgent',
        'UserPromptSubmit',
        'SessionStart',
      ]) {
        expect(without(own, event, { session_id: 's2', prompt: 'Hello' })).toBeUndefined();
        expect(without(asleep, event, { session_id: 's1', prompt: 'Hello' })).toBeUndefined();
        expect(without(repo(), event, { session_id: 's1', prompt: 'Hello' })).toBeUndefined();
      }
      expect(JSON.stringify(without(own, 'PreToolUse', { session_id: 's1' }))).toContain('"deny"');
      expect(without(own, 'BeforeTool', { session_id: 's1' })).toMatchObject({ decision: 'deny' });
      expect(without(own, 'Stop', { session_id: 's1' })).toHaveProperty('systemMessage');
      const guarded = repo({ '.ralph/settings.json': '{"guard":{"enabled":true}}' });
      expect(JSON.stringify(without(guarded, 'PreToolUse', { session_id: 's1' }))).toContain('"deny"');
    },
  );

  test('in the agent of a run, the hooks that the run has given answer', () => {
    const project = repo({ '.claude/ralph-loop.local.md': 'x' });
    expect(call(project, shell, 'Stop', '', { RALPH_HOOKS: '{"given":true}' })).toBe('');
    expect(call(repo(), shell, 'Stop', 'in', { RALPH_HOOKS: '{"given":false}' })).toContain('|in');
  });
});
