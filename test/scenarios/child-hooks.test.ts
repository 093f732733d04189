/** The hooks of a run's agent: what they are told, what the run hears from them, and what a plugin does meanwhile. */
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { leaveNote } from '../../src/store/hook-notes.ts';
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
