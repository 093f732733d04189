/** Every iteration as a row that opens. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { dollars } from '../domain/turn/usage.ts';
import { counted, duration } from '../report/numbers.ts';
import { type IterationView, outcomeWords, type RunView, totalSeconds } from '../report/run-view.ts';
import { cellOf, longestOf } from './columns.ts';
import type { FindDetail } from './data.ts';
import { Detail } from './detail.tsx';
import { Section } from './section.tsx';
import { TimeBar } from './time-bar.tsx';
import { Windowed } from './windowed.tsx';

interface IterationsProps {
  readonly view: RunView;
  readonly find: FindDetail;
  /** The iteration to open and bring into view. */
  readonly wanted: number | undefined;
  readonly onShown: () => void;
}

const FILTERS = {
  all: () => true,
  red: (iteration: IterationView) => iteration.checks.some(check => !check.passed && !check.ungated),
  trouble: (iteration: IterationView) =>
    iteration.violations > 0 || (iteration.outcome !== null && iteration.outcome.kind !== 'completed'),
} as const;
type Filter = keyof typeof FILTERS;
const FILTER_NAMES = Object.keys(FILTERS) as readonly Filter[];

export function Iterations({ view, find, wanted, onShown }: IterationsProps) {
  const [filter, setFilter] = useState<Filter>('all');
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const shown = useMemo(() => view.iterations.filter(FILTERS[filter]), [view.iterations, filter]);
  const longest = useMemo(() => longestOf(view.iterations), [view.iterations]);
  useEffect(() => {
    if (wanted === undefined) return;
    setFilter('all');
    setOpen(before => new Set(before).add(wanted));
  }, [wanted]);
  const toggle = (number: number) =>
    setOpen(before => {
      const next = new Set(before);
      if (!next.delete(number)) next.add(number);
      return next;
    });
  return (
    <Section title="Iterations" note={<Filters filter={filter} onChange={setFilter} count={shown.length} />}>
      {shown.length === 0 && (
        <p class="empty">{view.iterations.length === 0 ? 'None yet.' : 'None of that kind.'}</p>
      )}
      <Windowed
        label="Iterations"
        keys={shown.map(({ number }) => number)}
        guess={53}
        wanted={wanted}
        onShown={onShown}
        row={at => {
          const iteration = shown[at];
          if (!iteration) return null;
          const isOpen = open.has(iteration.number);
          return (
            <>
              <Row
                iteration={iteration}
                longest={longest}
                isOpen={isOpen}
                onToggle={() => toggle(iteration.number)}
              />
              {isOpen && <Detail iteration={iteration} find={find} />}
            </>
          );
        }}
      />
    </Section>
  );
}

interface FiltersProps {
  readonly filter: Filter;
  readonly count: number;
  readonly onChange: (filter: Filter) => void;
}

function Filters({ filter, onChange, count }: FiltersProps) {
  return (
    <fieldset class="filters">
      <legend class="hidden">Which iterations</legend>
      {/* Of a run that is running it would be spoken again and again. */}
      <output aria-live={filter === 'all' ? 'off' : 'polite'}>{counted(count, 'iteration')}</output>
      {FILTER_NAMES.map(name => (
        <button key={name} type="button" aria-pressed={name === filter} onClick={() => onChange(name)}>
          {name}
        </button>
      ))}
    </fieldset>
  );
}

interface RowProps {
  readonly iteration: IterationView;
  readonly longest: number;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Row({ iteration, longest, isOpen, onToggle }: RowProps) {
  const { number, checks, usage, mode, story } = iteration;
  return (
    <button type="button" class="row" aria-expanded={isOpen} onClick={onToggle}>
      <span class="row-number">{number}</span>
      <span class="row-checks" role="img" aria-label={checksLabel(iteration)}>
        {checks.map(check => (
          <i key={check.index} class={`dot is-${cellOf(iteration, check.index)}`} title={check.command} />
        ))}
      </span>
      <span class="row-words">
        {mode !== null && <span class="tag">{story === null ? mode : `${mode} ${story}`}</span>}
        <bdi dir="ltr">{outcomeWords(iteration) ?? (iteration.endedAt === null ? 'running' : 'ended')}</bdi>
      </span>
      <TimeBar seconds={iteration.seconds} longest={longest} />
      <span class="row-time">{duration(totalSeconds(iteration.seconds))}</span>
      <span class="row-cost">{usage?.cost === undefined ? '' : dollars(usage.cost)}</span>
    </button>
  );
}

function checksLabel({ checks }: IterationView): string {
  if (checks.length === 0) return 'no checks';
  return `${checks.filter(check => check.passed).length} of ${counted(checks.length, 'check')} passed`;
}
