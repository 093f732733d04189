/** What happened beside the steps: notices, commits, waits, unknown events, and changes to protected files. */
import { useState } from 'preact/hooks';
import { counted } from '../report/numbers.ts';
import { violationPhrase } from '../report/phrases.ts';
import type { Remark, ViolationView } from '../report/run-view.ts';
import { Section, withCode } from './section.tsx';
import { clockTime } from './time.ts';

const SHOWN = 30;

export function Remarks({ remarks }: { readonly remarks: readonly Remark[] }) {
  const [all, setAll] = useState(false);
  if (remarks.length === 0) return null;
  const shown = all ? remarks.slice(-2_000) : remarks.slice(-SHOWN);
  const left = remarks.length - shown.length;
  return (
    <Section title="Remarks" note={<small>{counted(remarks.length, 'remark')}</small>}>
      {left > 0 && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          Show {left} earlier
        </button>
      )}
      <ul class="remarks">
        {shown.map(({ seq, at, iteration, type, level, text }) => (
          <li key={seq} class={`remark is-${level}`}>
            <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time>
            <span class="tag">{iteration > 0 ? `${iteration} · ${type}` : type}</span>
            <bdi dir="ltr">{withCode(text)}</bdi>
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Violations({ violations }: { readonly violations: readonly ViolationView[] }) {
  if (violations.length === 0) return null;
  return (
    <Section title="Violations" note={<small>{counted(violations.length, 'violation')}</small>}>
      <ul class="remarks">
        {violations.slice(-200).map((violation, at) => (
          <li key={at} class={`remark is-${violation.restored ? 'warning' : 'error'}`}>
            <span class="tag">iteration {violation.iteration}</span>
            <bdi dir="ltr">{violationPhrase(violation)}</bdi>
          </li>
        ))}
      </ul>
    </Section>
  );
}
