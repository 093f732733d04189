/** Many runs: how often they succeed, what that costs, where the time goes. */

import { trustMark } from '../domain/run/ledger-trust.ts';
import { standingWords } from '../domain/run/overview.ts';
import { dollars } from '../domain/turn/usage.ts';
import { compact, duration } from '../report/numbers.ts';
import { totalSeconds } from '../report/run-view.ts';
import type { RunFigures, RunsFigures } from '../report/runs-figures.ts';
import type { LinkTo } from './board.tsx';
import { Figure } from './head.tsx';
import { Linked, Section } from './section.tsx';
import { timeOfDay } from './time.ts';
import { Legend, TimeBar } from './time-bar.tsx';

const SHOWN = 1_000;

interface AllRunsProps {
  readonly figures: RunsFigures;
  readonly linkTo: LinkTo;
}

export function AllRuns({ figures, linkTo }: AllRunsProps) {
  const { runs, seconds, successRate, iterationsToDone, cost, costPerStory, reviewsPerStory } = figures;
  return (
    <article class="run">
      <header class="head">
        <p class="kicker">
          <span>ralph report --all</span>
        </p>
        <h1>
          {figures.done} of {figures.ended} runs done
        </h1>
        <dl class="figures is-wide">
          <Figure name="Success rate" value={known(successRate, share => `${Math.round(share * 100)} %`)} />
          <Figure name="Iterations to done" value={known(iterationsToDone, mean => mean.toFixed(1))} />
          <Figure name="Cost" value={known(cost, dollars)} />
          <Figure name="Cost per verified story" value={known(costPerStory, dollars)} />
          <Figure name="Reviews per story" value={known(reviewsPerStory, mean => mean.toFixed(1))} />
          <Figure name="Stories verified" value={String(figures.storiesVerified)} />
        </dl>
      </header>
      <Section title="Time">
        <TimeBar seconds={seconds} longest={Math.max(0.001, totalSeconds(seconds))} look=" is-big" />
        <Legend seconds={seconds} look=" is-below" />
      </Section>
      <Section title="Runs">
        <RunTable runs={runs} linkTo={linkTo} />
      </Section>
    </article>
  );
}

const COLUMNS = [
  ['run'],
  ['task'],
  ['result'],
  ['agent'],
  ['iterations', 'number'],
  ['cost', 'number'],
  ['tokens', 'number'],
  ['time', 'number'],
  ['started'],
] as const;

function RunTable({ runs, linkTo }: Pick<AllRunsProps, 'linkTo'> & { readonly runs: readonly RunFigures[] }) {
  const shown = runs.slice(-SHOWN).toReversed();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label="All runs">
      <table>
        <thead>
          <tr>
            {COLUMNS.map(([name, kind]) => (
              <th key={name} scope="col" class={kind}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(run => (
            <tr key={`${run.project} ${run.id}`}>
              <th scope="row" class="mono">
                <Linked href={linkTo(run.id)}>{run.id}</Linked>
              </th>
              <td dir="auto">{run.title}</td>
              <td class={`state is-${run.state}`}>
                {standingWords(run.state, run.stopReason)}
                {trustMark(run.ledger)}
              </td>
              <td>
                {run.agent} <small>ralph {run.command}</small>
              </td>
              <td class="number">{run.iterations}</td>
              <td class="number">{run.cost === null ? '–' : dollars(run.cost)}</td>
              <td class="number">{run.tokens === null ? '–' : compact(run.tokens)}</td>
              <td class="number">{duration(run.elapsed)}</td>
              <td>{run.startedAt === null ? '' : timeOfDay(run.startedAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {runs.length > SHOWN && <p class="left">{runs.length - SHOWN} earlier runs not shown</p>}
    </section>
  );
}

function known(value: number | null, say: (value: number) => string): string {
  return value === null ? '–' : say(value);
}
