/** The board: what is open, in review, sent back, approved, and how each story got there. */
import { counted } from '../report/numbers.ts';
import type { RunView, StoryMove, StoryStatus, StoryView } from '../report/run-view.ts';
import { Section } from './section.tsx';

interface StoriesProps {
  readonly stories: readonly StoryView[];
  readonly view: RunView;
  readonly onPick: (iteration: number) => void;
}

const COLUMNS: readonly (readonly [StoryStatus, string])[] = [
  ['open', 'Open'],
  ['needs_review', 'In review'],
  ['changes_requested', 'Sent back'],
  ['approved', 'Approved'],
];

export function Stories({ stories, view, onPick }: StoriesProps) {
  if (stories.length === 0) return null;
  const done = stories.filter(({ status }) => status === 'approved').length;
  return (
    <Section title="Stories" note={<small>{`${done} of ${stories.length} approved`}</small>}>
      <div class="board">
        {COLUMNS.map(([status, name]) => {
          const here = stories.filter(story => story.status === status);
          return (
            <section key={status} class={`lane is-${status}`} aria-label={name}>
              <h3>
                {name} <small>{here.length}</small>
              </h3>
              {here.map(story => (
                <Story key={story.id} story={story} view={view} onPick={onPick} />
              ))}
            </section>
          );
        })}
      </div>
    </Section>
  );
}

interface StoryProps extends Omit<StoriesProps, 'stories'> {
  readonly story: StoryView;
}

function Story({ story: { id, title, reviews, feedback }, view, onPick }: StoryProps) {
  const moves = view.moves.filter(({ story }) => story === id);
  const modes = new Map(view.iterations.map(({ number, mode }) => [number, mode]));
  return (
    <details class="story">
      <summary>
        <b class="mono">{id}</b> <bdi>{title}</bdi>
        <small>{reviews === 0 ? 'not reviewed' : counted(reviews, 'review')}</small>
      </summary>
      {feedback !== '' && <Quote text={feedback} />}
      <ol class="history">
        {moves.map((move, at) => (
          <Move key={at} move={move} mode={modes.get(move.iteration) ?? null} onPick={onPick} />
        ))}
      </ol>
    </details>
  );
}

interface MoveProps extends Pick<StoriesProps, 'onPick'> {
  readonly move: StoryMove;
  readonly mode: string | null;
}

function Move({ move: { iteration, status, feedback }, mode, onPick }: MoveProps) {
  const [, name = status] = COLUMNS.find(([each]) => each === status) ?? [];
  return (
    <li>
      <button type="button" class="link" onClick={() => onPick(iteration)}>
        Iteration {iteration}
      </button>{' '}
      <small>
        {mode === null ? '' : `${mode}: `}
        {name.toLowerCase()}
      </small>
      {feedback !== '' && <Quote text={feedback} />}
    </li>
  );
}

function Quote({ text }: { readonly text: string }) {
  return (
    <blockquote dir="auto">
      <p>{text}</p>
    </blockquote>
  );
}
