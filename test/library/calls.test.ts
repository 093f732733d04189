/** The library as a program uses it: checks, conditions, callbacks, agents of its own, and runs that are there. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  allOf,
  anyOf,
  type CheckContext,
  checkFails,
  createLoop,
  createReport,
  defineAdapter,
  defineAgent,
  discardRun,
  iterationsReach,
  type LoopResult,
  landRun,
  listRuns,
  not,
  openRun,
  type RunOptions,
  readLedger,
  resumeRun,
  runLoop,
  runPrompt,
  runStories,
  type StopReason,
  type SuccessReason,
  simulate,
} from '../../src/index.ts';
import { recordOf } from '../rig/ledger.ts';
import { ralph } from '../rig/ralph.ts';
import { gitEnv, repo } from '../rig/repo.ts';
// What a call loads, before the time of the first test begins.
import '../../src/library/open.ts';

const env = gitEnv();
const COMPLETE = '<promise>COMPLETE</promise>';

/** Writes the number of its iteration into `made`, and claims to be done. */
const worker = defineAgent('worker', async ({ cwd, iteration }) => {
  writeFileSync(join(cwd, 'made'), String(iteration));
  return { text: COMPLETE, toolCalls: 1 };
});

function project() {
  const { dir, ...rest } = repo();
  return { dir, ...rest, options: { agent: worker, cwd: dir, env } satisfies RunOptions };
}

describe('a check that is a function', () => {
  test('decides, is told where and when, and its output reaches the next prompt', {
    tags: 'promise',
  }, async () => {
    const { options } = project();
    const seen: CheckContext[] = [];
    const prompts: string[] = [];
    const agent = defineAgent('reader', async turn => {
      prompts.push(turn.prompt);
      return worker.run(turn);
    });
    async function isSecond(context: CheckContext) {
      seen.push(context);
      const made = readFileSync(join(context.cwd, 'made'), 'utf8');
      return { passed: made === '2', output: `made is ${made}` };
    }
    const result = await runLoop({ task: 'x', checks: ['true', isSecond] }, { ...options, agent });
    expect([result.stopReason, result.iterations.length]).toEqual(['all_checks_passed', 2]);
    expect(result.iterations[0]?.checkResults.map(({ name, passed }) => [name, passed])).toEqual([
      ['true', true],
      ['isSecond()', false],
    ]);
    expect(seen.map(({ iteration, clean }) => [iteration, clean])).toEqual([
      [1, false],
      [2, false],
    ]);
    expect(prompts[1]).toContain('made is 1');
  });

  test.each([
    ['throws', () => Promise.reject(new Error('cannot look')), 'cannot look'],
    ['answers nothing', async () => undefined as never, 'answered nothing that has `passed: true`'],
    ['answers something like yes', async () => ({ passed: 'yes' }) as never, 'answered nothing'],
  ])('is red when it %s', async (_, check, words) => {
    const { options } = project();
    const result = await runLoop({ task: 'x', checks: [{ name: 'odd', check }], maxIterations: 1 }, options);
    expect(result.iterations[0]?.checkResults[0]).toMatchObject({ name: 'odd()', passed: false });
    expect(result.iterations[0]?.checkResults[0]?.output).toContain(words);
  });

  test('is red when its time is up, and hears of it', async () => {
    const { options } = project();
    let heard = false;
    const check = ({ signal }: CheckContext) => {
      signal.addEventListener('abort', () => {
        heard = true;
      });
      return new Promise<never>(() => {});
    };
    const checks = [{ name: 'slow', check, timeout: 0.05 }];
    const result = await runLoop({ task: 'x', checks, maxIterations: 1 }, options);
    expect(result.iterations[0]?.checkResults[0]).toMatchObject({ passed: false, exitCode: 124 });
    expect(heard).toBe(true);
  });

  test('runs in the clean checkout, too', async () => {
    const { options } = project();
    const places: [boolean, boolean][] = [];
    const check = ({ cwd, clean }: CheckContext) => {
      places.push([clean, cwd === options.cwd]);
      return { passed: true };
    };
    const checks = [{ name: 'here', check }];
    const result = await runLoop({ task: 'x', checks, settings: { proof: 'clean' } }, options);
    expect(result.proof.level).toBe('clean');
    expect(places).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  test.each([
    [
      { checks: [() => ({ passed: true }), { name: 'check 1', check: () => ({ passed: true }) }] },
      /two of them are called/,
    ],
    [
      { checks: [() => ({ passed: true })], settings: { mutate: true } },
      /mutate: faults are tried with commands/,
    ],
    [{ checks: [() => ({ passed: true })], settings: { bestOf: 2 } }, /a parallel run takes commands only/],
  ])('is refused where it would not be called (%#)', async (config, words) => {
    const { options } = project();
    await expect(runLoop({ task: 'x', ...config }, options)).rejects.toThrow(words);
  });
});

describe('what stops a run', () => {
  const never = { task: 'x', checks: ['false'], maxIterations: 5 };

  test('a condition, put together from others', async () => {
    const { options } = project();
    const stopWhen = anyOf(allOf(checkFails(2, 'false'), not(iterationsReach(4))), iterationsReach(5));
    const result = await runLoop(never, { ...options, stopWhen });
    expect([result.stopReason, result.detail, result.iterations.length]).toEqual([
      'cancelled',
      'stopWhen: false failed 2 times in a row and not a condition',
      2,
    ]);
  });

  test('not a condition that holds when the work is proven', async () => {
    const { options } = project();
    const result = await runLoop({ task: 'x', checks: ['true'] }, { ...options, stopWhen: () => true });
    expect(result.stopReason).toBe('all_checks_passed');
  });

  test('a signal, whose reason is the detail', async () => {
    const { options } = project();
    const stop = new AbortController();
    const onEvent = () => stop.abort(new Error('the user has left'));
    const result = await runLoop(never, { ...options, signal: stop.signal, onEvent });
    expect([result.stopReason, result.detail]).toEqual(['cancelled', 'the user has left']);
    const early = await runLoop(never, { ...options, signal: AbortSignal.abort('closed') });
    expect([early.stopReason, early.detail]).toEqual(['cancelled', 'closed']);
  });

  test('a signal that comes after the verdict: nothing is missing from the result', async () => {
    const { dir } = repo({ 'test/a.test.js': 'a\n' });
    const stop = new AbortController();
    const agent = defineAgent('weakens', async ({ cwd }) => {
      writeFileSync(join(cwd, 'test/a.test.js'), 'b\n');
      return { text: COMPLETE };
    });
    const onEvent: RunOptions['onEvent'] = ({ type }) => {
      if (type === 'iteration-ended') stop.abort();
    };
    const given = { agent, cwd: dir, env, signal: stop.signal, onEvent };
    const result = await runLoop({ task: 'x', checks: ['true'] }, given);
    expect(result).toMatchObject({ success: true, testsChanged: ['test/a.test.js'] });
  });

  test('a listener that throws: the run is over when the call rejects', async () => {
    const { options, dir } = project();
    const onIteration = () => {
      throw new Error('my own bug');
    };
    await expect(runLoop(never, { ...options, onIteration })).rejects.toThrow('my own bug');
    expect(await listRuns(dir, { env })).toMatchObject([{ state: 'stopped', stopReason: 'cancelled' }]);
  });

  test('the end of the block that uses it', async () => {
    const { options, dir } = project();
    const agent = defineAgent('sleeper', () => new Promise(() => {}));
    let running: Promise<LoopResult> | undefined;
    {
      await using loop = createLoop(never, { ...options, agent });
      running = loop.run();
      for await (const event of loop.events) if (event.type === 'agent-started') break;
    }
    expect(await listRuns(dir, { env })).toMatchObject([{ state: 'stopped' }]);
    expect((await running).detail).toBe('The loop was disposed of.');
  });
});

test('onIteration sees what the result holds, and onEvent what the ledger holds', async () => {
  const { options, dir } = project();
  const iterations: unknown[] = [];
  const types: string[] = [];
  const result = await runLoop(
    { task: 'x', checks: ['test "$(cat made)" = 2'] },
    { ...options, onIteration: each => iterations.push(each), onEvent: ({ type }) => types.push(type) },
  );
  expect(iterations).toEqual(result.iterations);
  const { lines, isIntact } = await readLedger(dir, result.runId, { env });
  expect([lines.map(({ type }) => type), isIntact]).toEqual([types, true]);
});

describe('agents', () => {
  test.each([
    [worker, /--max-cost: worker does not report what it costs/],
    [defineAdapter({ name: 'cat', read: () => [] }), /--max-cost: cat does not report what it costs/],
  ])('one that reports no cost is refused with maxCost (%#)', async (agent, words) => {
    const { options, dir } = project();
    const refused = runLoop({ task: 'x', checks: ['true'], maxCost: 1 }, { ...options, agent });
    await expect(refused).rejects.toThrow(words);
    expect(existsSync(join(dir, '.ralph'))).toBe(false);
  });

  test('a CLI of one’s own is called and read as it is defined', async () => {
    const { options, path } = project();
    const script = path('my-agent.sh');
    writeFileSync(script, '#!/bin/sh\ncat >made\necho "say $1"\necho "cost 0.25"\n', { mode: 0o755 });
    const agent = defineAdapter({
      name: 'mine',
      command: script,
      args: () => [COMPLETE],
      reports: { cost: 'turn' },
      read: line =>
        line.startsWith('cost ')
          ? [{ kind: 'usage', scope: 'total', cost: Number(line.slice(5)) }]
          : [{ kind: 'text', text: line }],
    });
    const result = await runLoop({ task: 'x', checks: ['true'], maxCost: 1 }, { ...options, agent });
    expect(result).toMatchObject({ success: true, totalCost: 0.25 });
    const missing = defineAdapter({ name: 'nowhere', install: 'brew install nowhere', read: () => [] });
    await expect(runLoop({ task: 'x', checks: ['true'] }, { ...options, agent: missing })).rejects.toThrow(
      'there is no such command (install it: brew install nowhere)',
    );
  });
});

describe('the other commands', () => {
  test('a prompt with guardrails of all kinds', async () => {
    const { options } = project();
    const prompts: string[] = [];
    const agent = defineAgent('answerer', async ({ prompt, iteration, cwd }) => {
      prompts.push(prompt);
      writeFileSync(join(cwd, 'made'), String(iteration));
      return '<response>DONE</response>';
    });
    const isThird = ({ iteration }: CheckContext) => ({ passed: iteration === 3, output: 'not yet' });
    const checks = ['true', { command: 'test "$(cat made)" != 1', hint: 'one is too few' }, isThird];
    const result = await runPrompt({ prompt: 'Count.', checks }, { ...options, agent });
    expect([result.stopReason, result.iterations.length]).toEqual(['promise_accepted', 3]);
    expect(prompts[1]).toContain('one is too few');
    await expect(runPrompt({}, options)).rejects.toThrow('one of the two is needed');
  });

  test('a list of stories', { tags: 'promise' }, async () => {
    const { options, dir, git } = project();
    mkdirSync(join(dir, 'ralph'));
    const story = { id: 'US-001', title: 'One', description: 'd', acceptanceCriteria: ['a'], priority: 1 };
    const state = { passes: false, reviewStatus: null, reviewCount: 0, reviewFeedback: '', notes: '' };
    const list = { project: 'p', branchName: '', description: 'd', verifyCommands: [] };
    const write = (more: object) =>
      writeFileSync(
        join(dir, 'ralph/tasks.json'),
        JSON.stringify({ ...list, userStories: [{ ...story, ...state, ...more }] }, null, 2),
      );
    write({});
    for (const name of ['prd.md', 'progress.txt', 'prompt.md'])
      writeFileSync(join(dir, 'ralph', name), 'x\n');
    git('add', '.');
    git('commit', '-qm', 'stories');
    const agent = defineAgent('builder', async () => {
      write({ passes: true });
      return `done ${COMPLETE}`;
    });
    const isFine = () => ({ passed: true });
    const result = await runStories(
      { checks: [isFine], maxIterations: 2, settings: { skipReview: true } },
      { ...options, agent },
    );
    expect(result).toMatchObject({ success: true, stopReason: 'all_stories_approved' });
    expect(result.iterations[0]?.checkResults).toMatchObject([{ name: 'isFine()', passed: true }]);
    await expect(runStories({ ralphDir: 'nowhere' }, options)).rejects.toThrow('nowhere');
  });

  test('a run is resumed with what the program gave it, and not without', async () => {
    const { options, dir } = project();
    const check = { name: 'second', check: ({ iteration }: CheckContext) => ({ passed: iteration === 2 }) };
    const first = await runLoop({ task: 'x', checks: [check], maxIterations: 1 }, options);
    expect(first.stopReason).toBe('max_iterations');
    const { code, stderr } = await ralph(['resume', '--max-iterations', '3'], { cwd: dir });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('a program that gave it the agent worker, the check second()'),
    ]);
    const again = { run: first.runId, maxIterations: 3, checks: [check] };
    const result = await resumeRun(again, options);
    expect([result.runId, result.stopReason, result.iterations.length]).toEqual([
      first.runId,
      'all_checks_passed',
      2,
    ]);
    await expect(resumeRun(again, options)).rejects.toThrow('it is done');
  });

  test('a run is found, read, reported and steered', async () => {
    const { options, dir } = project();
    const { runId } = await runLoop({ task: 'x', checks: ['true'] }, options);
    await using run = await openRun(dir, runId.slice(0, 12), { env });
    expect([run.id, run.overview().state, run.result()?.success]).toEqual([runId, 'done', true]);
    const followed = [];
    for await (const line of run.follow()) followed.push(line);
    expect(followed).toEqual(run.ledger().lines);
    expect(run.report('md')).toContain(runId);
    expect(await createReport(dir, { all: true, format: 'json', env })).toContain(runId);
    expect(await createReport(dir, { format: 'html', env })).toContain('<script');
    await expect(createReport(dir, { all: true, format: 'sarif', env })).rejects.toThrow('not available');
    expect(run.tell('hello')).toEqual({ done: false, message: `${runId} is not running.` });
    await expect(openRun(dir, 'nothing', { env })).rejects.toThrow('no such run');
  });

  test('a running run is told, followed and cancelled through its handle', async () => {
    const { options, dir } = project();
    const agent = defineAgent('sleeper', () => new Promise(() => {}));
    const loop = createLoop({ task: 'x', checks: ['true'] }, { ...options, agent });
    const running = loop.run();
    for await (const event of loop.events) if (event.type === 'agent-started') break;
    await using run = await openRun(dir, undefined, { env });
    const types: string[] = [];
    for await (const { type } of run.follow()) {
      types.push(type);
      if (type === 'agent-started') expect(run.cancel().done).toBe(true);
    }
    expect([types.at(-1), (await running).stopReason]).toEqual(['run-ended', 'cancelled']);
  });

  test('a ledger that was changed is read, and not believed', async () => {
    const { options, dir } = project();
    const { runId } = await runLoop({ task: 'x', checks: ['true'] }, options);
    const file = recordOf({ dir }, runId, env).events;
    const [first = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [first.replace('"run-started"', '"run-sabotaged"'), ...rest].join('\n'));
    const { lines, isIntact, trust } = await readLedger(dir, runId, { env });
    expect([isIntact, trust.kind]).toEqual([false, 'changed']);
    expect(lines[0]).toMatchObject({ type: 'unknown', raw: { type: 'run-sabotaged' } });
  });

  test('failures are simulated, without a model', async () => {
    const { dir, git } = project();
    writeFileSync(join(dir, 'code.js'), 'export const answer = 42;\n');
    git('add', '.');
    git('commit', '-qm', 'code');
    const found = await simulate({ checks: ['true'], failures: ['lie'] }, { cwd: dir, env });
    expect(found).toMatchObject({
      success: false,
      simulated: [{ trouble: 'lie', weakness: expect.stringContaining('code.js is empty') }],
    });
    await expect(simulate({ failures: ['lies'] }, { cwd: dir, env })).rejects.toThrow('did you mean lie?');
  });
});

test('a result is told apart by its success', () => {
  // Compiled, not run: each of these is an error of the compiler where the types do not say so.
  const use = (result: LoopResult) => {
    if (result.success) return result.stopReason satisfies SuccessReason;
    // @ts-expect-error a run that stopped has no reason of success
    result.stopReason satisfies SuccessReason;
    return result.stopReason satisfies Exclude<StopReason, SuccessReason>;
  };
  expect(use).toBeTypeOf('function');
  const settings: Parameters<typeof runLoop>[0]['settings'] = { scm: { tasks: ['commit'] }, notify: {} };
  // @ts-expect-error no such setting
  const wrong: Parameters<typeof runLoop>[0]['settings'] = { nonsense: 1 };
  expect([settings, wrong]).toHaveLength(2);
});

describe('the work of a run', () => {
  const inWorktree = { task: 'Make it', checks: ['test -f made'], worktree: 'login' };

  test('is landed as by `ralph land`, with its checks on the merged tree', async () => {
    const { dir, git, read, options } = project();
    const { runId } = await runLoop(inWorktree, options);
    expect(await landRun(dir, { env, dryRun: true })).toMatchObject({
      outcome: 'would_land',
      files: ['made'],
    });
    expect(await landRun(dir, { env, run: runId })).toMatchObject({
      ...{ runId, outcome: 'landed', branch: 'main', removed: ['ralph/login'], worktrees: ['ralph/login'] },
      checks: [{ command: 'test -f made', passed: true }],
    });
    expect([read('made'), git('branch', '--format=%(refname:short)')]).toEqual(['1', 'main\n']);
    expect(await landRun(dir, { env })).toMatchObject({ outcome: 'nothing' });
  });

  test('is thrown away as by `ralph discard`, with what brings it back', async () => {
    const { dir, options } = project();
    await runLoop(inWorktree, options);
    expect(await discardRun(dir, { env })).toMatchObject({
      ...{ outcome: 'discarded', removed: ['ralph/login'] },
      back: [expect.stringContaining('worktree add')],
    });
    expect(existsSync(join(dir, '.ralph/worktrees/login'))).toBe(false);
  });

  test('is refused to a program that an agent has started, and where there is none', async () => {
    const { dir, options } = project();
    await expect(landRun(dir, { env })).rejects.toThrow('there are no runs here');
    await runLoop(inWorktree, options);
    const inside = { env: { ...env, RALPH_OWNER_0123456789ab: 'x' } };
    await expect(landRun(dir, inside)).rejects.toThrow('only the user may steer runs');
    await expect(discardRun(dir, inside)).rejects.toThrow('only the user may steer runs');
  });
});
