/** Starting and resuming runs from a page: that is running code, and only the user's own page may. */
import { describe, expect, test } from 'vitest';
import { forkArguments, startArguments } from '../../src/dashboard/launch.ts';
import { EMPTY_ITERATION, EMPTY_VIEW } from '../../src/report/run-view.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { ledgerOf, only, runsOf } from '../rig/ledger.ts';
import { isThere } from '../rig/processes.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';
import { type Asked, ask, serve, TOKEN } from './serve.ts';

const LOOP = JSON.stringify({ kind: 'loop', text: 'Do it' });

const post = (port: number, body: string, over: Readonly<Record<string, string>> = {}): Asked => ({
  method: 'POST',
  headers: { origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json', ...over },
  body,
});

/** A dashboard that writes down what it would start. */
async function house() {
  const { dir } = folder();
  const run = writeRun(dir, { iterations: 2, ends: 'max_iterations' });
  const launched: (readonly string[])[] = [];
  const { port } = await serve([dir], 0, {
    launch: async (root, args) => {
      launched.push([root, ...args]);
      return { done: true, runId: 'a-run', message: 'sk-secret-0123 has begun.' };
    },
  });
  return { dir, run, launched, port };
}

const OFFERS = { agents: ['claude', 'fast'] };

describe('what a page may start', () => {
  test.each<[unknown, readonly string[] | undefined]>([
    [{ kind: 'loop', text: 'Do it' }, ['loop', '--', 'Do it']],
    [{ kind: 'loop', text: '--check=evil', worktree: true }, ['loop', '--worktree', '--', '--check=evil']],
    [{ kind: 'loop', text: 'x', worktree: '--check=evil' }, ['loop', '--', 'x']],
    [{ kind: 'run', text: '--agent evil' }, ['run', '--prompt=--agent evil']],
    [{ kind: 'prd', text: 'ignored', check: 'evil' }, ['prd', 'run']],
    [
      { kind: 'loop', text: 'x', agent: 'fast', checks: ['npm test', '--agent=evil'], maxIterations: 3 },
      ['loop', '--agent=fast', '--check=npm test', '--check=--agent=evil', '--max-iterations=3', '--', 'x'],
    ],
    [{ kind: 'run', text: 'x', checks: ['true'] }, ['run', '--prompt=x', '--check=true']],
    [
      { kind: 'prd', agent: 'claude', maxIterations: 9 },
      ['prd', 'run', '--agent=claude', '--max-iterations=9'],
    ],
    // An agent that was not offered would be a command of the page.
    [{ kind: 'loop', text: 'x', agent: 'evil' }, undefined],
    [{ kind: 'loop', text: 'x', agent: ['fast'] }, undefined],
    [{ kind: 'loop', text: 'x', checks: 'true' }, undefined],
    [{ kind: 'loop', text: 'x', checks: ['a\nb'] }, undefined],
    [{ kind: 'loop', text: 'x', checks: [' '] }, undefined],
    [{ kind: 'loop', text: 'x', checks: Array.from({ length: 21 }, () => 'true') }, undefined],
    [{ kind: 'loop', text: 'x', maxIterations: '1 --agent=evil' }, undefined],
    [{ kind: 'loop', text: 'x', maxIterations: 0 }, undefined],
    [{ kind: 'simulate', text: 'x' }, undefined],
    [{ kind: 'loop', text: ' ' }, undefined],
    [{ kind: 'loop', text: 'a\0b' }, undefined],
    [{ kind: 'loop', text: ['x'] }, undefined],
    ['loop', undefined],
  ])('%j', (asked, args) => {
    expect(startArguments(JSON.stringify(asked), OFFERS)).toEqual(args);
  });

  test('no more than an argument can hold', () => {
    expect(
      startArguments(JSON.stringify({ kind: 'loop', text: 'x'.repeat(30_001) }), OFFERS),
    ).toBeUndefined();
  });
});

describe('who may', () => {
  test.each<[string, number, (port: number) => Asked, string]>([
    ['the page', 200, port => post(port, LOOP), '/api/0/start'],
    ['another page', 403, port => post(port, LOOP, { origin: 'http://evil.example' }), '/api/0/start'],
    [
      'another port',
      403,
      port => post(port, LOOP, { origin: `http://127.0.0.1:${port + 1}` }),
      '/api/0/start',
    ],
    ['under another name', 403, port => post(port, LOOP, { host: `evil.example:${port}` }), '/api/0/start'],
    ['a form', 415, port => post(port, LOOP, { 'content-type': 'text/plain' }), '/api/0/start'],
    ['without the token', 401, port => post(port, LOOP, { 'x-ralph-token': '' }), '/api/0/start'],
    [
      'the token in the address',
      401,
      port => post(port, LOOP, { 'x-ralph-token': '' }),
      `/api/0/start?token=${TOKEN}`,
    ],
    ['no such project', 404, port => post(port, LOOP), '/api/1/start'],
    ['nothing to start', 400, port => post(port, '{}'), '/api/0/start'],
  ])('%s gets %i', async (_, status, asked, path) => {
    const { port, launched, dir } = await house();
    const { status: got, body } = await ask(port, path, asked(port));
    expect(got).toBe(status);
    expect(launched).toEqual(status === 200 ? [[dir, 'loop', '--', 'Do it']] : []);
    if (status === 200)
      expect(JSON.parse(body)).toMatchObject({ runId: 'a-run', message: '[redacted] has begun.' });
  });

  test('an address alone starts nothing, whatever it names', async () => {
    const { port, launched } = await house();
    const query = '?kind=loop&text=x&checks=evil&agent=evil';
    const { status, body } = await ask(port, `/api/0/start${query}`);
    expect([status, JSON.parse(body).checks, launched]).toEqual([200, [], []]);
    const named = await ask(port, `/api/0/start${query}`, post(port, LOOP));
    expect([named.status, launched.map(args => args.slice(1))]).toEqual([200, [['loop', '--', 'Do it']]]);
  });

  test('what cannot be resumed is not', async () => {
    const { port, launched, run } = await house();
    expect((await ask(port, `/api/0/${run.id}/resume`, post(port, '{}'))).status).toBe(400);
    expect(launched).toEqual([]);
  });

  test('a run is forked at an iteration that it has, and at no other', async () => {
    const { port, launched, run } = await house();
    const view = {
      ...EMPTY_VIEW,
      runId: 'r',
      command: 'loop',
      iterations: [{ ...EMPTY_ITERATION, number: 2 }],
    } as const;
    expect(forkArguments(view, '{"at":2}')).toEqual(['fork', 'r', '--at', '2']);
    for (const body of [undefined, '', '{}', '{"at":"2"}', '{"at":3}', '{"at":"2 --agent evil"}'])
      expect(forkArguments(view, body)).toBeUndefined();
    expect(forkArguments({ ...view, command: 'prd' }, '{"at":2}')).toBeUndefined();
    expect(forkArguments({ ...view, runId: 'r.T1' }, '{"at":2}')).toBeUndefined();
    expect((await ask(port, `/api/0/${run.id}/fork`, post(port, '{"at":99}'))).status).toBe(400);
    expect(launched).toEqual([]);
  });

  test('a server that starts nothing says so', async () => {
    const { dir } = folder();
    const { port } = await serve([dir]);
    const { status, body } = await ask(port, '/api/0/start', post(port, LOOP));
    expect([status, body]).toEqual([403, expect.stringContaining('loopback address only')]);
  });
});

describe('the real command', () => {
  async function dashboard(dir: string, path: readonly string[]) {
    const running = startRalph(['dashboard', '--json'], {
      cwd: dir,
      path,
      env: { RALPH_DASHBOARD_TOKEN: TOKEN },
    });
    let printed = '';
    running.process.stdout?.on('data', chunk => {
      printed += chunk;
    });
    await running.until(TOKEN);
    return { running, port: Number(new URL(JSON.parse(printed).url).port) };
  }

  test('a run outlives the dashboard that started it, and its agent does not get the token', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    project.settings({ agent: 'worker', checks: ['test -e done'] });
    const { open: begin, opened: begun } = createGate();
    const { open: finish, opened: mayFinish } = createGate();
    const agent = await fakeAgent('worker', async turn => {
      begin();
      await mayFinish;
      await turn.write('done', '');
      await turn.print('<promise>COMPLETE</promise>\n');
      turn.exit();
    });
    const { running, port } = await dashboard(project.dir, [agent.bin]);
    const body = JSON.stringify({ kind: 'loop', text: '--check "touch evil" <b>it</b>' });
    const { body: told } = await ask(port, '/api/0/start', post(port, body));
    const { runId, done } = JSON.parse(told);
    expect([done, runsOf(project)]).toEqual([true, [runId]]);
    await begun;
    const again = JSON.parse((await ask(port, '/api/0/start', post(port, LOOP))).body);
    expect(again).toMatchObject({ done: false, message: expect.stringContaining(runId) });
    running.process.kill('SIGKILL');
    await running.finished;
    finish();
    const ended = () => only(ledgerOf(project), 'run-ended')[0]?.result.stopReason;
    await expect.poll(ended).toBe('all_checks_passed');
    expect(agent.calls[0]?.input).toContain('--check "touch evil" <b>it</b>');
    expect(Object.values(agent.calls[0]?.env ?? {})).not.toContain(TOKEN);
    expect(isThere(agent.calls[0]?.pid ?? 0)).toBe(false);
  });

  test('the form begins with the settings, and what is chosen in it counts', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    project.settings({
      agent: 'worker',
      agents: { fast: { command: 'worker' } },
      guardrails: [{ command: 'true' }],
      maximumIterations: 7,
    });
    const agent = await fakeAgent('worker', says('half\n'));
    const { port } = await dashboard(project.dir, [agent.bin]);
    const offers = JSON.parse((await ask(port, '/api/0/start')).body);
    expect(offers).toMatchObject({ agent: 'worker', checks: ['true'], maxIterations: { loop: 7, run: 7 } });
    expect(offers.agents).toEqual(expect.arrayContaining(['worker', 'fast']));
    const chosen = { agent: 'fast', checks: ['test -e never'], maxIterations: 1 };
    const body = JSON.stringify({ kind: 'loop', text: 'go', ...chosen });
    const { runId } = JSON.parse((await ask(port, '/api/0/start', post(port, body))).body);
    const ended = () => only(ledgerOf(project, runId), 'run-ended')[0]?.result.stopReason;
    await expect.poll(ended, { timeout: 60_000 }).toBe('max_iterations');
    expect(only(ledgerOf(project, runId), 'run-started')).toMatchObject([
      { agent: 'fast', checks: ['true', 'test -e never'], maxIterations: 1 },
    ]);
  });

  test('what stops a run from beginning is said, and one that had stopped is resumed', async () => {
    const project = repo();
    const settings = { agent: 'worker', maximumIterations: 1 };
    project.settings(settings);
    const agent = await fakeAgent('worker', says('half\n'), async turn => {
      await turn.write('done', '');
      await turn.print('<response>DONE</response>\n');
      turn.exit();
    });
    const { port } = await dashboard(project.dir, [agent.bin]);
    const start = async (path: string, body: unknown) =>
      JSON.parse((await ask(port, path, post(port, JSON.stringify(body)))).body);
    const refused = await start('/api/0/start', { kind: 'loop', text: 'x' });
    expect(refused).toMatchObject({
      done: false,
      message: expect.stringContaining('at least one is needed'),
    });
    project.settings({ ...settings, guardrails: [{ command: 'test -e done' }] });
    const { runId } = await start('/api/0/start', { kind: 'run', text: 'go' });
    const endings = () => only(ledgerOf(project, runId), 'run-ended').map(({ result }) => result.stopReason);
    await expect.poll(endings).toHaveLength(1);
    expect(await start(`/api/0/${runId}/resume`, { flags: ['--agent', 'evil'] })).toMatchObject({
      done: true,
      runId,
    });
    await expect.poll(endings).toEqual(['max_iterations', 'promise_accepted']);
  });

  test('a run that has ended is forked at one of its iterations', async () => {
    const project = repo();
    project.settings({ agent: 'worker', maximumIterations: 1, checks: ['test -e never'] });
    const agent = await fakeAgent('worker', async turn => {
      await turn.write('work.txt', 'done\n');
      turn.exit();
    });
    const { port } = await dashboard(project.dir, [agent.bin]);
    const start = async (path: string, body: unknown) =>
      JSON.parse((await ask(port, path, post(port, JSON.stringify(body)))).body);
    const { runId } = await start('/api/0/start', { kind: 'loop', text: 'go' });
    const ends = (id: string) => only(ledgerOf(project, id), 'run-ended').length;
    await expect.poll(() => ends(runId), { timeout: 60_000 }).toBe(1);
    const forked = await start(`/api/0/${runId}/fork`, { at: 1 });
    expect(forked).toMatchObject({ done: true });
    expect(only(ledgerOf(project, forked.runId), 'run-started')).toMatchObject([
      { forkOf: { run: runId, iteration: 1 } },
    ]);
    await expect.poll(() => ends(forked.runId), { timeout: 60_000 }).toBe(1);
  });
});
