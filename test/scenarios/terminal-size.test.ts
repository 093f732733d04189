/** Terminals without a size, and pipes. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>\n';

test('in a pipe no line is broken: a path can be found in it', async () => {
  const project = repo();
  const deep = `packages/${'a-folder-with-a-long-name/'.repeat(8)}`;
  mkdirSync(project.path(deep), { recursive: true });
  project.git('init', '--quiet', deep);
  const agent = await fakeAgent(
    'worker',
    says(`I changed ${'one word after the other '.repeat(20)}end.\n${DONE}`),
  );
  const cwd = project.path(deep);
  const { stdout, code } = await ralph(['run', '-p', 'go', '--agent', 'worker'], { cwd, path: [agent.bin] });
  expect(code).toBe(0);
  expect(stdout).toContain(` in ${cwd.replace(/\/$/, '')}\n`);
  expect(stdout).toContain(`I changed ${'one word after the other '.repeat(20)}end.\n`);
});

describe.skipIf(process.platform !== 'linux')('with 0 columns', () => {
  test.each(['status', 'doctor'])('ralph %s prints whole lines', async command => {
    const project = repo();
    const agent = await fakeAgent('worker', says(DONE));
    await ralph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const line = `stty cols 0 rows 0; '${process.execPath}' '${BIN}' ${command} --no-color`;
    const { stdout } = spawnSync('script', ['-qefc', line, '/dev/null'], {
      cwd: project.dir,
      env: testEnv({ path: [agent.bin] }),
      input: '',
      encoding: 'utf8',
    });
    const longest = Math.max(...stdout.split('\r\n').map(each => each.length));
    expect(longest).toBeGreaterThan(40);
  });
});
