/** What claude says about itself: its session, its retries, its limits. */
import { describe, expect, test } from 'vitest';
import { claude } from '../../src/agents/claude/adapter.ts';
import { fold, line, read } from './reading.ts';

describe('system records', () => {
  const system = (subtype: string, fields: object = {}) =>
    read(claude, line({ type: 'system', subtype, ...fields }));

  test('the session is found when hooks spoke first', () => {
    const lines = [
      line({ type: 'system', subtype: 'hook_started', session_id: 'other' }),
      line({ type: 'system', subtype: 'init', session_id: 's1', model: 'opus' }),
    ];
    expect(fold(claude, lines)).toMatchObject({ sessionId: 's1', model: 'opus', unknownRecords: 0 });
  });

  test('a retry is trouble that the agent deals with', () => {
    const retry = { attempt: 2, max_retries: 10, error: 'rate_limit' };
    expect(system('api_retry', { ...retry, error_status: 429 })).toEqual([
      {
        kind: 'trouble',
        retrying: true,
        trouble: { class: 'rate-limit', message: 'rate_limit (attempt 2 of 10)', status: 429 },
      },
    ]);
    expect(system('api_retry', { ...retry, error: 'unknown', error_status: null })).toMatchObject([
      { retrying: true, trouble: { class: 'transient' } },
    ]);
  });

  test('a denied permission is trouble that names the call', () => {
    const denied = { tool_name: 'Bash', tool_use_id: 't1', message: 'needs\napproval' };
    expect(system('permission_denied', denied)).toEqual([
      {
        kind: 'trouble',
        trouble: { class: 'permission-denied', message: 'Bash: needs approval' },
        retrying: true,
        call: { id: 't1', tool: 'Bash' },
      },
    ]);
  });

  test('a compaction, a note of a hook are progress', () => {
    expect(
      system('compact_boundary', { compact_metadata: { pre_tokens: 98101, post_tokens: 2597 } }),
    ).toEqual([{ kind: 'progress', text: 'context compacted: 98101 to 2597 tokens' }]);
    expect(system('informational', { content: 'Stop says: hello' })).toEqual([
      { kind: 'progress', text: 'Stop says: hello' },
    ]);
    expect(system('hook_response', { hook_name: 'Stop', outcome: 'error' })).toEqual([
      { kind: 'progress', text: 'Stop hook failed' },
    ]);
  });

  test('the model that is fallen back to is the model of the turn', () => {
    const events = system('model_fallback', { content: 'Switched', fallback_model: 'sonnet' });
    expect(events).toEqual([
      { kind: 'progress', text: 'Switched' },
      { kind: 'session', model: 'sonnet' },
    ]);
  });

  test('an unknown one is counted', () => {
    expect(system('brand_new')).toEqual([{ kind: 'unknown', what: 'system brand_new' }]);
  });
});

describe('rate limits', () => {
  const limit = (status: string, resetsAt?: number) =>
    line({ type: 'rate_limit_event', rate_limit_info: { status, resetsAt, rateLimitType: 'five_hour' } });

  test.each([
    ['seconds', 1_788_441_600],
    ['milliseconds', 1_788_441_600_000],
  ])('the end of a limit that came in %s outlives the error that follows', (_, resetsAt) => {
    const turn = fold(claude, [
      limit('rejected', resetsAt),
      line({ type: 'result', is_error: true, api_error_status: 429, result: 'no' }),
    ]);
    expect(turn.trouble).toEqual({
      class: 'rate-limit',
      message: 'no',
      status: 429,
      resetAt: 1_788_441_600_000,
    });
  });

  test('a limit that is not reached is no trouble', () => {
    expect(read(claude, limit('allowed', 1))).toEqual([]);
    expect(read(claude, limit('allowed_warning', 1))).toEqual([
      { kind: 'progress', text: 'close to the five-hour limit' },
    ]);
  });
});
