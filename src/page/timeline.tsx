/** Where the time went and how the checks stood, iteration by iteration, on one axis. */
import { useMemo } from 'preact/hooks';
import { duration } from '../report/numbers.ts';
import { timePhrases } from '../report/phrases.ts';
import { type IterationView, type RunView, totalSeconds } from '../report/run-view.ts';
import { type Cell, type CellState, type Column, checkNames, columnsOf, longestOf } from './columns.ts';
import { Section, Strip } from './section.tsx';
import { KINDS, Legend } from './time-bar.tsx';

interface TimelineProps {
  readonly view: RunView;
  readonly onPick: (iteration: number) => void;
}

const WIDEST = 56;

export function Timeline({ view, onPick }: TimelineProps) {
  const names = useMemo(() => checkNames(view.checks, view.iterations), [view.checks, view.iterations]);
  const columns = useMemo(() => columnsOf(view.iterations, names.length), [view.iterations, names.length]);
  const [first, last] = [columns[0], columns.at(-1)];
  if (!first || !last || !view.iterations.some(hasSomething)) return null;
  const pick = (event: MouseEvent & { currentTarget: Element }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * columns.length);
    const column = columns[Math.max(0, Math.min(columns.length - 1, at))];
    if (column) onPick(column.first);
  };
  const width = { maxWidth: `${columns.length * WIDEST}px` };
  return (
    <Section title="Timeline" note={<Legend />}>
      <div class="tracks">
        <span class="track-name">time, up to {duration(longestOf(columns))}</span>
        <Strip look="bars" columns={columns.length} style={width} label={timeLabel(view)} onClick={pick}>
          <Bars columns={columns} />
        </Strip>
        {names.map((name, index) => (
          <Track
            key={`${index} ${name}`}
            name={name}
            cells={columns.map(column => column.cells[index] ?? NO_CELL)}
            width={width}
          />
        ))}
        <WayBack view={view} columns={columns} width={width} />
        <span class="track-name" />
        <span class="axis" style={width} aria-hidden="true">
          <span>{first.first}</span>
          <span>{last.last > first.first ? last.last : ''}</span>
        </span>
      </div>
    </Section>
  );
}

function Bars({ columns }: { readonly columns: readonly Column[] }) {
  const longest = longestOf(columns);
  return (
    <>
      {columns.map((column, at) => {
        let top = 100;
        return (
          <g key={column.first}>
            <title>{barTitle(column)}</title>
            <rect x={at} y={0} width={1} height={100} class="bar-hit" />
            {KINDS.map(kind => {
              const height = (column.seconds[kind] / longest) * 100;
              top -= height;
              return (
                height > 0 && <Bar key={kind} look={`bar is-${kind}`} at={at} top={top} height={height} />
              );
            })}
          </g>
        );
      })}
    </>
  );
}

interface BarProps {
  readonly look: string;
  /** The number of its column. */
  readonly at: number;
  readonly top: number;
  readonly height: number;
}

/** A little narrower than its column, so that two are seen as two. */
function Bar({ look, at, top, height }: BarProps) {
  return <rect class={look} x={at + 0.08} y={top} width={0.84} height={height} />;
}

/** The first iteration of a run that has just begun has nothing to show. */
function hasSomething({ seconds, checks }: IterationView): boolean {
  return totalSeconds(seconds) > 0 || checks.length > 0;
}

interface WayBackProps {
  readonly view: RunView;
  readonly columns: readonly Column[];
  readonly width: { readonly maxWidth: string };
}

/** The best iteration, and each time that the run went back to one. */
function WayBack({ view, columns, width }: WayBackProps) {
  const { restores, ending } = view;
  const best = ending?.best?.iteration;
  const last = view.iterations.at(-1)?.number;
  if (restores.length === 0 && (best === undefined || best === last)) return null;
  const at = (iteration: number) => columns.findIndex(column => iteration <= column.last);
  const words = [
    ...(best === undefined ? [] : [`iteration ${best} ended best`]),
    ...restores.map(({ from, to }) => `from iteration ${from} back to ${to}`),
  ].join(', ');
  return (
    <>
      <span class="track-name">best, and ways back</span>
      <Strip look="cells way-back" columns={columns.length} style={width} label={words}>
        <title>{words}</title>
        {best !== undefined && <Bar look="cell is-green" at={at(best)} top={0} height={100} />}
        {restores.map(({ from, to }, index) => (
          <rect
            key={index}
            class="cell is-flaky"
            x={at(to) + 1}
            y={(100 * index) / restores.length + 10}
            width={Math.max(0.1, at(from) - at(to) - 0.5)}
            height={Math.min(20, 60 / restores.length)}
          />
        ))}
      </Strip>
    </>
  );
}

interface TrackProps {
  readonly name: string;
  readonly cells: readonly Cell[];
  readonly width: { readonly maxWidth: string };
}

const NO_CELL: Cell = { state: 'none', share: 1 };

/** Red is high and green is thin: nobody has to tell the colours apart. */
const HEIGHT: Record<CellState, number> = { none: 4, green: 36, flaky: 60, excused: 60, red: 100 };
/** What happened once in a hundred iterations is still seen. */
const LOWEST = 16;

function Track({ name, cells, width }: TrackProps) {
  const red = cells.filter(({ state }) => state === 'red').length;
  const now = cells.findLast(({ state }) => state !== 'none')?.state ?? 'none';
  const label = `${name}: red in ${red} of ${cells.length}, ${now === 'none' ? 'never run' : `${now} at the end`}`;
  return (
    <>
      <bdi class="track-name mono" title={name}>
        {name}
      </bdi>
      <Strip look="cells" columns={cells.length} style={width} label={label}>
        {cells.map(({ state, share }, at) => {
          const height = Math.max(Math.min(LOWEST, HEIGHT[state]), HEIGHT[state] * share);
          return <Bar key={at} look={`cell is-${state}`} at={at} top={50 - height / 2} height={height} />;
        })}
      </Strip>
    </>
  );
}

function barTitle({ first, last, seconds }: Column): string {
  const name = first === last ? `Iteration ${first}` : `Iterations ${first} to ${last}, on average`;
  return `${name}: ${timePhrases(seconds).join(', ')}`;
}

function timeLabel({ iterations, seconds }: RunView): string {
  return `Time of ${iterations.length} iterations: agent ${duration(seconds.agent)}, checks ${duration(seconds.checks)}, waiting ${duration(seconds.waiting)}`;
}
