/** The hooks of a run's agent: what they are told, what the run hears from them, and what a plugin does meanwhile. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { leaveNote } from '../../src/store/hook-notes.ts';
import { init, result, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { type FakeTurn, fakeAgent, says } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const GATE = join(import.meta.dirname, '../../plugins/claude/bin/gate.sh');
const orders = ({ env }: Pick<FakeTurn, 'env'>) => JSON.parse(env.RALPH_HOOKS ?? '{}');

async function loop(project: Repo, ...turns: readonly ((turn: FakeTurn) => unknown)[]) {
  const agent = await fakeAgent('plain', ...turns);
  const args = ['loop', 'Do it', '--check', 'true', '--agent', 'plain', '--max-iterations', '2', '--json'];
  const { stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
  return { agent, result: JSON.parse(stdout) };
}

test('the agent of a run has its orders in its environment: the run, and where it works', async () => {
  const project = repo();
  const { agent, result } = await loop(project, says('x'));
  expect(orders(agent.calls[0] ?? { env: {} })).toMatchObject({
    run: join(project.dir, '.ralph/runs', result.runId),
    root: project.dir,
  });
});

test('what a hook refused is in the ledger, in the result, and told in the next prompt; nothing else comes of its notes', async () => {
  const project = repo();
  const refused = { what: '`rm -rf /` (it deletes everything)', restored: true, refused: true } as const;
  const { agent, result } = await loop(
    project,
    async turn => {
      const notes = join(orders(turn).run, 'hook-notes.jsonl');
      leaveNote(notes, { type: 'violation', violation: refused });
      leaveNote(notes, { type: 'notice', level: 'warning', text: 'a warning of the guard' });
      appendFileSync(notes, '{"type":"run-ended","result":{"stopReason":"all_checks_passed"}}\ngarbage\n');
      await turn.print('working');
      turn.exit();
    },
    says('still'),
  );
  expect(result.stopReason).toBe('max_iterations');
  expect(result.iterations[0].violations).toEqual([refused.what]);
  expect(agent.calls[1]?.input).toContain(`You were refused: ${refused.what}`);
  const ledger = project.read(`.ralph/runs/${result.runId}/events.jsonl`);
  expect(ledger).toContain('a warning of the guard');
  expect(ledger.match(/"type":"violation"/g)).toHaveLength(1);
  expect(ledger.match(/"type":"run-ended"/g)).toHaveLength(1);
});

test('an installed plugin keeps still in the agent of a run: no loop begins there', async () => {
  const project = repo();
  const env = { RALPH_HOOKS: JSON.stringify({ run: project.dir, root: project.dir, given: true }) };
  const input = JSON.stringify({
    session_id: 's',
    cwd: project.dir,
    command_name: 'ralph:ralph-loop',
    command_args: 'Do it --completion-promise DONE',
  });
  const call = (more: Record<string, string>) =>
    ralph(['hook', 'claude', 'UserPromptExpansion'], { cwd: project.dir, env: more, input });
  expect((await call(env)).stdout).toBe('');
  const gate = spawnSync('sh', [GATE, 'auto', 'UserPromptSubmit'], {
    cwd: project.dir,
    input: '{"session_id":"s","prompt":"/ralph-loop x --completion-promise DONE","turn_id":"t"}',
    env: { ...process.env, ...env, PLUGIN_ROOT: '/p' },
    encoding: 'utf8',
  });
  expect([gate.status, gate.stdout]).toEqual([0, '']);
  expect((await call({})).stdout).toContain('This is a Ralph loop');
});

describe('an agent that can make requests', () => {
  interface Hook {
    readonly type: string;
    readonly url?: string;
    readonly onFailure?: string;
  }

  /** The hooks that a turn of Claude Code was given, by event. */
  function hooksOf({ argv }: Pick<FakeTurn, 'argv'>): Readonly<Record<string, Hook>> {
    const folder = argv[argv.indexOf('--plugin-dir') + 1] ?? '';
    const file = JSON.parse(readFileSync(join(folder, 'hooks/hooks.json'), 'utf8'));
    const hooks: Record<string, [{ hooks: [Hook] }]> = file.hooks;
    return Object.fromEntries(Object.entries(hooks).map(([event, [group]]) => [event, group.hooks[0]]));
  }

  const types = (hooks: Readonly<Record<string, Hook>>) =>
    Object.fromEntries(Object.entries(hooks).map(([event, { type }]) => [event, type]));

  const COMMANDS = { SessionStart: 'command', PreToolUse: 'command', PostToolBatch: 'command' };
  const REQUESTS = { SessionStart: 'command', PreToolUse: 'http', PostToolBatch: 'http' };
  const asks = (command: string) => ({
    session_id: 's',
    cwd: '',
    tool_name: 'Bash',
    tool_input: { command },
  });
  const post = (url = '', body: unknown = asks('rm -rf /')) =>
    fetch(url, { method: 'POST', body: JSON.stringify(body) });

  /** Turns that tell the version of the agent, and each what it was given. */
  async function turns(
    version: string | undefined,
    during: readonly ((turn: FakeTurn, hooks: Readonly<Record<string, Hook>>) => unknown)[],
    env: Readonly<Record<string, string>> = {},
  ) {
    const project = repo();
    project.settings({ contextMonitor: { enabled: true } });
    const given: Readonly<Record<string, Hook>>[] = [];
    const agent = await fakeAgent(
      'claude',
      ...during.map(act => async (turn: FakeTurn) => {
        const hooks = hooksOf(turn);
        given.push(hooks);
        await turn.line({ ...init, ...(version !== undefined && { claude_code_version: version }) });
        await act(turn, hooks);
        await turn.line(text('not yet'));
        await turn.line(result());
        turn.exit();
      }),
    );
    const args = [
      'loop',
      'Do it',
      '--check',
      'true',
      '--agent',
      'claude',
      '--max-iterations',
      String(during.length),
    ];
    const { stdout } = await ralph([...args, '--json'], { cwd: project.dir, path: [agent.bin], env });
    const { runId } = JSON.parse(stdout);
    return { given, ledger: project.read(`.ralph/runs/${runId}/events.jsonl`) };
  }

  const nothing = () => {};

  test('asks the run itself from its second turn on: the guard refuses, and the ledger has it', async () => {
    let url = '';
    const { given, ledger } = await turns('2.1.325', [
      nothing,
      async (_, { PreToolUse }) => {
        url = PreToolUse?.url ?? '';
        const refused = await post(url);
        expect(await refused.json()).toMatchObject({ hookSpecificOutput: { permissionDecision: 'deny' } });
        const passed = await post(url, asks('npm test'));
        expect([passed.status, await passed.text()]).toEqual([200, '']);
        expect((await post(url.replace(/\/[^/]+\/claude/, '/guessed/claude'))).status).toBe(404);
        expect((await fetch(url)).status).toBe(404);
      },
    ]);
    expect(given.map(types)).toEqual([COMMANDS, REQUESTS]);
    expect(given[1]?.PreToolUse).toMatchObject({ onFailure: 'block' });
    expect(ledger).toContain('"refused":true');
    // With the run the server is gone.
    await expect(post(url)).rejects.toThrow();
  });

  test.each<[string, string | undefined, Readonly<Record<string, string>>]>([
    ['is too old for it', '2.1.62', {}],
    ['does not tell its version', undefined, {}],
    ['would ask through a proxy', '2.1.325', { HTTPS_PROXY: 'http://127.0.0.1:9' }],
  ])('is given programs when it %s', async (_, version, env) => {
    expect((await turns(version, [nothing, nothing], env)).given.map(types)).toEqual([COMMANDS, COMMANDS]);
  });

  test('is given programs again when its requests do not arrive', async () => {
    const works = async (turn: FakeTurn) => {
      await turn.line(toolUse('t1', 'Bash', { command: 'ls' }));
      await turn.line(toolResult('t1', 'x'));
    };
    const { given, ledger } = await turns('2.1.325', [works, works, works]);
    expect(given.map(types)).toEqual([COMMANDS, REQUESTS, COMMANDS]);
    expect(ledger).toContain('claude did not reach the hooks of this run');
  });

  test('in a call that cannot be read the guard refuses, too', async () => {
    await turns('2.1.325', [
      nothing,
      async (_, { PreToolUse }) => {
        for (const body of ['nonsense', { tool_name: 'Bash' }]) {
          const answer = await post(PreToolUse?.url, body);
          expect(await answer.json()).toMatchObject({ hookSpecificOutput: { permissionDecision: 'deny' } });
        }
      },
    ]);
    expect.assertions(2);
  });
});
