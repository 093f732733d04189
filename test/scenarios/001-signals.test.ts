import { describe, expect, test } from 'vitest';
import { fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { isThere } from '../rig/processes.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

/** Resolves when the process has gone, without waiting by the clock. */
async function gone(pid: number): Promise<void> {
  while (isThere(pid)) await new Promise(setImmediate);
}

function deferred<Value>() {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>(done => {
    resolve = done;
  });
  return { promise, resolve };
}

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', signal => {
  test('once: the agent may finish, nothing else is begun, exit code 130', {
    tags: ['promise', 'P-signals'],
  }, async () => {
    const project = repo();
    project.settings({ agent: { command: 'worker' }, guardrails: [{ command: 'touch guardrail-ran' }] });
    const finish = deferred<void>();
    const agent = await fakeAgent('worker', async turn => {
      await turn.print('working\n');
      await finish.promise;
      await turn.write('finished', 'yes');
      await turn.print('<response>DONE</response>\n');
      turn.exit();
    });
    const run = startRalph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    await run.until('working');
    run.process.kill(signal);
    await run.until('Received signal, shutting down...');
    finish.resolve();
    const { code, stdout } = await run.finished;
    expect(code).toBe(130);
    expect(project.read('finished')).toBe('yes');
    expect(() => project.read('guardrail-ran')).toThrow();
    expect(stdout).toContain('interrupted');
    expect(agent.calls.length).toBe(1);
  });

  test('twice: the whole tree is ended at once, exit code 130', {
    tags: ['promise', 'P-signals'],
  }, async () => {
    const project = repo();
    const pids = deferred<number[]>();
    const agent = await fakeAgent('worker', async turn => {
      for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) await turn.ignore(name);
      const child = await turn.background('sleep 1000', { detached: true });
      pids.resolve([turn.pid, child as number]);
      await turn.print('working\n');
    });
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    await run.until('working');
    run.process.kill(signal);
    await run.until('Received signal');
    run.process.kill(signal);
    const { code } = await run.finished;
    expect(code).toBe(130);
    expect((await pids.promise).filter(isThere)).toEqual([]);
  });
});

test('a signal while a guardrail runs lets it finish and begins nothing else', async () => {
  const project = repo();
  project.settings({
    agent: { command: 'worker' },
    guardrails: [
      { command: 'until [ -e go-on ]; do :; done; touch first-ended' },
      { command: 'touch second-ran' },
    ],
  });
  const agent = await fakeAgent('worker', says('<response>DONE</response>'));
  const run = startRalph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
  await run.until('Guardrail "until');
  run.process.kill('SIGTERM');
  await run.until('Received signal');
  project.write('go-on', '');
  expect((await run.finished).code).toBe(130);
  expect(project.read('first-ended')).toBe('');
  expect(() => project.read('second-ran')).toThrow();
});

test('when the terminal goes away, everything is ended', async () => {
  const project = repo();
  const pid = deferred<number>();
  const agent = await fakeAgent('worker', async turn => {
    await turn.ignore('SIGTERM');
    pid.resolve(turn.pid);
    await turn.print('working\n');
  });
  const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
  await run.until('working');
  run.process.kill('SIGHUP');
  expect((await run.finished).code).toBe(130);
  expect(isThere(await pid.promise)).toBe(false);
});

test('when Ralph itself is killed, nothing outlives it', { tags: ['promise', 'P-no-orphans'] }, async () => {
  const project = repo();
  const pids = deferred<number[]>();
  const agent = await fakeAgent('worker', async turn => {
    await turn.ignore('SIGTERM');
    const inGroup = await turn.background('sleep 1000');
    const fled = await turn.background('exec sleep 1000', { detached: true });
    const unmarked = await turn.background('exec env -i sleep 1000');
    pids.resolve([turn.pid, inGroup as number, fled as number, unmarked as number]);
    await turn.print('working\n');
  });
  const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
  await run.until('working');
  const all = await pids.promise;
  expect(all.filter(isThere)).toEqual(all);
  run.process.kill('SIGKILL');
  await run.finished;
  await Promise.all(all.map(gone));
});

test('an agent that leaves processes behind is tidied up after, and that is said', async () => {
  const project = repo();
  const pid = deferred<number>();
  const leaves: Handler = async turn => {
    pid.resolve((await turn.background('exec sleep 1000', { detached: true })) as number);
    await turn.print('<response>DONE</response>');
    turn.exit();
  };
  const agent = await fakeAgent('worker', leaves);
  const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  expect([code, isThere(await pid.promise)]).toEqual([0, false]);
  expect(stdout).toContain('The agent left 1 process(es) behind: ended.');
});
