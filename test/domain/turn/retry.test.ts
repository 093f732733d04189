import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backOff, nextStep, type Situation, span } from '../../../src/domain/turn/retry.ts';
import { TROUBLES, type Trouble, type TroubleClass } from '../../../src/domain/turn/trouble.ts';
import { examples } from '../../rig/thorough.ts';

const now = Date.UTC(2026, 10, 15, 14, 30);
const HOUR = 3_600_000;
const alone: Situation = {
  now,
  zone: 'UTC',
  rules: { maxWait: 6 * 3600, maxRetries: 5 },
  limitedUntil: [0],
  current: 0,
  times: 1,
  limitsInARow: 1,
  waited: 0,
  timeLeft: Number.POSITIVE_INFINITY,
  chance: 1,
};
const trouble = (cls: TroubleClass, message = 'no', resetAt?: number): Trouble => ({
  class: cls,
  message,
  ...(resetAt !== undefined && { resetAt }),
});
const stepAfter = (what: Trouble, over: Partial<Situation> = {}) => nextStep(what, { ...alone, ...over });

describe('a limit', () => {
  test('is waited for until the moment that the agent states', () => {
    const resetAt = now + 2 * HOUR;
    const step = { kind: 'wait', to: 0, ms: 2 * HOUR, until: resetAt, limit: resetAt };
    expect(stepAfter(trouble('rate-limit', 'no', resetAt))).toEqual(step);
    expect(stepAfter(trouble('rate-limit', 'resets 4:30pm (UTC)'))).toEqual(step);
    expect(stepAfter(trouble('quota', 'try again in 2h'))).toEqual(step);
  });

  test('without a stated end is waited for a minute, then twice as long each time, and an hour at most', () => {
    const waits = [1, 2, 3, 7, 20].map(limitsInARow => stepAfter(trouble('rate-limit'), { limitsInARow }));
    expect(waits.map(step => step.kind === 'wait' && [step.ms, step.until])).toEqual(
      [60_000, 120_000, 240_000, HOUR, HOUR].map(ms => [ms, undefined]),
    );
  });

  test('whose end has passed is tried again soon, and not at once when it comes back', () => {
    const passed = trouble('rate-limit', 'no', now - 5_000);
    expect(stepAfter(passed)).toMatchObject({ kind: 'wait', ms: 1_000 });
    expect(stepAfter(passed, { limitsInARow: 3 })).toMatchObject({ kind: 'wait', ms: 4_000 });
    // Else two agents would take turns without a breath.
    const two = { limitedUntil: [0, 0], limitsInARow: 3 };
    expect(stepAfter(passed, two)).toEqual({ kind: 'switch', to: 1, limit: now + 4_000 });
  });

  test.each([
    [{}, trouble('rate-limit', 'no', now + 7 * HOUR), 'it ends in 7 h, and --max-wait is 6 h'],
    [{}, trouble('quota', 'Purchase more credits.'), 'no time is known at which it ends'],
    [
      { waited: 5 * HOUR },
      trouble('rate-limit', 'no', now + 2 * HOUR),
      '5 h of waiting did not help, and --max-wait is 6 h',
    ],
    [
      { timeLeft: HOUR },
      trouble('rate-limit', 'no', now + 2 * HOUR),
      'it ends in 2 h, later than --max-time',
    ],
    [{ rules: { maxWait: 0, maxRetries: 5 } }, trouble('rate-limit'), '--max-wait is 0'],
  ])('that cannot be waited for stands, with the reason', (over, what, why) => {
    expect(stepAfter(what, over)).toEqual({ kind: 'stand', why });
  });

  test('goes to the most preferred agent that is free', () => {
    const resetAt = now + HOUR;
    const three = { limitedUntil: [0, now + 1, 0], current: 0 };
    expect(stepAfter(trouble('rate-limit', 'no', resetAt), three)).toEqual({
      kind: 'switch',
      to: 2,
      limit: resetAt,
    });
    expect(stepAfter(trouble('quota'), three)).toEqual({
      kind: 'switch',
      to: 2,
      limit: Number.POSITIVE_INFINITY,
    });
  });

  test('of every agent is waited for until the first of them is free', () => {
    const limited = { limitedUntil: [now + HOUR, now + 2 * HOUR], current: 1 };
    expect(stepAfter(trouble('rate-limit', 'no', now + 3 * HOUR), limited)).toEqual({
      kind: 'wait',
      to: 0,
      ms: HOUR,
      until: now + HOUR,
      limit: now + 3 * HOUR,
    });
  });
});

describe('passing trouble', () => {
  test('is tried again, later each time, up to its cap', () => {
    const steps = [1, 2, 3, 4, 5, 6].map(times => stepAfter(trouble('transient'), { times }));
    expect(steps.map(step => (step.kind === 'wait' ? step.ms : step))).toEqual([
      2_000,
      4_000,
      8_000,
      16_000,
      32_000,
      { kind: 'stand', why: 'it was tried 6 times' },
    ]);
  });

  test('an empty reply is tried again at once, up to its cap', () => {
    expect(stepAfter(trouble('empty-reply'), { times: 5 })).toEqual({ kind: 'wait', to: 0, ms: 0 });
    expect(stepAfter(trouble('empty-reply'), { times: 6 }).kind).toBe('stand');
  });

  test('chance takes at most half of the wait away', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (times, chance) => {
          const whole = Math.min(60_000, 2_000 * 2 ** (times - 1));
          expect(backOff({ times, chance })).toBeGreaterThanOrEqual(whole / 2);
          expect(backOff({ times, chance })).toBeLessThanOrEqual(whole);
        },
      ),
    );
  });
});

test.each(['auth', 'config', 'context-overflow', 'hang', 'crash'] as const)('%s stands as it is', cls => {
  expect(stepAfter(trouble(cls, 'resets in 5s'))).toEqual({ kind: 'stand' });
});

const anySituation: fc.Arbitrary<Situation> = fc
  .record({
    limitedUntil: fc.array(fc.integer({ min: now - HOUR, max: now + 9 * HOUR }), {
      minLength: 1,
      maxLength: 4,
    }),
    seat: fc.nat(),
    times: fc.integer({ min: 1, max: 9 }),
    limitsInARow: fc.integer({ min: 1, max: 40 }),
    waited: fc.nat(9 * HOUR),
    timeLeft: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(9 * HOUR)),
    chance: fc.double({ min: 0, max: 1, noNaN: true }),
    rules: fc.record({ maxWait: fc.nat(30_000), maxRetries: fc.nat(6) }),
  })
  .map(({ seat, ...each }) => ({ ...alone, ...each, current: seat % each.limitedUntil.length }));
const anyTrouble: fc.Arbitrary<Trouble> = fc.record(
  {
    class: fc.constantFrom(...(Object.keys(TROUBLES) as TroubleClass[])),
    message: fc.constantFrom('no', 'try again in 3h', 'resets 9am (Europe/Berlin)', 'Retry-After: 5'),
    resetAt: fc.integer({ min: now - HOUR, max: now + 99 * HOUR }),
  },
  { requiredKeys: ['class', 'message'] },
);

test('no wait is longer than allowed, none outlasts the run, and nobody waits while another agent is free', () => {
  fc.assert(
    fc.property(anyTrouble, anySituation, (what, situation) => {
      const step = nextStep(what, situation);
      if (step.kind === 'stand') return;
      expect(step.to).toBeLessThan(situation.limitedUntil.length);
      if (step.kind === 'switch') {
        expect(situation.limitedUntil[step.to]).toBeLessThanOrEqual(now);
        expect(step.to).not.toBe(situation.current);
        return;
      }
      expect(step.ms).toBeGreaterThanOrEqual(0);
      expect(step.ms).toBeLessThanOrEqual(situation.timeLeft);
      if (TROUBLES[what.class].response !== 'wait') return;
      expect(step.ms + situation.waited).toBeLessThanOrEqual(situation.rules.maxWait * 1000);
      const others = situation.limitedUntil.filter((_, index) => index !== situation.current);
      expect(others.every(until => until > now)).toBe(true);
    }),
    examples(500),
  );
});

test('a while in words', () => {
  expect([400, 45_000, 119_000, 5_400_000, 7 * HOUR, 72 * HOUR].map(span)).toEqual([
    '1 s',
    '45 s',
    '2 min',
    '90 min',
    '7 h',
    '3 days',
  ]);
});
