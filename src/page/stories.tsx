/** The board: what is open, in review, sent back, approved, and how each story came there. */
import { counted } from '../report/numbers.ts';
import type { IterationView, StoryStatus, StoryView } from '../report/run-view.ts';
import { Section } from './run.tsx';

interface StoriesProps {
  readonly stories: readonly StoryView[];
  readonly iterations: readonly IterationView[];
  readonly onPick: (iteration: number) => void;
}

const COLUMNS: readonly (readonly [StoryStatus, string])[] = [
  ['open', 'Open'],
  ['needs_review', 'In review'],
  ['changes_requested', 'Sent back'],
  ['approved', 'Approved'],
];

export function Stories({ stories, iterations, onPick }: StoriesProps) {
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
                <Story
                  key={story.id}
                  story={story}
                  iterations={iterations.filter(({ story: id }) => id === story.id)}
                  onPick={onPick}
                />
              ))}
            </section>
          );
        })}
      </div>
    </Section>
  );
}

interface StoryProps {
  readonly story: StoryView;
  readonly iterations: readonly IterationView[];
  readonly onPick: (iteration: number) => void;
}

function Story({ story: { id, title, reviews, feedback }, iterations, onPick }: StoryProps) {
  return (
    <details class="story">
      <summary>
        <b class="mono">{id}</b> <bdi>{title}</bdi>
        <small>{counted(reviews, 'review')}</small>
      </summary>
      {feedback !== '' && (
        <blockquote dir="auto">
          <p>{feedback}</p>
        </blockquote>
      )}
      <ol class="history">
        {iterations.map(({ number, mode, why, stopReason }) => (
          <li key={number}>
            <button type="button" class="link" onClick={() => onPick(number)}>
              {number} {mode}
            </button>{' '}
            <small>{why ?? stopReason ?? ''}</small>
          </li>
        ))}
      </ol>
    </details>
  );
}
