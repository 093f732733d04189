/** One run, from its verdict down to the words of the agent. */
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
  /** What stands under the head: the controls of a dashboard. */
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

export function Section({ title, note, children }: SectionProps) {
  const id = `section-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return (
    <section class="card" aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        {note}
      </header>
      {children}
    </section>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}
