/** A lane for each story on one axis of time: built, reviewed, in the queue, checked as it would land, sent back, landed. */
import type { LaneMark, LaneSpan } from '../report/lane-history.ts';
import { counted, duration } from '../report/numbers.ts';
import type { RunReading } from '../report/run-view.ts';
import { Section, Strip } from './section.tsx';
import { useClock } from './time.ts';

const LEGEND = [
  ['building', 'building'],
  ['reviewing', 'reviewing'],
  ['queued', 'in the queue'],
  ['green', 'checks of the candidate, landed'],
  ['red', 'checks failed, sent back'],
] as const;

export function LaneTimeline({ run: { view, state } }: { readonly run: RunReading }) {
  const now = useClock(state === 'running');
  const { board, lanes, startedAt, lastAt } = view;
  if (!board || startedAt === null || lanes.spans.length === 0) return null;
  const end = state === 'running' ? now : (lastAt ?? now);
  const whole = Math.max(1, end - startedAt);
  const begun = board.lanes.filter(({ id }) => lanes.spans.some(({ story }) => story === id));
  return (
    <Section title="Lanes" note={<Legend isRunning={state === 'running'} />}>
      <div class="tracks">
        {begun.map(({ id, title }) => (
          <LaneTrack
            key={id}
            name={id}
            title={title}
            spans={lanes.spans.filter(({ story }) => story === id)}
            marks={lanes.marks.filter(({ story }) => story === id)}
            from={startedAt}
            whole={whole}
          />
        ))}
        <span class="track-name" />
        <span class="axis" aria-hidden="true">
          <span>0</span>
          <span>{duration(whole / 1000)}</span>
        </span>
      </div>
    </Section>
  );
}

function Legend({ isRunning }: { readonly isRunning: boolean }) {
  const shown = isRunning ? [...LEGEND, ['flaky', 'checks that run'] as const] : LEGEND;
  return (
    <ul class="legend" aria-label="Colours">
      {shown.map(([look, name]) => (
        <li key={look} class={`is-${look}`}>
          {name}
        </li>
      ))}
    </ul>
  );
}

interface TrackProps {
  readonly name: string;
  readonly title: string;
  readonly spans: readonly LaneSpan[];
  readonly marks: readonly LaneMark[];
  /** Milliseconds: of the left end, and of the whole width. */
  readonly from: number;
  readonly whole: number;
}

/** What waits is thin, what failed is high: nobody has to tell the colours apart. */
const HEIGHT: Readonly<Record<LaneSpan['kind'], number>> = {
  building: 60,
  reviewing: 44,
  queued: 12,
  checks: 60,
};
/** Of the width: what took a moment is still seen. */
const NARROWEST = 0.004;

function LaneTrack({ name, title, spans, marks, from, whole }: TrackProps) {
  const share = (at: number) => Math.max(0, Math.min(1, (at - from) / whole));
  return (
    <>
      <bdi class="track-name mono" title={title}>
        {name}
      </bdi>
      <Strip look="cells is-lane" columns={1} label={trackLabel(name, spans, marks)}>
        <rect class="cell is-none" x={0} y={49} width={1} height={2} />
        {spans.map((span, at) => {
          const x = share(span.from);
          const width = Math.max(NARROWEST, share(span.to ?? from + whole) - x);
          const height = HEIGHT[span.kind];
          return (
            <rect
              key={at}
              class={`cell ${lookOf(span)}`}
              x={x}
              y={50 - height / 2}
              width={width}
              height={height}
            >
              <title>{spanTitle(span, from + whole)}</title>
            </rect>
          );
        })}
        {marks
          .filter(({ kind }) => kind !== 'kept')
          .map((mark, at) => (
            <rect
              key={at}
              class={`cell ${mark.kind === 'landed' ? 'is-green' : 'is-red'}`}
              x={Math.min(1 - NARROWEST, share(mark.at))}
              y={0}
              width={NARROWEST}
              height={100}
            >
              <title>{`${mark.kind.replaceAll(/[-_]/g, ' ')}: ${mark.text}`}</title>
            </rect>
          ))}
      </Strip>
    </>
  );
}

function lookOf({ kind, passed }: LaneSpan): string {
  if (kind !== 'checks') return `is-${kind}`;
  return passed === undefined ? 'is-flaky' : passed ? 'is-green' : 'is-red';
}

function spanTitle({ kind, what, from, to, passed }: LaneSpan, end: number): string {
  const result = passed === undefined ? '' : passed ? ': passed' : ': failed';
  const name = kind === 'checks' ? `checks of ${what}` : kind === 'queued' ? 'in the queue' : what;
  return `${name}${result}, ${duration(((to ?? end) - from) / 1000)}`;
}

function trackLabel(name: string, spans: readonly LaneSpan[], marks: readonly LaneMark[]): string {
  const iterations = spans.filter(({ kind }) => kind === 'building' || kind === 'reviewing').length;
  const back = marks.filter(({ kind }) => kind === 'sent-back').length;
  const end = marks.findLast(({ kind }) => kind !== 'sent-back')?.kind;
  return [
    `${name}: ${counted(iterations, 'iteration')}`,
    ...(back > 0 ? [`sent back ${counted(back, 'time')}`] : []),
    ...(end === undefined ? [] : [end.replaceAll('_', ' ')]),
  ].join(', ');
}
