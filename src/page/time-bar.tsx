/** Where time went, in the three colours that the whole page has for it. */
import type { ComponentChildren } from 'preact';
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

/** What the colours mean; with `seconds`: how much of each. */
export function Legend({ rows = KINDS.map(kind => [kind, kind]), seconds, look = '' }: LegendProps) {
  return (
    <ul class={`legend${look}`} aria-label={seconds ? undefined : 'Colours'}>
      {rows.map(([color, name]) => (
        <li key={color} class={`is-${color}`}>
          {name} {seconds && duration(seconds[color as keyof Seconds])}
        </li>
      ))}
    </ul>
  );
}

interface LegendProps {
  readonly rows?: readonly (readonly [color: string, name: string])[];
  readonly seconds?: Seconds;
  readonly look?: string;
}

interface TrackProps {
  readonly name: string;
  readonly title?: string;
  /** What the picture shows, in words. */
  readonly label: string;
  readonly look?: string;
  readonly style?: { readonly maxWidth: string };
  readonly columns: number;
  readonly children: ComponentChildren;
}

/** A line of cells behind its name, on the axis of the section. */
export function Track({ name, title = name, label, look = '', style, columns, children }: TrackProps) {
  return (
    <>
      <bdi class="track-name mono" title={title}>
        {name}
      </bdi>
      <svg
        class={`cells${look}`}
        style={style}
        viewBox={`0 0 ${columns} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {children}
      </svg>
    </>
  );
}
