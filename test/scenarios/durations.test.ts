/** Times are given as seconds or as people write them, wherever there is one: flags, settings files, YAML, the library. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defineAgent, runLoop } from '../../src/index.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { runsOf } from '../rig/ledger.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

async function configOf(settings: unknown, ...args: string[]) {
  const project = repo();
  project.settings(settings);
  project.write('loop.yaml', 'ralph_loop:\n  max_wait: 2h\n');
  const agent = await fakeAgent('worker', says('<promise>COMPLETE</promise><response>DONE</response>'));
  const { code, stderr } = await ralph([...args, '--agent', 'worker'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  if (code === 2) return stderr;
  return JSON.parse(readFileSync(project.path(`.ralph/runs/${runsOf(project)[0]}/run.json`), 'utf8')).config;
}

test('in flags and in a file', async () => {
  const settings = {
    idleTimeout: '1m30s',
    lingerTimeout: 5,
    guardrails: [{ command: 'true', timeout: '2500ms' }],
  };
  expect(
    await configOf(settings, 'run', '-p', 'go', '--max-time', '1h30m', '--iteration-timeout', '45'),
  ).toMatchObject({
    idleTimeout: 90,
    lingerTimeout: 5,
    guardrails: [{ command: 'true', timeout: 2.5 }],
    maxTime: 5_400,
    iterationTimeout: 45,
  });
});

test('in YAML', async () => {
  const told = await configOf(
    {},
    'loop',
    'go',
    '-c',
    'loop.yaml',
    '--check',
    'true',
    '--check-timeout',
    '2m',
  );
  expect(told).toMatchObject({ maxWait: 7_200, checkTimeout: 120 });
});

test('what is none is refused with what one looks like', async () => {
  const told = await configOf(
    { idleTimeout: 'soon' },
    'run',
    '-p',
    'go',
    '--max-time',
    '5x',
    '--max-wait',
    '-1',
  );
  for (const words of ['--max-time', '--max-wait', 'idleTimeout', '1h30m']) expect(told).toContain(words);
});

test('in the library', async () => {
  const project = repo();
  const agent = defineAgent('me', async () => ({ text: '<promise>COMPLETE</promise>', toolCalls: 1 }));
  const run = (maxTime: unknown) =>
    runLoop(
      { task: 'x', checks: ['true'], settings: { maxTime: maxTime as number } },
      { agent, cwd: project.dir },
    );
  await expect(run('soon')).rejects.toThrow(/1h30m/);
  expect((await run('1h30m')).stopReason).toBe('all_checks_passed');
});
