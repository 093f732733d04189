/** What a run has changed so far, when somebody wants to see it. */
import { useState } from 'preact/hooks';
import type { IterationDetail, IterationView } from '../report/run-view.ts';
import type { FindDetail } from './data.ts';
import { Diff } from './diff.tsx';
import { Section } from './section.tsx';

interface ChangesProps {
  readonly iterations: readonly IterationView[];
  readonly find: FindDetail;
}

export function Changes({ iterations, find }: ChangesProps) {
  const [diff, setDiff] = useState<IterationDetail['diff'] | string>();
  const open = async () => {
    setDiff('Reading…');
    // A turn that has not ended has left none yet.
    for (const { number } of iterations.slice(-2).toReversed()) {
      const found = (await find(number).catch(() => null))?.diff;
      if (found) return setDiff(found);
    }
    return setDiff('Nothing has changed yet.');
  };
  const button = (
    <button type="button" class="action" onClick={() => void open()}>
      {diff === undefined ? 'Show the diff' : 'Read it again'}
    </button>
  );
  return (
    <Section title="Changes" note={button}>
      {typeof diff === 'string' && <p class="empty">{diff}</p>}
      {diff && typeof diff === 'object' && (
        <>
          <Diff text={diff.text} />
          {diff.left > 0 && (
            <p class="left">
              more in <code>{diff.file}</code>
            </p>
          )}
        </>
      )}
    </Section>
  );
}
