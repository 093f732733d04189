/** A turn of an agent that is a function: what its reply is, what ends it, and what a thrown error means. */
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../src/domain/text/secrets.ts';
import type { AgentEvent } from '../../../src/domain/turn/agent-event.ts';
import { type AgentFunction, defineAgent } from '../../../src/run/turns/define-agent.ts';
import { takeFunctionTurn } from '../../../src/run/turns/function-agent.ts';

type Turn = Parameters<typeof takeFunctionTurn>[1];

async function take(run: AgentFunction, more: Partial<Turn> = {}) {
  const events: AgentEvent[] = [];
  const report = await takeFunctionTurn(defineAgent('mine', run), {
    ...{ prompt: 'Fix it', cwd: '/work', iteration: 3, deadlines: [] },
    rule: { kind: 'promise', text: 'DONE' },
    overBudget: () => undefined,
    abort: new AbortController().signal,
    redact: createRedactor({}),
    onEvent: event => void events.push(event),
    ...more,
  });
  return { ...report, events };
}

const never = () => new Promise<undefined>(() => {});

describe('a reply', () => {
  test('is what it says, what it cost and what it called', async () => {
    const { turn, outcome } = await take(async () => ({
      ...{ text: 'It works. <promise>DONE</promise>', toolCalls: 4, cost: 0.5 },
      tokens: { input: 10, output: 2 },
    }));
    expect(outcome).toEqual({ kind: 'completed' });
    expect(turn).toMatchObject({ toolCalls: 4, usage: { cost: 0.5, tokens: { input: 10, output: 2 } } });
    expect(turn.claim).toEqual({ found: true });
  });

  test('may be a text alone, or nothing', async () => {
    expect((await take(async () => 'Hello')).turn.lastWords).toBe('Hello');
    expect((await take(async () => undefined)).outcome).toEqual({ kind: 'completed' });
  });

  test('follows what was told before it', async () => {
    const { events } = await take(async ({ emit }) => {
      emit({ kind: 'text', text: 'first' });
      return 'last';
    });
    expect(events.map(event => (event.kind === 'text' ? event.text : event.kind))).toEqual([
      'first',
      'last',
      'result',
    ]);
  });
});

test('it is told its prompt, its place and its number', async () => {
  const told: unknown[] = [];
  await take(async ({ prompt, cwd, iteration }) => void told.push(prompt, cwd, iteration));
  expect(told).toEqual(['Fix it', '/work', 3]);
});

describe('an error', () => {
  test('is a crash, without the secrets in its words', async () => {
    const redact = createRedactor({ API_TOKEN: 'hunter2-hunter2-hunter2' });
    const { outcome } = await take(
      async () => {
        throw new Error('no entry with hunter2-hunter2-hunter2');
      },
      { redact },
    );
    expect(outcome).toMatchObject({ kind: 'failed', trouble: { class: 'crash' } });
    expect(JSON.stringify(outcome)).not.toContain('hunter2');
  });

  test('that is thrown before the first await is one, too', async () => {
    const { outcome } = await take(() => {
      throw new Error('at once');
    });
    expect(outcome).toMatchObject({ kind: 'failed', trouble: { message: 'at once' } });
  });

  test('is of the class of the trouble that was reported', async () => {
    const { outcome } = await take(async ({ emit }) => {
      emit({
        kind: 'trouble',
        retrying: false,
        trouble: { class: 'rate-limit', message: 'slow down', resetAt: 99 },
      });
      throw new Error('whatever');
    });
    expect(outcome).toMatchObject({ trouble: { class: 'rate-limit', message: 'slow down', resetAt: 99 } });
  });
});

describe('a turn is ended', () => {
  test('by its deadline, and what comes after is not waited for', async () => {
    let signal: AbortSignal | undefined;
    const deadlines = [
      { after: 60_000, by: 'max-time' as const },
      { after: 1, by: 'iteration-timeout' as const },
    ];
    const { outcome } = await take(
      turn => {
        ({ signal } = turn);
        return never();
      },
      { deadlines },
    );
    expect(outcome).toEqual({ kind: 'ended', by: 'iteration-timeout' });
    expect(signal?.aborted).toBe(true);
  });

  test('by an interrupt, also one from before it began', async () => {
    const stop = new AbortController();
    const ended = take(never, { abort: stop.signal });
    stop.abort();
    expect((await ended).outcome).toEqual({ kind: 'ended', by: 'interrupt' });
    expect((await take(never, { abort: stop.signal })).outcome).toEqual({ kind: 'ended', by: 'interrupt' });
  });

  test('as soon as it has used more than there is, with what it used on record', async () => {
    const { outcome, turn } = await take(
      ({ emit }) => {
        emit({ kind: 'usage', scope: 'part', cost: 2 });
        emit({ kind: 'usage', scope: 'part', cost: 2 });
        return never();
      },
      { overBudget: ({ cost = 0 }) => (cost > 3 ? 'max-cost' : undefined) },
    );
    expect(outcome).toEqual({ kind: 'ended', by: 'max-cost' });
    expect(turn.usage.cost).toBe(4);
  });

  test('by the first of two causes', async () => {
    const stop = new AbortController();
    const { outcome } = await take(
      ({ emit }) => {
        emit({ kind: 'usage', scope: 'total', cost: 9 });
        stop.abort();
        return never();
      },
      { overBudget: () => 'max-cost', abort: stop.signal },
    );
    expect(outcome).toEqual({ kind: 'ended', by: 'max-cost' });
  });
});
