/** When an iteration is tried again, by whom, after how long, and what of it is counted. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { RunEvent } from '../../../src/domain/run/event.ts';
import type { AgentEvent } from '../../../src/domain/turn/agent-event.ts';
import type { TroubleClass } from '../../../src/domain/turn/trouble.ts';
import { createAccounts } from '../../../src/parallel/accounts.ts';
import { createBudget } from '../../../src/parallel/budget.ts';
import { oneTurn } from '../../../src/run/turns/agent-turn.ts';
import { takeAttempts } from '../../../src/run/turns/attempts.ts';
import type { ChosenAgent } from '../../../src/run/turns/choose-agent.ts';
import type { RunContext } from '../../../src/run/turns/context.ts';
import { functionAgent, MINUTE, NOW, turnWorld, type WorldOptions } from './world.ts';

/** Whatever waits has its time at once, by the only clock there is here. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: NOW });
  vi.setTimerTickMode('nextTimerAsync');
});
afterEach(() => void vi.useRealTimers());
const clock = { now: () => Date.now(), ticks: () => Date.now() - NOW, pass() {} };

/** One turn of a script: a reply, or what goes wrong with it, and what it does before. */
interface Step {
  readonly fails?: TroubleClass;
  readonly resetAt?: number;
  readonly before?: readonly AgentEvent[];
  readonly cost?: number;
  readonly does?: () => void;
}

/** Far enough for a wait, and near enough to be looked at every second. */
const SOON = 90_000;

const TOOL: AgentEvent = { kind: 'tool-start', id: 't', name: 'Bash', summary: 'ls' };

/** The last step again, when there are no more. */
function scripted(name: string, ...steps: readonly Step[]): ChosenAgent {
  let at = 0;
  return functionAgent(
    name,
    async ({ emit }) => {
      const step = steps[Math.min(at++, steps.length - 1)] ?? {};
      const { fails, resetAt, before = [], cost, does } = step;
      for (const event of before) emit(event);
      does?.();
      if (fails === undefined) return { text: `${name} is done`, ...(cost !== undefined && { cost }) };
      if (cost !== undefined) emit({ kind: 'usage', scope: 'total', cost });
      emit({
        kind: 'trouble',
        retrying: false,
        trouble: { class: fails, message: `${fails}!`, ...(resetAt !== undefined && { resetAt }) },
      });
      throw new Error(fails);
    },
    { reports: { cost: 'turn' } },
  );
}

async function attempt(options: Omit<WorldOptions, 'clock'>, more: Partial<RunContext> = {}) {
  const { parts, events } = turnWorld({ ...options, clock });
  const numbers: number[] = [];
  const ended = await takeAttempts({ ...parts, ...more }, 1, ({ number, world }) => {
    numbers.push(number);
    return oneTurn(world, {
      ...{ purpose: 'work', iteration: 1, prompt: 'Fix it', mode: 'stream', deadlines: [] },
      rule: { kind: 'promise', text: 'DONE' },
      rawFile: parts.paths.iteration(1).agent,
      errorFile: parts.paths.iteration(1).agentErrors,
      overBudget: () => undefined,
    });
  });
  const who = events.flatMap(event => (event.type === 'agent-started' ? [event.adapter] : []));
  return { ended, events, who, numbers, waits: waitsIn(events) };
}

/** How long each wait was meant to be. */
function waitsIn(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap(event =>
    event.type === 'waiting' ? [`${event.agent} ${event.trouble.class} until ${event.until - NOW}`] : [],
  );
}

describe('the response to trouble', () => {
  test.each<[TroubleClass, number]>([
    ['auth', 1],
    ['config', 1],
    ['crash', 1],
    ['hang', 1],
    ['context-overflow', 1],
    ['permission-denied', 1],
    ['quota', 1], // nobody knows when it ends
    ['transient', 3],
    ['empty-reply', 3],
  ])('%s is tried %i times with two retries', async (fails, times) => {
    const { ended, numbers } = await attempt({
      agents: [scripted('one', { fails })],
      settings: { maxRetries: 2 },
    });
    expect(numbers).toEqual([1, 2, 3].slice(0, times));
    expect(ended.outcome).toMatchObject({ kind: 'failed', trouble: { class: fails } });
    if (times > 1) expect(ended.outcome).toHaveProperty('why', 'it was tried 3 times');
  });

  test('trouble that passes leaves no trace in the outcome', async () => {
    const { ended, waits } = await attempt({
      agents: [scripted('one', { fails: 'transient' }, { fails: 'transient' }, {})],
    });
    expect(ended.outcome).toEqual({ kind: 'completed' });
    expect(waits).toEqual(['one transient until 2000', 'one transient until 6000']);
  });

  test('one class of trouble does not use up the tries of another', async () => {
    const { ended, numbers } = await attempt({
      agents: [scripted('one', { fails: 'transient' }, { fails: 'empty-reply' }, { fails: 'transient' })],
      settings: { maxRetries: 1 },
    });
    expect(numbers).toEqual([1, 2, 3]);
    expect(ended.outcome).toMatchObject({ trouble: { class: 'transient' }, why: 'it was tried 2 times' });
  });

  test('what would be waited for past --max-time is not waited for', async () => {
    const { ended, waits } = await attempt({
      agents: [scripted('one', { fails: 'transient' })],
      settings: { maxTime: 1 },
    });
    expect(waits).toEqual([]);
    expect(ended.outcome).toHaveProperty('why', 'the time is up');
  });
});

describe('a limit', () => {
  test('is waited for until the moment that the agent states', async () => {
    const { ended, waits } = await attempt({
      agents: [scripted('one', { fails: 'rate-limit', resetAt: NOW + SOON }, {})],
    });
    expect(ended.outcome.kind).toBe('completed');
    expect(waits).toEqual([`one rate-limit until ${SOON}`]);
    expect(Date.now()).toBe(NOW + SOON);
  });

  test('of which no end is known is waited for twice as long each time', async () => {
    const { waits } = await attempt({
      agents: [scripted('one', { fails: 'rate-limit' }, { fails: 'rate-limit' }, {})],
    });
    expect(waits).toEqual([`one rate-limit until ${MINUTE}`, `one rate-limit until ${3 * MINUTE}`]);
  });

  test('is not waited for longer than --max-wait, all waits together', async () => {
    const { ended, waits } = await attempt({
      agents: [scripted('one', { fails: 'rate-limit' })],
      settings: { maxWait: 250 },
    });
    expect(waits).toHaveLength(2); // 60 s and 120 s; with 240 s more it would be too long
    expect(ended.outcome).toHaveProperty('why', '3 min of waiting did not help, and --max-wait is 4 min');
    expect(ended.idle).toBe(true);
  });

  test('after work is a new one: the waits before it no longer count', async () => {
    const worked = { fails: 'rate-limit', before: [TOOL] } as const;
    const { waits } = await attempt({
      agents: [scripted('one', worked, worked, worked, {})],
      settings: { maxWait: 100 },
    });
    expect(waits).toEqual([1, 2, 3].map(times => `one rate-limit until ${times * MINUTE}`));
  });

  test('makes the next agent take over at once', async () => {
    const limited = { fails: 'rate-limit', resetAt: NOW + SOON } as const;
    const { who, events, waits } = await attempt({ agents: [scripted('one', limited), scripted('two', {})] });
    expect(who).toEqual(['one', 'two']);
    expect(waits).toEqual([]);
    expect(events).toContainEqual({
      ...{ type: 'agent-switched', from: 'one', to: 'two', why: 'limited', until: NOW + SOON },
    });
  });

  test('that nobody knows the end of makes the next one take over, and no end is on record', async () => {
    const { who, events } = await attempt({
      agents: [scripted('one', { fails: 'quota' }), scripted('two', {})],
    });
    expect(who).toEqual(['one', 'two']);
    expect(events.find(({ type }) => type === 'agent-switched')).not.toHaveProperty('until');
  });

  test('of all agents is waited for until the first of them is free', async () => {
    const one = scripted('one', { fails: 'rate-limit', resetAt: NOW + 2 * SOON }, {});
    const two = scripted('two', { fails: 'rate-limit', resetAt: NOW + SOON }, {});
    const { who, waits } = await attempt({ agents: [one, two] });
    expect(waits).toEqual([`two rate-limit until ${SOON}`]);
    expect(who).toEqual(['one', 'two', 'two']);
  });

  test('that is over brings the preferred agent back', async () => {
    const one = scripted('one', { fails: 'rate-limit', resetAt: NOW + 1_500 }, {});
    const two = scripted('two', { fails: 'transient' });
    const { who, events } = await attempt({ agents: [one, two] });
    expect(who).toEqual(['one', 'two', 'one']);
    expect(events).toContainEqual({ type: 'agent-switched', from: 'two', to: 'one', why: 'free-again' });
  });
});

describe('what is counted', () => {
  test('the costs and tool calls of all attempts, also of those that failed', async () => {
    const { ended } = await attempt({
      agents: [scripted('one', { fails: 'transient', cost: 2, before: [TOOL] }, { cost: 3, before: [TOOL] })],
    });
    expect(ended.usage).toMatchObject({ cost: 5 });
    expect(ended.toolCalls).toBe(2);
    expect(ended).not.toHaveProperty('idle');
  });

  test('an attempt that did nothing and told nothing cost nothing', async () => {
    const { ended } = await attempt({ agents: [scripted('one', { fails: 'transient' }, { cost: 3 })] });
    expect(ended.usage).toEqual({ cost: 3, costSource: 'agent' });
  });

  test('no tool calls, where one of the agents does not tell them', async () => {
    const silent = scripted('two', {});
    const { ended } = await attempt({
      agents: [
        scripted('one', { fails: 'quota', before: [TOOL] }),
        {
          ...silent,
          adapter: { ...silent.adapter, reports: { ...silent.adapter.reports, toolCalls: false } },
        },
      ],
    });
    expect(ended.toolCalls).toBeNull();
  });
});

test('whoever asks the run to stop has no further attempt', async () => {
  const stop = new AbortController();
  const agent = scripted('one', { fails: 'transient', does: () => stop.abort() });
  const { numbers, waits } = await attempt({ agents: [agent] }, { stopping: stop.signal });
  expect(numbers).toEqual([1]);
  expect(waits).toEqual([]);
});

describe('with other runs', () => {
  const budgetOf = () => {
    const limits: string[] = [];
    const accounts = createAccounts({
      clock,
      onLimit: (agent, until) => limits.push(`${agent} until ${until - NOW}`),
    });
    const none = { maxIterations: 0, maxFailures: 3, stuckAfter: 0 };
    const { of } = createBudget(none, { spent: { cost: 0, tokens: 0, turns: 0 } }, accounts);
    return { limits, accounts, budget: of('US-001') };
  };

  test('a limit that is met here is known to all', async () => {
    const { limits, budget } = budgetOf();
    await attempt(
      { agents: [scripted('one', { fails: 'rate-limit', resetAt: NOW + SOON }, {})] },
      { budget },
    );
    expect(limits).toEqual([`one until ${SOON}`]);
  });

  test('a limit that another has met counts here: the fallback begins', async () => {
    const { accounts, budget } = budgetOf();
    accounts.limited('one', NOW + SOON);
    const { who } = await attempt({ agents: [scripted('one', {}), scripted('two', {})] }, { budget });
    expect(who).toEqual(['two']);
  });

  test('without a fallback the attempt begins when the limit of the other is over', async () => {
    const { accounts, budget } = budgetOf();
    accounts.limited('one', NOW + 2_000);
    const { who } = await attempt({ agents: [scripted('one', {})] }, { budget });
    expect(who).toEqual(['one']);
    expect(Date.now()).toBeGreaterThanOrEqual(NOW + 2_000);
  });

  test('trouble that no other agent would mend is no limit of the account', async () => {
    const { limits, budget } = budgetOf();
    await attempt({ agents: [scripted('one', { fails: 'transient' }, {})] }, { budget });
    expect(limits).toEqual([]);
  });
});
