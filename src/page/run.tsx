/** One run, from its verdict down to the agent's own words. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { RunReading } from '../report/run-view.ts';
import { Curves } from './curves.tsx';
import type { FindDetail } from './data.ts';
import { Head } from './head.tsx';
import { Iterations } from './iterations.tsx';
import { Remarks, Violations } from './remarks.tsx';
import { Stories } from './stories.tsx';
import { Timeline } from './timeline.tsx';

interface RunProps {
  readonly run: RunReading;
  readonly find: FindDetail;
  /** What is shown below the head: the controls of a dashboard. */
  readonly children?: ComponentChildren;
}

export function Run({ run, find, children }: RunProps) {
  const { view } = run;
  const [wanted, setWanted] = useState<number>();
  return (
    <article class="run">
      <Head run={run} />
      {children}
      <Timeline view={view} onPick={setWanted} />
      <Curves iterations={view.iterations} />
      <Stories stories={run.stories} view={view} onPick={setWanted} />
      <Violations violations={view.violations} />
      <Iterations view={view} find={find} wanted={wanted} onShown={() => setWanted(undefined)} />
      <Remarks remarks={view.remarks} />
    </article>
  );
}
