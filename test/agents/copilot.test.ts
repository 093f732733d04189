import { describe, expect, test } from 'vitest';
import { copilot } from '../../src/agents/copilot/adapter.ts';
import { fold, line, read } from './reading.ts';

const event = (type: string, data: object, fields: object = {}) => line({ type, data, ...fields });

describe('words', () => {
  test('are said once, though they come in pieces and whole', () => {
    const turn = fold(copilot, [
      event('assistant.message_delta', { messageId: 'm1', deltaContent: 'Hel' }),
      event('assistant.message_delta', { messageId: 'm1', deltaContent: 'lo' }),
      event('assistant.message', { messageId: 'm1', content: 'Hello' }),
    ]);
    expect(turn).toMatchObject({ lastWords: 'Hello', steps: 1, unknownRecords: 0 });
  });

  test('of the user, of the thinking and of sub-agents are not its own', () => {
    const content = '<promise>DONE</promise>';
    const turn = fold(copilot, [
      event('user.message', { content }),
      event('assistant.reasoning', { content }),
      event('assistant.message', { content, parentToolCallId: 'c1' }),
      event('assistant.message', { content }, { agentId: 'a1' }),
    ]);
    expect(turn.claim.found).toBe(false);
  });
});

describe('tools', () => {
  test('a command that failed is a success with an exit code', () => {
    const data = {
      toolCallId: 'c1',
      success: true,
      shellExecution: { exitCode: 3 },
      result: { content: 'no\n' },
    };
    expect(read(copilot, event('tool.execution_complete', data))).toEqual([
      { kind: 'tool-end', id: 'c1', ok: false, exitCode: 3, output: { preview: 'no\n', lines: 1, chars: 3 } },
    ]);
  });

  test('a denied tool was refused, and has failed', () => {
    const data = {
      toolCallId: 'c1',
      success: false,
      error: { message: 'Permission denied', code: 'denied' },
    };
    expect(read(copilot, event('tool.execution_complete', data))).toMatchObject([
      { kind: 'trouble', trouble: { class: 'permission-denied' }, call: { id: 'c1' } },
      { ok: false, output: { preview: 'Permission denied' } },
    ]);
  });

  test('a patch given as plain text is shown', () => {
    const data = { toolCallId: 'c1', toolName: 'apply_patch', arguments: '*** Begin Patch\n*** Add File: b' };
    expect(read(copilot, event('tool.execution_start', data))).toMatchObject([
      { summary: '*** Begin Patch *** Add File: b' },
    ]);
  });
});

describe('the end', () => {
  test('is good with exit code 0 only', () => {
    expect(fold(copilot, [line({ type: 'result', sessionId: 's1', exitCode: 0 })])).toMatchObject({
      sessionId: 's1',
      result: { ok: true },
    });
    expect(fold(copilot, [line({ type: 'result', exitCode: 1 })]).result).toEqual({ ok: false });
    expect(fold(copilot, [line({ type: 'result' })]).result).toEqual({ ok: false });
  });

  test.each([
    [
      { errorType: 'query', message: 'No response was returned. Send your message again to retry.' },
      'empty-reply',
    ],
    [{ errorType: 'query', message: 'x', statusCode: 500 }, 'transient'],
    [{ errorType: 'quota', message: 'x' }, 'quota'],
    [{ errorType: 'rate_limit', message: 'x' }, 'rate-limit'],
    [{ errorType: 'query', message: 'x' }, 'crash'],
  ])('the error %j is %s', (data, cls) => {
    expect(fold(copilot, [event('session.error', data)]).trouble?.class).toBe(cls);
  });

  test('a failed call is trouble that it deals with', () => {
    const data = { statusCode: 429, errorMessage: '{"message":"slow down"}' };
    expect(read(copilot, event('model.call_failure', data))).toEqual([
      {
        kind: 'trouble',
        retrying: true,
        trouble: { class: 'rate-limit', message: 'slow down', status: 429 },
      },
    ]);
  });
});

test('the usage file is added up over its models', () => {
  const usage = { inputTokens: 100, outputTokens: 9, cacheReadTokens: 80, cacheWriteTokens: 1 };
  const report = { modelMetrics: { a: { usage }, b: { usage } }, currentModel: 'b' };
  const tokens = { input: 200, output: 18, cacheRead: 160, cacheWrite: 2 };
  expect(copilot.read(JSON.stringify(report, null, 2))).toEqual([
    { kind: 'usage', scope: 'total', tokens, model: 'b' },
  ]);
});
