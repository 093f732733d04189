/** A unified diff, file by file; and what the run has changed since it began. */
import { useMemo } from 'preact/hooks';
import { diffSum, filesOf } from '../domain/text/diffstat.ts';
import { compact, counted } from '../report/numbers.ts';
import { BEFORE, type Part, type RunView } from '../report/run-view.ts';
import { type FindDetail, useFound } from './data.ts';
import { Fold, Scrolled, Section } from './section.tsx';

/** A file with more is closed at first. */
const SHORT = 400;

export function Diff({ text }: { readonly text: string }) {
  const files = useMemo(() => filesOf(text), [text]);
  return (
    <div class="diff">
      {files.map(({ name, lines, added, removed }, at) => (
        <details key={at} open={files.length <= 20 && lines.length <= SHORT}>
          <summary>
            <bdi class="mono">{name}</bdi> <small class="plus">+{added}</small>{' '}
            <small class="minus">−{removed}</small>
            <span class="hidden">{counted(lines.length, 'line')}</span>
          </summary>
          <Scrolled>
            {lines.map((line, number) => (
              <span key={number} class={`line ${kindOf(line)}`}>
                {line}
                {'\n'}
              </span>
            ))}
          </Scrolled>
        </details>
      ))}
    </div>
  );
}

function kindOf(line: string): string {
  switch (line[0]) {
    case '+':
      return 'is-plus';
    case '-':
      return 'is-minus';
    case '@':
      return 'is-place';
    default:
      return '';
  }
}

/** A turn that was over in a moment leaves no diff of its own. */
const LOOKED_BACK = 5;

/** What the run has changed since it began: as it was after the last turn that left something and was not undone. What was changed before it is not its work. */
export function Changes({ view, find }: { readonly view: RunView; readonly find: FindDetail }) {
  const ended = view.iterations.filter(({ endedAt, outcome }) => endedAt !== null || outcome !== null);
  const { number: end = 0, endedAt } = ended.at(-1) ?? {};
  const back = view.restores.at(-1);
  // After a way back the files are those of the iteration that it led to.
  const last = back?.from === end ? back.to : end;
  // Between the end of a turn and that of its iteration its diff is written.
  const diff = useFound(() => latest(last, find), [last, endedAt, find]);
  const before = useFound(() => diffOf(BEFORE, find), [last, endedAt, find]);
  if (!diff && !before) return null;
  const sum = ({ text }: Part) => diffSum(filesOf(text));
  return (
    <Section title="Changes" note={<small>{diff ? sum(diff) : 'none by the run'}</small>}>
      {diff && <Diff text={diff.text} />}
      {diff && <Left part={diff} />}
      {before && (
        <Fold title="Changed before the run" note={sum(before)}>
          <Diff text={before.text} />
          <Left part={before} />
        </Fold>
      )}
    </Section>
  );
}

async function latest(last: number, find: FindDetail): Promise<Part | null> {
  for (let number = last; number > Math.max(0, last - LOOKED_BACK); number--) {
    const diff = await diffOf(number, find);
    if (diff) return diff;
  }
  return null;
}

async function diffOf(number: number, find: FindDetail): Promise<Part | null> {
  const detail = await find(number).catch(() => null);
  return detail?.diff ?? null;
}

export function Left({ part: { left, file } }: { readonly part: Part }) {
  if (left === 0) return null;
  return (
    <p class="left">
      {compact(left)} bytes more in <code>{file}</code>
    </p>
  );
}
