import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findResetTime, type Here, wallTimeAt, zonedTime } from '../../../src/domain/turn/reset-time.ts';

/** Sunday, 2026-11-15, 14:30 in Greenwich; 06:30 in Los Angeles, where this machine is. */
const now = Date.UTC(2026, 10, 15, 14, 30);
const here: Here = { now, zone: 'America/Los_Angeles' };
const utc = (...parts: Parameters<typeof Date.UTC>) => new Date(Date.UTC(...parts)).toISOString();
const told = (text: string, at: Here = here) => {
  const found = findResetTime(text, at);
  return found === undefined ? undefined : new Date(found).toISOString();
};

describe('a time of day', () => {
  test.each([
    // As Codex and Claude Code say it.
    ["You've hit your usage limit. Upgrade to Pro, or try again at 4:06 AM.", utc(2026, 10, 16, 12, 6)],
    ["You've hit your usage limit. Try again at 4:06 PM.", utc(2026, 10, 16, 0, 6)],
    ["You've hit your usage limit or try again at Nov 20th, 2026 9:00 AM.", utc(2026, 10, 20, 17, 0)],
    ["You've hit your limit · resets 3pm (Europe/Berlin)", utc(2026, 10, 16, 14, 0)],
    ["You've hit your session limit · resets 4:15pm (Europe/Berlin)", utc(2026, 10, 15, 15, 15)],
    ["You've hit your weekly limit · resets Nov 20 at 9am (UTC)", utc(2026, 10, 20, 9, 0)],
    ['Your limit will reset at 3pm (America/New_York).', utc(2026, 10, 15, 20, 0)],
    ['Limit reached, resets Nov 20, 9:30 a.m. PST', utc(2026, 10, 20, 17, 30)],
    ['resets at 12am (UTC)', utc(2026, 10, 16, 0, 0)],
    ['resets at 12pm (UTC)', utc(2026, 10, 16, 12, 0)],
    ['resets at 15:00 UTC', utc(2026, 10, 15, 15, 0)],
    ['resets at 15:00 UTC+2', utc(2026, 10, 16, 13, 0)],
    ['try again at 4:06\u202fPM', utc(2026, 10, 16, 0, 6)],
    ['resets tomorrow at 9am (UTC)', utc(2026, 10, 16, 9, 0)],
    ['resets Monday at 9:00 AM UTC', utc(2026, 10, 16, 9, 0)],
    ['resets Sunday 2pm UTC', utc(2026, 10, 22, 14, 0)],
    ['resets 20 Nov 2026, 09:00 UTC', utc(2026, 10, 20, 9, 0)],
    ['resets Jan 3 at 9am (UTC)', utc(2027, 0, 3, 9, 0)],
    ['resets Nov 20', utc(2026, 10, 20, 8, 0)],
    ['resets 3pm (Nowhere/Land)', utc(2026, 10, 15, 23, 0)],
  ])('%j', (text, expected) => {
    expect(told(text)).toBe(expected);
  });

  test('that has passed a moment ago is not taken for the one of tomorrow', () => {
    const late = { ...here, now: Date.UTC(2026, 10, 15, 15, 0, 40) };
    expect(told('try again at 7:00 AM', late)).toBe(utc(2026, 10, 15, 15, 0));
  });

  test.each([
    // The night in which Berlin's clocks go back, and the one in which they go forward.
    [Date.UTC(2026, 9, 24, 20), utc(2026, 9, 25, 8, 0)],
    [Date.UTC(2026, 2, 28, 20), utc(2026, 2, 29, 7, 0)],
  ])('lies on the right side of a change of clocks', (when, expected) => {
    expect(told('resets 9am (Europe/Berlin)', { now: when, zone: 'UTC' })).toBe(expected);
  });
});

describe('a moment', () => {
  test.each([
    ['Claude AI usage limit reached|1794758400', utc(2026, 10, 15, 16, 0)],
    ['resets at 1794758400', utc(2026, 10, 15, 16, 0)],
    ['x-ratelimit-reset: 1794758400000, reset: 1794758400000', utc(2026, 10, 15, 16, 0)],
    ['quota resets at 2026-11-15T16:00:00Z', utc(2026, 10, 15, 16, 0)],
    ['resets at 2026-11-15 16:00:00.123 UTC', utc(2026, 10, 15, 16, 0)],
    ['try again after 2026-11-15T17:00:00+01:00', utc(2026, 10, 15, 16, 0)],
    ['retry-after: Sun, 15 Nov 2026 16:00:00 GMT', utc(2026, 10, 15, 16, 0)],
  ])('%j', (text, expected) => {
    expect(told(text)).toBe(expected);
  });
});

describe('a while', () => {
  test.each([
    ['Please try again in 20s.', 20],
    ['Please try again in 1m30.5s', 90.5],
    ['try again in 6ms', 0.006],
    ['Please retry in 36.5s.', 36.5],
    ['Your quota will reset after 22h33m8s.', 22 * 3600 + 33 * 60 + 8],
    ['try again in 2h 15m', 2 * 3600 + 15 * 60],
    ['try again in 3 days 2 hours and 5 minutes.', 3 * 86400 + 2 * 3600 + 300],
    ['Please wait 45 seconds before trying again', 45],
    ['Retry-After: 120', 120],
    ['rate limited; retry after 30', 30],
    ['available again in about 1 hour', 3600],
  ])('%j', (text, seconds) => {
    expect(findResetTime(text, here)).toBe(Math.round(now + seconds * 1000));
  });
});

test.each([
  'Rate limit reached (scripted)',
  'slow down',
  'try again later',
  'try again in a moment',
  'resets at some time',
  'resets 25:99',
  'retry after reading 5 files',
  'reset the 3 counters',
  'retry 5 times',
  'until 1234567890123456',
  'resets at 1999-01-01T00:00:00Z',
  '',
])('%j names no time', text => {
  expect(told(text)).toBeUndefined();
});

const zones = fc.constantFrom(
  'UTC',
  'Europe/Berlin',
  'America/Los_Angeles',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  '-09:30',
);
const moments = fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2035, 0) });

test('a wall clock read and set again shows the same', () => {
  fc.assert(
    fc.property(moments, zones, (at, zone) => {
      const wall = wallTimeAt(at, zone);
      expect(wallTimeAt(zonedTime(wall, zone), zone)).toEqual(wall);
    }),
  );
});

test('a time of day is always the next one, within a day and an hour, in every zone', () => {
  fc.assert(
    fc.property(moments, zones, zones, fc.nat(23), fc.nat(59), (when, zone, local, hour, minute) => {
      fc.pre(zone.includes('/'));
      const text = `resets ${hour}:${String(minute).padStart(2, '0')} (${zone})`;
      const at = findResetTime(text, { now: when, zone: local });
      expect(at).toBeGreaterThan(when - 11 * 60_000);
      expect(at).toBeLessThan(when + 25 * 3_600_000);
    }),
  );
});

test('whatever the text, the answer is a time near now or none', () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 200 }),
      fc.constantFrom('resets ', 'try again at ', 'retry in '),
      (noise, lead) => {
        const at = findResetTime(`${lead}${noise}`, here);
        if (at !== undefined) expect(Number.isFinite(at)).toBe(true);
      },
    ),
  );
});
