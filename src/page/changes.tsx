/** What the run has changed since it began: as it was after the last turn that left something. */
import { useEffect, useState } from 'preact/hooks';
import { diffSum, filesOf } from '../domain/diffstat.ts';
import type { Part, RunView } from '../report/run-view.ts';
import type { FindDetail } from './data.ts';
import { Left } from './detail.tsx';
import { Diff } from './diff.tsx';
import { Section } from './section.tsx';

interface ChangesProps {
  readonly view: RunView;
  readonly find: FindDetail;
}

/** A turn that was over in a moment leaves no diff of its own. */
const LOOKED_BACK = 5;

export function Changes({ view, find }: ChangesProps) {
  const [diff, setDiff] = useState<Part | null>(null);
  const ended = view.iterations.filter(({ endedAt, outcome }) => endedAt !== null || outcome !== null);
  const last = ended.at(-1)?.number ?? 0;
  useEffect(() => {
    let wanted = true;
    void latest(last, find).then(found => wanted && setDiff(found));
    return () => {
      wanted = false;
    };
  }, [last, find]);
  if (!diff) return null;
  return (
    <Section title="Changes" note={<small>{diffSum(filesOf(diff.text))}</small>}>
      <Diff text={diff.text} />
      <Left part={diff} />
    </Section>
  );
}

async function latest(last: number, find: FindDetail): Promise<Part | null> {
  for (let number = last; number > Math.max(0, last - LOOKED_BACK); number--) {
    const detail = await find(number).catch(() => null);
    if (detail?.diff) return detail.diff;
  }
  return null;
}
