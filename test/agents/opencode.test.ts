import { describe, expect, test } from 'vitest';
import { opencode } from '../../src/agents/opencode/adapter.ts';
import { fold, line, read } from './reading.ts';

const part = (type: string, fields: object) =>
  line({ type, sessionID: 's1', timestamp: 1_000, part: fields });
const step = (reason: string, fields: object = {}) =>
  part('step_finish', { id: `p-${reason}`, reason, ...fields });

describe('the end', () => {
  test('is a step that asks for no tool; another step may follow', () => {
    expect(fold(opencode, [step('tool-calls')]).result).toBeUndefined();
    expect(fold(opencode, [step('stop')]).result).toEqual({ ok: true });
    expect(fold(opencode, [step('stop'), step('tool-calls'), step('length')]).result).toEqual({
      ok: false,
      error: 'the model stopped: length',
    });
  });

  test('is bad with an error, and good again when it goes on', () => {
    const error = line({
      type: 'error',
      sessionID: 's1',
      error: { name: 'APIError', data: { message: 'x', statusCode: 500 } },
    });
    expect(fold(opencode, [error])).toMatchObject({
      sessionId: 's1',
      result: { ok: false, error: 'x' },
      trouble: { class: 'transient' },
    });
    expect(fold(opencode, [error, step('stop')]).trouble).toBeUndefined();
  });

  test.each([
    ['ProviderAuthError', 'auth'],
    ['ContextOverflowError', 'context-overflow'],
    ['UnknownError', 'crash'],
    ['__proto__', 'crash'],
  ])('an error named %s is %s', (name, cls) => {
    const error = line({ type: 'error', error: { name, data: { message: 'nothing telling' } } });
    expect(fold(opencode, [error]).trouble?.class).toBe(cls);
  });

  test.each([
    ['2', 3_000],
    ['Thu, 01 Jan 1970 00:01:00 GMT', 60_000],
    ['soon', undefined],
  ])('retry-after: %s tells when the limit ends', (header, resetAt) => {
    const data = { message: 'slow down', statusCode: 429, responseHeaders: { 'retry-after': header } };
    const error = line({ type: 'error', timestamp: 1_000, error: { name: 'APIError', data } });
    expect(fold(opencode, [error]).trouble?.resetAt).toBe(resetAt);
  });
});

describe('usage', () => {
  test('adds up over steps, with cached and reasoning tokens where they belong', () => {
    const tokens = { input: 10, output: 3, reasoning: 4, cache: { read: 100, write: 20 } };
    const turn = fold(opencode, [
      step('tool-calls', { tokens, cost: 0.5 }),
      step('stop', { tokens, cost: 0.25 }),
    ]);
    expect(turn.usage).toEqual({
      tokens: { input: 260, output: 14, cacheRead: 200, cacheWrite: 40 },
      cost: 0.75,
      costSource: 'agent',
    });
  });
});

describe('tools', () => {
  const tool = (name: string, state: object) =>
    read(opencode, part('tool_use', { tool: name, callID: 'c1', state }));

  test('start and end in one record', () => {
    const state = {
      status: 'completed',
      input: { command: 'exit 3' },
      output: 'no\n',
      metadata: { exit: 3 },
    };
    expect(tool('bash', state)).toEqual([
      { kind: 'tool-start', id: 'c1', name: 'bash', summary: 'exit 3' },
      { kind: 'tool-end', id: 'c1', ok: false, exitCode: 3, output: { preview: 'no\n', lines: 1, chars: 3 } },
    ]);
  });

  test('an error and an unknown tool have failed', () => {
    expect(tool('read', { status: 'error', error: 'no such file' })).toMatchObject([
      {},
      { ok: false, output: { preview: 'no such file' } },
    ]);
    expect(tool('invalid', { status: 'completed', output: 'no such tool' })).toMatchObject([
      {},
      { ok: false },
    ]);
  });

  test('a todo list is told of', () => {
    const todos = [{ content: 'one', status: 'in_progress' }];
    expect(tool('todowrite', { input: { todos } })).toMatchObject([
      { kind: 'tool-start' },
      { kind: 'todo', items: [{ text: 'one', status: 'active' }] },
      { kind: 'tool-end' },
    ]);
  });
});
