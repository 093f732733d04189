/**
 * The policy of attempts: an agent's attempt at an iteration has ended in trouble. Does it stand, is it tried again and
 * when, or does another agent take over? Pure; `run/turns/attempts.ts` does what it says.
 */
import { findResetTime, type Here } from './reset-time.ts';
import { TROUBLES, type Trouble } from './trouble.ts';

export interface RetryRules {
  /** Seconds: the longest wait for a limit. 0: never wait. */
  readonly maxWait: number;
  /** How often passing trouble is tried again in one iteration. */
  readonly maxRetries: number;
}

/** What is known when an attempt has ended in trouble. */
export interface Situation extends Here {
  readonly rules: RetryRules;
  /** The agents in the order of preference: until when each is limited; 0: it is free. */
  readonly limitedUntil: readonly number[];
  /** Which of them has just tried. */
  readonly current: number;
  /** How often trouble of this class has now come in this iteration. */
  readonly times: number;
  /** How often in a row this agent has now met a limit without having worked in between. */
  readonly limitsInARow: number;
  /** Milliseconds of waiting for limits since an agent has last worked. */
  readonly waited: number;
  /** Milliseconds until --max-time. */
  readonly timeLeft: number;
  /** From 0 to 1: the chance in the back-off. */
  readonly chance: number;
}

export type NextStep =
  /** The attempt stands; `why` it is not tried again, where that is news. */
  | { readonly kind: 'stand'; readonly why?: string }
  /** Another agent takes over; `limit` is the time until which this one is limited. */
  | { readonly kind: 'switch'; readonly to: number; readonly limit: number }
  | {
      readonly kind: 'wait';
      /** Who tries next. */
      readonly to: number;
      /** Milliseconds. */
      readonly ms: number;
      /** The moment that the agent stated: it counts even if the clock is set or the machine sleeps. */
      readonly until?: number;
      /** Until when the agent that has just tried is limited. */
      readonly limit?: number;
    };

export function nextStep(trouble: Trouble, situation: Situation): NextStep {
  const { response } = TROUBLES[trouble.class];
  if (response === 'wait') return limited(trouble, situation);
  if (response === 'again') return retried(situation, 0);
  return response === 'back-off' ? retried(situation, backOff(situation)) : { kind: 'stand' };
}

function retried({ times, rules, current, timeLeft }: Situation, ms: number): NextStep {
  if (times > rules.maxRetries) {
    return rules.maxRetries === 0 ? { kind: 'stand' } : { kind: 'stand', why: `it was tried ${times} times` };
  }
  return ms > timeLeft ? { kind: 'stand', why: 'the time is up' } : { kind: 'wait', to: current, ms };
}

const FIRST_BACK_OFF = 2_000;
const LONGEST_BACK_OFF = 60_000;

/** Twice as long each time, and somewhere between half and all of it: many loops must not come back at the same moment. */
export function backOff({ times, chance }: Pick<Situation, 'times' | 'chance'>): number {
  const whole = Math.min(LONGEST_BACK_OFF, FIRST_BACK_OFF * 2 ** (times - 1));
  return Math.round(whole * (0.5 + chance / 2));
}

const FIRST_GUESS = 60_000;
const LONGEST_GUESS = 3_600_000;
/** A limit that comes back although its end has passed: it was given to the minute, or the clocks differ. */
const LEAST_WAIT = 1_000;

function limited(trouble: Trouble, situation: Situation): NextStep {
  const { now, current, limitedUntil } = situation;
  const stated = trouble.resetAt ?? findResetTime(trouble.message, situation);
  const end = stated ?? guessed(trouble, situation);
  const limit = Math.max(end, now + leastWait(end, situation));
  const limits = limitedUntil.map((until, index) => (index === current ? limit : until));
  const free = limits.findIndex((until, index) => index !== current && until <= now);
  if (free !== -1) return { kind: 'switch', to: free, limit };
  const to = limits.indexOf(Math.min(...limits));
  const until = limits[to] ?? limit;
  const ms = until - now;
  const why = tooLong(ms, situation);
  if (why !== undefined) return { kind: 'stand', why };
  const isStated = to !== current || limit === stated;
  return { kind: 'wait', to, ms, limit, ...(isStated && { until }) };
}

function leastWait(until: number, { now, limitsInARow }: Situation): number {
  if (limitsInARow > 1) return LEAST_WAIT * 2 ** Math.min(limitsInARow - 1, 6);
  return until > now ? 0 : LEAST_WAIT;
}

/** Money does not come back by itself; a rate does. */
function guessed(trouble: Trouble, { now, limitsInARow }: Situation): number {
  if (trouble.class === 'quota') return Number.POSITIVE_INFINITY;
  return now + Math.min(LONGEST_GUESS, FIRST_GUESS * 2 ** (limitsInARow - 1));
}

function tooLong(ms: number, { rules, waited, timeLeft }: Situation): string | undefined {
  if (ms === Number.POSITIVE_INFINITY) return 'no time is known at which it ends';
  const longest = rules.maxWait * 1000;
  if (ms > longest) {
    return longest === 0 ? '--max-wait is 0' : `it ends in ${span(ms)}, and --max-wait is ${span(longest)}`;
  }
  if (waited + ms > longest) {
    return `${span(waited)} of waiting did not help, and --max-wait is ${span(longest)}`;
  }
  return ms > timeLeft ? `it ends in ${span(ms)}, later than --max-time` : undefined;
}

/** A while in words: `3 days`, `2 h 5 min`, `40 s`. */
export function span(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 2) return `${Math.ceil(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
