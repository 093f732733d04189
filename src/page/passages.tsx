/** What the agent said and did, in order. All of it comes from outside and is only ever shown as text; its own words as Markdown. */
import type { TodoStatus } from '../domain/turn/agent-event.ts';
import { counted } from '../report/numbers.ts';
import type { Passage } from '../report/transcript.ts';
import { Rendered } from './rendered.tsx';
import { Scrolled } from './section.tsx';

export function Passages({ passages }: { readonly passages: readonly Passage[] }) {
  return (
    <ol class="passages">
      {passages.map((passage, at) => (
        <li key={at} class={`passage is-${passage.kind}`}>
          <Content passage={passage} />
        </li>
      ))}
    </ol>
  );
}

const TODO: Record<TodoStatus, string> = { done: '☑', active: '▸', pending: '☐' };

function Content({ passage }: { readonly passage: Passage }) {
  switch (passage.kind) {
    case 'words':
    case 'thinking':
    case 'subagent':
      return <Words kind={passage.kind} text={passage.text} />;
    case 'note':
    case 'trouble':
      return <p dir="auto">{passage.text}</p>;
    case 'todo':
      return (
        <ul class="todo">
          {passage.items.map(({ text, status }) => (
            <li key={text}>
              <span aria-label={status} role="img">
                {TODO[status] ?? '☐'}
              </span>{' '}
              <bdi>{text}</bdi>
            </li>
          ))}
        </ul>
      );
    case 'tool':
      return <Tool tool={passage} />;
    default:
      return passage satisfies never;
  }
}

function Words({ kind, text }: { readonly kind: 'words' | 'thinking' | 'subagent'; readonly text: string }) {
  return (
    <>
      {kind !== 'words' && <span class="who">{kind}</span>}
      <Rendered text={text} />
    </>
  );
}

function Tool({ tool }: { readonly tool: Passage & { readonly kind: 'tool' } }) {
  const { name, summary, ok, output, lines, exitCode } = tool;
  const sign = ok === null ? '…' : ok ? '✓' : '✗';
  const label = ok === null ? 'running' : ok ? 'worked' : 'failed';
  const head = (
    <>
      <span class={`sign is-${ok === null ? 'unknown' : ok ? 'yes' : 'no'}`} role="img" aria-label={label}>
        {sign}
      </span>
      <b class="mono">{name}</b> <bdi class="mono">{summary}</bdi>
      {exitCode !== null && exitCode !== 0 && <small>exit code {exitCode}</small>}
    </>
  );
  if (output === '') return <p class="tool">{head}</p>;
  const shown = output.split('\n').length;
  return (
    <details class="tool">
      <summary>
        {head} <small>{counted(lines, 'line')}</small>
      </summary>
      <Scrolled dir="auto">{output}</Scrolled>
      {lines > shown && <p class="left">{counted(lines - shown, 'line')} more in the raw stream</p>}
    </details>
  );
}
