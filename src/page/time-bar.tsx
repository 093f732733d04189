/** Where time went, in the three colours that the whole page has for it. */
import { duration } from '../report/numbers.ts';
import type { Seconds } from '../report/run-view.ts';

export const KINDS = ['agent', 'checks', 'waiting'] as const;

interface TimeBarProps {
  readonly seconds: Seconds;
  /** What fills the whole width. */
  readonly longest: number;
  readonly look?: string;
}

export function TimeBar({ seconds, longest, look = '' }: TimeBarProps) {
  return (
    <span class={`row-bar${look}`} aria-hidden="true">
      {KINDS.map(kind => (
        <i key={kind} class={`is-${kind}`} style={{ width: `${(seconds[kind] / longest) * 100}%` }} />
      ))}
    </span>
  );
}

/** With `seconds`: how much of each. */
export function Legend({ seconds, look = '' }: { readonly seconds?: Seconds; readonly look?: string }) {
  return (
    <ul class={`legend${look}`} aria-label={seconds ? undefined : 'Colours'}>
      {KINDS.map(kind => (
        <li key={kind} class={`is-${kind}`}>
          {kind} {seconds && duration(seconds[kind])}
        </li>
      ))}
    </ul>
  );
}
