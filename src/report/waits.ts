/** Waiting, changing the agent, pausing, hints: what happens between the steps, in words. */
import type { RunEvent } from '../domain/event.ts';
import { timeOfDay, wholeSeconds } from './numbers.ts';
import { phrase, troubleName } from './phrases.ts';
import { hanging, type Mark, type Style, sign } from './style.ts';

export type BetweenSteps = Extract<
  RunEvent,
  { type: 'waiting' | 'agent-switched' | 'paused' | 'continued' | 'told' }
>;

export function betweenLines(style: Style, event: BetweenSteps, now: number): readonly string[] {
  const [mark, words] = betweenWords(event, now);
  return hanging(style, sign(style, mark), words);
}

export function betweenWords(event: BetweenSteps, now: number): readonly [Mark, string] {
  switch (event.type) {
    case 'waiting': {
      const { agent, trouble, until } = event;
      return ['retry', `${phrase(agent)}: ${troubleName(trouble)}. Trying again ${countdown(until, now)}`];
    }
    case 'agent-switched': {
      const to = phrase(event.to);
      if (event.why === 'free-again') return ['next', `${to} is free again and goes on`];
      const until = event.until === undefined ? '' : ` until ${timeOfDay(event.until, now)}`;
      return ['next', `${phrase(event.from)} is limited${until}: ${to} goes on`];
    }
    case 'paused':
      return ['warning', 'Paused. `ralph continue` goes on'];
    case 'continued':
      return ['next', 'Continued'];
    case 'told':
      return ['note', `The user says: ${phrase(event.text)}`];
    default:
      return event satisfies never;
  }
}

/** For the live line: `rate limit: on in 1h45m (16:15)`. */
export function waitingPhrase({ trouble, until }: RunEvent & { type: 'waiting' }, now: number): string {
  return `${troubleName(trouble)}: on ${countdown(until, now)}`;
}

function countdown(until: number, now: number): string {
  const seconds = Math.max(0, (until - now) / 1000);
  const at = seconds < 60 ? '' : ` (${timeOfDay(until, now)})`;
  return `in ${wholeSeconds(seconds)}${at}`;
}
