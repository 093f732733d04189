/** One run, from its verdict down to the agent's own words. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Children } from '../report/board-view.ts';
import { counted } from '../report/numbers.ts';
import { violationPhrase } from '../report/phrases.ts';
import type { Remark, RunReading, ViolationView } from '../report/run-view.ts';
import { Board, type LinkTo } from './board.tsx';
import { Curves } from './curves.tsx';
import type { FindDetail } from './data.ts';
import { Changes } from './diff.tsx';
import { Head } from './head.tsx';
import { Iterations } from './iterations.tsx';
import { LaneTimeline } from './lane-timeline.tsx';
import { Section, withCode } from './section.tsx';
import { Stories } from './stories.tsx';
import { clockTime } from './time.ts';
import { Timeline } from './timeline.tsx';

interface RunProps {
  readonly run: RunReading;
  readonly find: FindDetail;
  readonly linkTo?: LinkTo;
  /** Of a parallel run: what the runs of its lanes have used by now. */
  readonly lanes?: Children | undefined;
  /** What is shown below the head: the controls of a dashboard. */
  readonly children?: ComponentChildren;
}

const NOWHERE: LinkTo = () => undefined;

export function Run({ run, find, linkTo = NOWHERE, lanes, children }: RunProps) {
  const { view } = run;
  const [wanted, setWanted] = useState<number>();
  return (
    <article class="run">
      <Head run={run} linkTo={linkTo} children={lanes} />
      {children}
      {view.board ? (
        <>
          <Board run={run} linkTo={linkTo} children={lanes} />
          <LaneTimeline run={run} />
        </>
      ) : (
        <>
          <Timeline view={view} onPick={setWanted} />
          <Curves iterations={view.iterations} />
          <Stories stories={run.stories} view={view} onPick={setWanted} />
          <Changes view={view} find={find} />
          <Violations violations={view.violations} />
          <Iterations view={view} find={find} wanted={wanted} onShown={() => setWanted(undefined)} />
        </>
      )}
      <Remarks remarks={view.remarks} />
    </article>
  );
}

const SHOWN = 30;

function Remarks({ remarks }: { readonly remarks: readonly Remark[] }) {
  const [all, setAll] = useState(false);
  if (remarks.length === 0) return null;
  const shown = all ? remarks.slice(-2_000) : remarks.slice(-SHOWN);
  const left = remarks.length - shown.length;
  return (
    <Section title="Remarks" note={<small>{counted(remarks.length, 'remark')}</small>}>
      {left > 0 && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          Show {left} earlier
        </button>
      )}
      <ul class="remarks">
        {shown.map(({ seq, at, iteration, type, level, text }) => (
          <li key={seq} class={`remark is-${level}`}>
            <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time>
            <span class="tag">{iteration > 0 ? `${iteration} · ${type}` : type}</span>
            <bdi dir="ltr">{withCode(text)}</bdi>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Violations({ violations }: { readonly violations: readonly ViolationView[] }) {
  if (violations.length === 0) return null;
  return (
    <Section title="Violations" note={<small>{counted(violations.length, 'violation')}</small>}>
      <ul class="remarks">
        {violations.slice(-200).map((violation, at) => (
          <li key={at} class={`remark is-${violation.restored ? 'warning' : 'error'}`}>
            <span class="tag">iteration {violation.iteration}</span>
            <bdi dir="ltr">{violationPhrase(violation)}</bdi>
          </li>
        ))}
      </ul>
    </Section>
  );
}
