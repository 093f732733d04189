/** Limits as the real agents tell them: waiting helps, and where they say how long, Ralph knows it. */
import { expect, test } from 'vitest';
import { codex } from '../../src/agents/codex/adapter.ts';
import { gemini } from '../../src/agents/gemini/adapter.ts';
import { opencode } from '../../src/agents/opencode/adapter.ts';
import { qwen } from '../../src/agents/qwen/adapter.ts';
import { findResetTime } from '../../src/domain/turn/reset-time.ts';
import { fold, line } from './reading.ts';

const at = Date.UTC(2026, 0, 1);
const timestamp = new Date(at).toISOString();
const ADVICE = '\nPlease wait and try again later. To increase your limits, request a quota increase';

const geminiSays = (message: string) => {
  const error = { type: 'unknown', message };
  return fold(gemini, [line({ type: 'result', timestamp, status: 'error', error, stats: {} })]).trouble;
};

test("the client's advice about quotas does not make a quota of a rate limit", () => {
  expect(geminiSays(`[API Error: slow down]${ADVICE}`)).toEqual({
    class: 'rate-limit',
    message: '[API Error: slow down]',
    status: 429,
  });
  const error = { message: '[API Error: 429 slow down]\nPossible quota limitations in place.' };
  const told = fold(qwen, [line({ type: 'result', is_error: true, error })]).trouble;
  expect(told).toEqual({ class: 'rate-limit', message: '[API Error: 429 slow down]', status: 429 });
});

test('a quota that the server itself speaks of stays one, unless it says when to come back', () => {
  const spent = '[API Error: You exceeded your current quota.]';
  expect(geminiSays(spent + ADVICE)).toMatchObject({ class: 'quota' });
  const back = '[API Error: You exceeded your current quota. Please retry in 36.5s.]';
  expect(geminiSays(back + ADVICE)).toMatchObject({ class: 'rate-limit', resetAt: at + 36_500 });
});

test('a plan that resets is a limit, one that needs money is a quota', () => {
  const says = (message: string) =>
    fold(codex, [line({ type: 'turn.failed', error: { message } })]).trouble?.class;
  expect(says('You’ve hit your usage limit. Visit … or try again at 4:06 AM.')).toBe('rate-limit');
  expect(says('You’ve hit your usage limit. Purchase more credits.')).toBe('quota');
});

test('the header that every answer may carry is the end of a limit only after a 429', () => {
  const says = (statusCode: number) => {
    const data = { message: 'no', statusCode, responseHeaders: { 'retry-after': '60' } };
    return fold(opencode, [line({ type: 'error', timestamp: at, error: { name: 'APIError', data } })])
      .trouble;
  };
  expect([says(429)?.resetAt, says(500)?.resetAt]).toEqual([at + 60_000, undefined]);
});

test('resources that are exhausted are waited for as long as the server says, whether the client gives advice or not', () => {
  const says = (advice: string) =>
    geminiSays(`[API Error: Resource exhausted. Please retry in 17s.]${advice}`);
  expect(says(ADVICE)).toMatchObject({ class: 'rate-limit', resetAt: at + 17_000 });
  const told = says('');
  expect(told).toMatchObject({ class: 'rate-limit' });
  expect(findResetTime(told?.message ?? '', { now: at, zone: 'UTC' })).toBe(at + 17_000);
});
