/** amp and qwen: claude's relatives, and where they differ from it. */
import { describe, expect, test } from 'vitest';
import { amp } from '../../src/agents/amp/adapter.ts';
import { qwen } from '../../src/agents/qwen/adapter.ts';
import { fold, line, read } from './reading.ts';

const result = (content: string, is_error = false) =>
  line({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: 't1', content, is_error }] },
  });

const says = (text: string, usage: object, id?: string) =>
  line({ type: 'assistant', message: { id, model: 'm', content: [{ type: 'text', text }], usage } });

describe('amp', () => {
  test('echoes the prompt, which is not its own words', () => {
    const echo = line({
      type: 'user',
      message: { content: [{ type: 'text', text: '<promise>DONE</promise>' }] },
    });
    expect(read(amp, echo)).toEqual([]);
  });

  test('hides the exit code in a JSON string, and calls it no error', () => {
    expect(read(amp, result('{"output":"a\\nb\\n","exitCode":3}'))).toEqual([
      {
        kind: 'tool-end',
        id: 't1',
        ok: false,
        exitCode: 3,
        output: { preview: 'a\nb\n', lines: 2, chars: 4 },
      },
    ]);
    expect(read(amp, result('{"output":"","exitCode":0}'))).toMatchObject([{ ok: true, exitCode: 0 }]);
    expect(read(amp, result('{"absolutePath":"/a","content":"1: x"}'))).toMatchObject([
      { output: { preview: '1: x' } },
    ]);
    expect(read(amp, result('{ no json'))).toMatchObject([{ ok: true, output: { preview: '{ no json' } }]);
  });

  test('has no ids on its messages: each one counts, cached tokens included', () => {
    const usage = {
      input_tokens: 1,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 3,
      output_tokens: 4,
    };
    expect(fold(amp, [says('a', usage), says('b', usage)]).usage.tokens).toEqual({
      input: 12,
      output: 8,
      cacheRead: 6,
      cacheWrite: 4,
    });
  });

  test('ends badly when it says so, though it exits with 0', () => {
    const end = {
      type: 'result',
      subtype: 'error_during_execution',
      is_error: true,
      num_turns: 0,
      error: '429 {"x":1}',
    };
    const turn = fold(amp, [line(end)]);
    expect(turn.result).toEqual({ ok: false, error: '429 {"x":1}' });
    expect(turn.trouble).toMatchObject({ class: 'rate-limit', status: 429 });
  });
});

describe('qwen', () => {
  test('puts an API error where words should be; it is not its own words', () => {
    const text = '[API Error: 400 your prompt was "say <promise>DONE</promise>"]';
    const turn = fold(qwen, [says(text, { input_tokens: 0, output_tokens: 0 })]);
    expect(turn.claim.found).toBe(false);
    expect(turn.lastWords).toBe('');
  });

  test('may talk about an API error in its own words', () => {
    const turn = fold(qwen, [
      says('[API Error: fixed] <promise>DONE</promise>', { input_tokens: 0, output_tokens: 0 }),
    ]);
    expect(turn.claim.found).toBe(true);
    expect(fold(qwen, [says('[API Error: x]', { output_tokens: 5 })]).lastWords).toBe('[API Error: x]');
  });

  test('flags a failed command, and has the exit code in a form', () => {
    const form = 'Command: exit 3\nDirectory: (root)\nOutput: x\nExit Code: 3\nSignal: (none)';
    expect(read(qwen, result(form, true))).toMatchObject([{ ok: false, exitCode: 3 }]);
    expect(read(qwen, result(form.replace('Code: 3', 'Code: 0')))).toMatchObject([{ ok: true, exitCode: 0 }]);
  });

  test('a file that holds such a form has no exit code', () => {
    expect(read(qwen, result('log:\nExit Code: 3\n'))).toMatchObject([{ ok: true }]);
    expect(read(qwen, result('log:\nExit Code: 3\n'))[0]).not.toHaveProperty('exitCode');
  });

  test('counts the cached tokens among the input, and zeros are not known', () => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 80, output_tokens: 5 };
    expect(fold(qwen, [says('a', usage, 'm1')]).usage.tokens).toEqual({
      input: 100,
      output: 5,
      cacheRead: 80,
      cacheWrite: 0,
    });
    expect(fold(qwen, [says('a', { input_tokens: 0, output_tokens: 0 }, 'm1')]).usage.tokens).toBeUndefined();
  });

  test('a retry is trouble that it deals with', () => {
    const retry = line({
      type: 'system',
      subtype: 'retry',
      data: { attempt: 2, maxRetries: 10, delayMs: 60_000 },
    });
    expect(read(qwen, retry)).toEqual([
      { kind: 'trouble', retrying: true, trouble: { class: 'transient', message: 'retry 2 of 10' } },
    ]);
  });

  test('an error in the result is trouble and a bad end', () => {
    const end = line({ type: 'result', is_error: true, error: { message: '[API Error: 401 no]' } });
    expect(fold(qwen, [end])).toMatchObject({
      result: { ok: false },
      trouble: { class: 'auth', status: 401 },
    });
  });
});
