/** A unified diff, file by file. */
import { useMemo } from 'preact/hooks';
import { filesOf } from '../domain/diffstat.ts';
import { counted } from '../report/numbers.ts';

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
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre tabIndex={0}>
            {lines.map((line, number) => (
              <span key={number} class={`line ${kindOf(line)}`}>
                {line}
                {'\n'}
              </span>
            ))}
          </pre>
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
