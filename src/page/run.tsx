/** One run, from its verdict down to the agent's own words. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Children } from '../report/board-view.ts';
import type { RunReading } from '../report/run-view.ts';
import { Board, type LinkTo } from './board.tsx';
import { Curves } from './curves.tsx';
import type { FindDetail } from './data.ts';
import { Changes } from './diff.tsx';
import { Head } from './head.tsx';
import { Iterations } from './iterations.tsx';
import { LaneTimeline } from './lane-timeline.tsx';
import { Remarks, Violations } from './remarks.tsx';
import { Stories } from './stories.tsx';
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
