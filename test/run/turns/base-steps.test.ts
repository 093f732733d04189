/** What counts as done, how far a run may go, where it begins, and what a turn of work leaves on record. */
import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../../src/config/settings.ts';
import { isProblem } from '../../../src/domain/text/problem.ts';
import { deadlines } from '../../../src/run/turns/agent-turn.ts';
import { baseSteps, workTurn } from '../../../src/run/turns/base-steps.ts';
import type { AgentFunction } from '../../../src/run/turns/define-agent.ts';
import { DONE_RULES, limitsOf, standstillLimits, timeLeft } from '../../../src/run/turns/goal.ts';
import { createProver } from '../../../src/run/turns/prover.ts';
import { openOwnGit } from '../../../src/workspace/own-git.ts';
import { createTreeWatch } from '../../../src/workspace/tree-watch.ts';
import { repo, stateEnv } from '../../rig/repo.ts';
import { functionAgent, turnWorld, type WorldOptions } from './world.ts';

describe('what counts as done', () => {
  test('is said by the agent in `run`, and proven by checks and reviews in the others', () => {
    const of = (command: 'run' | 'loop' | 'prd') => DONE_RULES[command](defaultSettings(command));
    const rule = { kind: 'promise', text: 'COMPLETE', or: { kind: 'response', text: 'DONE' } };
    expect(of('run')).toMatchObject({ rule, success: 'promise_accepted', minToolCalls: 0 });
    expect(of('loop')).toMatchObject({ rule, success: 'all_checks_passed', minToolCalls: 1 });
    expect(of('prd')).toMatchObject({ rule, success: 'all_stories_approved' });
  });

  test('is the one text that the user has chosen, where there is one', () => {
    const own = { completionResponse: 'FERTIG', completionTag: 'READY' };
    const of = (command: 'run' | 'loop' | 'prd') =>
      DONE_RULES[command]({ ...defaultSettings(command), ...own });
    expect(of('run').rule).toEqual({ kind: 'response', text: 'FERTIG' });
    expect([of('loop').rule, of('prd').rule]).toEqual(Array(2).fill({ kind: 'promise', text: 'READY' }));
  });

  test('needs noticed faults only where that was asked for', () => {
    const settings = defaultSettings('loop');
    expect(DONE_RULES.loop(settings)).not.toHaveProperty('mutateMin');
    expect(DONE_RULES.loop({ ...settings, mutateMin: 80 })).toHaveProperty('mutateMin', 80);
  });
});

test('limits that nobody has set are not there', () => {
  const settings = defaultSettings('run');
  expect(Object.keys(limitsOf(settings)).sort()).toEqual(['maxFailures', 'maxIterations', 'stuckAfter']);
  expect(limitsOf({ ...settings, maxCost: 0, maxTokens: 1, maxTime: 2 })).toMatchObject({
    ...{ maxCost: 0, maxTokens: 1, maxTime: 2 },
  });
});

test('a refused permission is told at once, the rest after as many turns as the settings say', () => {
  const own = { unchangedAfter: 4, thrashingAfter: 5, costlyAfter: 6 };
  expect(standstillLimits({ ...defaultSettings('run'), ...own })).toEqual({
    ...{ refused: 1, 'no-change': 4, thrashing: 5, costly: 6 },
  });
});

describe('the time of a turn', () => {
  const settings = defaultSettings('run');
  test.each<[string, number, number | undefined, number, readonly string[]]>([
    ['none', 0, undefined, 10, []],
    ['its own', 60, undefined, 10, ['iteration-timeout 60000']],
    ['what is left of the run', 0, 100, 30, ['max-time 70000']],
    ['both', 60, 100, 30, ['iteration-timeout 60000', 'max-time 70000']],
    ['nothing is left', 0, 100, 130, ['max-time 0']],
  ])('%s', (_, iterationTimeout, maxTime, elapsed, ends) => {
    const limits = { ...settings, iterationTimeout, ...(maxTime !== undefined && { maxTime }) };
    expect(deadlines(limits, elapsed).map(({ by, after }) => `${by} ${after}`)).toEqual(ends);
  });

  test('of checks is what is left of the run, on its own clock', () => {
    const { parts, clock } = turnWorld({
      agents: [functionAgent('one', async () => undefined)],
      settings: { maxTime: 100 },
    });
    clock.pass(30_000);
    expect(timeLeft(parts).timeLeft?.()).toBe(70_000);
    expect(timeLeft({ ...parts, settings: defaultSettings('run') })).toEqual({});
  });
});

describe('a turn of work', () => {
  async function worked(run: AgentFunction, settings: WorldOptions['settings'] = {}) {
    const agent = functionAgent('one', run, { reports: { cost: 'step' } });
    const { parts, home } = turnWorld({ agents: [agent], settings });
    const ended = await workTurn(parts, { iteration: 2, prompt: 'Fix it\n', userChars: 6 });
    return { ended, home, parts };
  }

  test('has its prompt in the folder of the run, and where the user looks for it', async () => {
    const { parts, home } = await worked(async () => 'done');
    const own = (path: string) => home.read(path.slice(home.dir.length + 1));
    expect(own(parts.paths.iteration(2).prompt)).toBe('Fix it\n');
    expect(own(parts.project.prompt(2))).toBe('Fix it\n');
  });

  test('is ended when what its attempts have used together is more than there is', async () => {
    let attempt = 0;
    const { ended } = await worked(
      async ({ emit, signal }) => {
        emit({ kind: 'usage', scope: 'total', cost: 3 });
        if (attempt++ > 0) return signal.aborted ? 'ended' : 'not ended';
        emit({ kind: 'trouble', retrying: false, trouble: { class: 'empty-reply', message: 'nothing' } });
        throw new Error('nothing');
      },
      { maxCost: 5 },
    );
    expect(ended.outcome).toEqual({ kind: 'ended', by: 'max-cost' });
    expect(ended.usage.cost).toBe(6);
  });
});

describe('where a run begins', () => {
  test.each([
    ['as its first look found it', undefined],
    ['as its first checks left it', async () => {}],
  ])('is on record %s, with what the user has staged', async (_, begin) => {
    const work = repo({ a: 'a\n' });
    const { parts } = turnWorld({ agents: [functionAgent('one', async () => 'done')] });
    const place = { cwd: work.dir, env: stateEnv() };
    const own = await openOwnGit(place);
    if (isProblem(own)) throw new Error(own.what);
    const staged = ['100644 0123\ta'];
    const context = { ...parts, ...place, start: { own, staged } };
    const prover = createProver(context, { commands: [], checks: () => [] });
    const given = { tree: createTreeWatch(context), prover, userChars: () => 0, ...(begin && { begin }) };
    const { start } = await baseSteps(context, given).prepare();
    const [head, tree] = ['HEAD', 'HEAD^{tree}'].map(name => work.git('rev-parse', name).trim());
    expect(start).toMatchObject({ head, tree, staged });
  });
});
