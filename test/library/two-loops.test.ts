/** Several loops in one process: each is a run of its own, steered and kept by itself. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLoop, defineAgent, type LoopEvent, runLoop } from '../../src/index.ts';
import { createGate } from '../rig/gate.ts';
import { ralph } from '../rig/ralph.ts';
import { gitEnv, repo } from '../rig/repo.ts';

const env = gitEnv();
const done = { text: '<promise>COMPLETE</promise>', toolCalls: 1 };

/** A loop whose agent works until somebody opens the gate. */
function heldLoop(dir: string) {
  const { open, opened: gate } = createGate();
  const agent = defineAgent('held', async ({ cwd, signal }) => {
    await Promise.race([
      gate,
      new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())),
    ]);
    writeFileSync(join(cwd, 'made'), '');
    return done;
  });
  const loop = createLoop({ task: 'x', checks: ['test -e made'] }, { agent, cwd: dir, env });
  const events: LoopEvent[] = [];
  const started = (async () => {
    for await (const event of loop.events) {
      events.push(event);
      if (event.type === 'agent-started') return event.run;
    }
    throw new Error('it ended before its agent started');
  })();
  return { open, started, result: loop.run() };
}

test('`ralph cancel ID` ends one of two loops of a process, and the other ends as done', async () => {
  const { dir } = repo();
  const [one, other] = [heldLoop(dir), heldLoop(dir)];
  const [id] = await Promise.all([one.started, other.started]);
  const { code, stdout } = await ralph(['cancel', id], { cwd: dir });
  expect([code, stdout]).toEqual([0, `${id} stops now. Its work is kept.\n`]);
  expect(await one.result).toMatchObject({ runId: id, stopReason: 'cancelled' });
  const { stdout: status } = await ralph(['status', '--json'], { cwd: dir });
  const states = JSON.parse(status).runs.map((run: { id: string; state: string }) => [
    run.id === id,
    run.state,
  ]);
  expect(states.sort()).toEqual([
    [false, 'running'],
    [true, 'stopped'],
  ]);
  other.open();
  expect(await other.result).toMatchObject({ success: true, stopReason: 'all_checks_passed' });
});

test('a loop keeps its run as the command line does: no secrets, no lease once it is over', async () => {
  const { dir } = repo();
  const agent = defineAgent('worker', async ({ cwd }) => {
    writeFileSync(join(cwd, 'made'), '');
    return done;
  });
  const settings = {
    agents: { mine: { command: 'mine', flags: ['--api-key', 'sk-secret-1'] } },
    notify: { webhook: 'https://hooks.example/T0/sk-secret-2', on: [] },
  };
  const result = await runLoop({ task: 'x', checks: ['true'], settings }, { agent, cwd: dir, env });
  const folder = join(dir, '.ralph/runs', result.runId);
  expect(readFileSync(join(folder, 'run.json'), 'utf8')).not.toContain('sk-secret');
  const lines = readFileSync(join(folder, 'events.jsonl'), 'utf8').trim().split('\n');
  const carried = lines.map(line => JSON.parse(line)).map(({ run, iteration }) => [run, typeof iteration]);
  expect(new Set(carried.map(String))).toEqual(new Set([`${result.runId},number`]));
});
