/** What an agent wrote, with the few elements of Markdown that help to read it. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { type Block, parseBlocks, parseSpans, type Span } from './markdown.ts';
import { Scrolled } from './section.tsx';

export function Rendered({ text }: { readonly text: string }) {
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
