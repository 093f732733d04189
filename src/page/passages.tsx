/** What the agent said and did, in order. All of it comes from outside and is only ever shown as text; its own words as Markdown. */

import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { TodoStatus } from '../domain/turn/agent-event.ts';
import { counted } from '../report/numbers.ts';
import type { Passage } from '../report/transcript.ts';
import { type Block, parseBlocks, parseSpans, type Span } from './markdown.ts';
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
      return (
        <>
          {passage.kind !== 'words' && <span class="who">{passage.kind}</span>}
          <Rendered text={passage.text} />
        </>
      );
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

function Rendered({ text }: { readonly text: string }) {
  const blocks = useMemo(() => parseBlocks(text), [text]);
  return (
    <div class="rendered" dir="auto">
      {blocks.map((block, at) => (
        <BlockOf key={at} block={block} />
      ))}
    </div>
  );
}

function BlockOf({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'code':
      return <Scrolled>{block.text}</Scrolled>;
    // Not a heading of the page: its outline is ours.
    case 'heading':
      return (
        <p>
          <b>{spansOf(parseSpans(block.text))}</b>
        </p>
      );
    case 'quote':
      return (
        <blockquote>
          <p>{spansOf(parseSpans(block.text))}</p>
        </blockquote>
      );
    case 'paragraph':
      return <p>{spansOf(parseSpans(block.text))}</p>;
    case 'list':
      return (
        <ul>
          {block.items.map(({ sign, depth, text }, at) => (
            <li key={at} class={`is-deep-${depth}`}>
              <span aria-hidden="true">{sign}</span>
              <p>{spansOf(parseSpans(text))}</p>
            </li>
          ))}
        </ul>
      );
    default:
      return block satisfies never;
  }
}

function spansOf(spans: readonly Span[]): ComponentChildren {
  return spans.map((span, at) => {
    switch (span.kind) {
      case 'text':
        return span.text;
      case 'code':
        return <code key={at}>{span.text}</code>;
      case 'strong':
        return <strong key={at}>{spansOf(span.spans)}</strong>;
      case 'em':
        return <em key={at}>{spansOf(span.spans)}</em>;
      case 'link':
        return (
          <a key={at} href={span.url} title={span.url} target="_blank" rel="noopener noreferrer nofollow">
            {spansOf(span.spans)}
          </a>
        );
      default:
        return span satisfies never;
    }
  });
}
