/** The board of a parallel run: a column for each state, and how each lane got to where it is. */
import { useMemo } from 'preact/hooks';
import { type Lane, laneUsage } from '../domain/lanes/board.ts';
import { dollars } from '../domain/turn/usage.ts';
import { type BoardView, boardView, type Children, type LaneCard } from '../report/board-view.ts';
import type { LaneMark } from '../report/lane-history.ts';
import type { RunReading, RunView } from '../report/run-view.ts';
import { Linked, Section, withCode } from './section.tsx';
import { clockTime, useClock } from './time.ts';

/** The address of a run; undefined: it cannot be shown here. */
export type LinkTo = (run: string) => string | undefined;

interface BoardProps {
  readonly run: RunReading;
  readonly linkTo: LinkTo;
  /** What the runs of the lanes have used by now, by their ids. */
  readonly children?: Children | undefined;
}

export function Board({ run: { view, state }, linkTo, children }: BoardProps) {
  const isRunning = state === 'running';
  const now = useClock(isRunning);
  const board = useMemo(
    () => boardView(view, { now, isRunning, ...(children && { children }) }),
    [view, now, isRunning, children],
  );
  if (!board) return null;
  const { landed, total, money, columns } = board;
  // Nothing moves into a column any more when the run is over.
  const shown = isRunning ? columns : columns.filter(({ lanes }) => lanes.length > 0);
  const note = [`${landed} of ${total} landed`, ...(money === '' ? [] : [money])].join(' · ');
  return (
    <Section title="Board" note={<small>{note}</small>}>
      <Waits board={board} view={view} />
      <div class="board is-parallel">
        {shown.map(({ state: column, name, lanes }) => (
          <section
            key={column}
            class={`lane is-${column}${lanes.length === 0 ? ' is-empty' : ''}`}
            aria-label={name}
          >
            <h3>
              {name} <small>{lanes.length}</small>
            </h3>
            {lanes.map(card => (
              <Card key={card.id} card={card} view={view} linkTo={linkTo} />
            ))}
          </section>
        ))}
      </div>
    </Section>
  );
}

/** What is being waited for, and what became of the user's branch. */
function Waits({ board: { waits }, view }: { readonly board: BoardView; readonly view: RunView }) {
  const { integrated } = view.lanes;
  const words = [
    ...waits,
    ...(integrated
      ? [
          integrated.problem ??
            `${integrated.branch} is at ${integrated.commit.slice(0, 12)}, with all that has landed`,
        ]
      : []),
  ];
  if (words.length === 0) return null;
  return (
    <ul class="waits" aria-label="What is being waited for">
      {words.map(text => (
        <li key={text}>
          <bdi>{withCode(text)}</bdi>
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  readonly card: LaneCard;
  readonly view: RunView;
  readonly linkTo: LinkTo;
}

function Card({ card: { id, title, run, facts, why }, view, linkTo }: CardProps) {
  const href = run === null ? undefined : linkTo(run);
  const lane = view.board?.lanes.find(each => each.id === id);
  const marks = view.lanes.marks.filter(({ story }) => story === id);
  return (
    <article class="story">
      <p>
        {href === undefined ? (
          <b class="mono">{id}</b>
        ) : (
          <a class="mono" href={href}>
            {id}
          </a>
        )}{' '}
        <bdi>{title}</bdi>
        <small>{facts.join(' · ')}</small>
      </p>
      {why !== '' && <p class="why">{withCode(why)}</p>}
      {(marks.length > 0 || (lane?.runs.length ?? 0) > 1) && (
        <details>
          <summary>History</summary>
          {lane && <Runs lane={lane} linkTo={linkTo} />}
          <ol class="history">
            {marks.map((mark, at) => (
              <Happened key={at} mark={mark} />
            ))}
          </ol>
        </details>
      )}
    </article>
  );
}

/** Each time it was sent back a new one began. */
function Runs({ lane: { runs, used }, linkTo }: { readonly lane: Lane; readonly linkTo: LinkTo }) {
  return (
    <ul class="history">
      {runs.map((id, at) => {
        const own = used[id];
        const cost = own && laneUsage({ used: { [id]: own } })?.cost;
        return (
          <li key={id}>
            <Linked href={linkTo(id)}>{`Run ${at + 1}`}</Linked>{' '}
            <small>{cost === undefined ? '' : dollars(cost)}</small>
          </li>
        );
      })}
    </ul>
  );
}

const NAMES: Readonly<Record<LaneMark['kind'], string>> = {
  'sent-back': 'sent back, because',
  landed: 'landed as',
  needs_you: 'stopped:',
  kept: 'kept:',
};

function Happened({ mark: { kind, at, text, detail } }: { readonly mark: LaneMark }) {
  return (
    <li>
      <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time>{' '}
      <small>
        {NAMES[kind]} {kind === 'landed' ? text.slice(0, 12) : text}
      </small>
      {detail !== undefined && <pre class="evidence">{detail}</pre>}
    </li>
  );
}
