/** An in-session loop on the dashboard: live, like any run. */
import { expect, test } from 'vitest';
import { openProjects } from '../../src/dashboard/projects.ts';
import { runHook } from '../../src/hooks/main.ts';
import { repo } from '../rig/repo.ts';
import { ask, listen, serve } from './serve.ts';

test('a loop of a session is listed as running, its page follows every hook, and its end is its end', async () => {
  const project = repo();
  const hook = (event: string, more: object) =>
    runHook('claude', event, JSON.stringify({ session_id: 's', prompt_id: 'p', cwd: project.dir, ...more }), {
      ...process.env,
      CLAUDE_PROJECT_DIR: project.dir,
    });
  const args = 'Fix it --completion-promise DONE --min-tool-calls 0 --check true';
  await hook('UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: args });
  const { port } = await serve([project.dir]);
  const projects = openProjects([project.dir], process.env);
  const list = async () => (await projects.list())[0]?.runs ?? [];
  const [run] = await list();
  expect(run).toMatchObject({ command: 'session', agent: 'claude', state: 'running', iteration: 1 });
  const reading = async () => JSON.parse((await ask(port, `/api/0/${run?.id}`)).body);
  expect(await reading()).toMatchObject({
    state: 'running',
    view: { phase: 'agent', iterations: [{ number: 1 }] },
  });
  const stream = listen(port, `/api/0/${run?.id}/events`);
  await stream.until(3);
  await hook('Stop', { last_assistant_message: 'not yet' });
  await stream.until(9);
  expect(stream.told.at(-1)?.entry).toMatchObject({ type: 'agent-started' });
  expect((await reading()).view.iterations).toMatchObject([{ number: 1, toolCalls: 0 }, { number: 2 }]);
  await hook('UserPromptSubmit', { prompt: 'What time is it?', prompt_id: 'p2' });
  expect(await list()).toMatchObject([{ state: 'running', now: 'paused' }]);
  await hook('UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: '', prompt_id: 'p3' });
  await hook('Stop', { last_assistant_message: '<promise>DONE</promise>', prompt_id: 'p3' });
  expect(await reading()).toMatchObject({
    state: 'done',
    view: { ending: { stopReason: 'promise_accepted' } },
  });
  expect((await reading()).view.iterations.at(-1).checks).toMatchObject([{ command: 'true', passed: true }]);
});
