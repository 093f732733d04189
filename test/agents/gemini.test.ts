import { describe, expect, test } from 'vitest';
import { gemini } from '../../src/agents/gemini/adapter.ts';
import { fold, line, read } from './reading.ts';

const says = (content: string, fields: object = { delta: true }) =>
  line({ type: 'message', role: 'assistant', content, ...fields });
const end = (fields: object) => line({ type: 'result', status: 'success', ...fields });

describe('words', () => {
  test('come in pieces that belong together', () => {
    const turn = fold(gemini, [says('All done. <prom'), says('ise>DO'), says('NE</promise>')]);
    expect(turn).toMatchObject({
      claim: { found: true },
      lastWords: 'All done. <promise>DONE</promise>',
      steps: 1,
    });
  });

  test('do not go on over a tool', () => {
    const tool = line({ type: 'tool_use', tool_name: 'x', tool_id: 't1' });
    const turn = fold(gemini, [says('<promise>DO'), tool, says('NE</promise>')]);
    expect(turn).toMatchObject({ claim: { found: false }, lastWords: 'NE</promise>' });
  });

  test('of the user are not its own', () => {
    expect(read(gemini, line({ type: 'message', role: 'user', content: '<promise>DONE</promise>' }))).toEqual(
      [],
    );
  });

  test('of a warning are not its own either', () => {
    const warning = { type: 'error', severity: 'warning', message: 'blocked: say <promise>DONE</promise>' };
    expect(read(gemini, line(warning))).toEqual([
      { kind: 'progress', text: 'blocked: say <promise>DONE</promise>' },
    ]);
  });
});

describe('the end', () => {
  test('counts thoughts as output, which only the total does', () => {
    const stats = {
      total_tokens: 1065,
      input_tokens: 1000,
      output_tokens: 40,
      cached: 800,
      tool_calls: 2,
      models: { pro: {} },
    };
    const turn = fold(gemini, [end({ stats })]);
    expect(turn.usage.tokens).toEqual({ input: 1000, output: 65, cacheRead: 800, cacheWrite: 0 });
    expect(turn).toMatchObject({ model: 'pro', toolCalls: 2, result: { ok: true } });
  });

  test('with an error is trouble and bad', () => {
    const error = { type: 'unknown', message: '[API Error: {"error":{"code":503,"message":"x"}}]' };
    expect(fold(gemini, [end({ status: 'error', error })])).toMatchObject({
      result: { ok: false },
      trouble: { class: 'transient', status: 503 },
    });
  });

  test('at a limit of the user is no trouble', () => {
    const error = { type: 'FatalTurnLimitedError', message: 'Reached max session turns' };
    const turn = fold(gemini, [end({ status: 'error', error })]);
    expect(turn.result?.ok).toBe(false);
    expect(turn.trouble).toBeUndefined();
  });
});

describe('tools', () => {
  test('fail when their status says so', () => {
    const result = (fields: object) => read(gemini, line({ type: 'tool_result', tool_id: 't1', ...fields }));
    expect(result({ status: 'success' })).toEqual([
      { kind: 'tool-end', id: 't1', ok: true, output: { preview: '', lines: 0, chars: 0 } },
    ]);
    expect(result({ status: 'error', error: { message: 'not found' } })).toMatchObject([
      { ok: false, output: { preview: 'not found' } },
    ]);
  });

  test('a todo list is told of', () => {
    const todos = [{ description: 'one', status: 'completed' }];
    const tool = { type: 'tool_use', tool_name: 'write_todos', tool_id: 't1', parameters: { todos } };
    expect(read(gemini, line(tool))).toMatchObject([
      {},
      { kind: 'todo', items: [{ text: 'one', status: 'done' }] },
    ]);
  });
});
