import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBlocks, parseSpans, type Span } from '../../src/page/markdown.ts';

const text = (words: string): Span => ({ kind: 'text', text: words });

describe('blocks', () => {
  test('what agents write', () => {
    const words =
      '# Done\n\nI fixed **two** bugs:\n- one\n  more of one\n  - below\n2. two\n\n```ts\nconst a = 1;\n# no heading\n```\n> quoted\nThe end\nin two lines';
    expect(parseBlocks(words)).toEqual([
      { kind: 'heading', text: 'Done' },
      { kind: 'paragraph', text: 'I fixed **two** bugs:' },
      {
        kind: 'list',
        items: [
          { sign: '•', depth: 0, text: 'one\nmore of one' },
          { sign: '•', depth: 1, text: 'below' },
          { sign: '2.', depth: 0, text: 'two' },
        ],
      },
      { kind: 'code', text: 'const a = 1;\n# no heading' },
      { kind: 'quote', text: 'quoted' },
      { kind: 'paragraph', text: 'The end\nin two lines' },
    ]);
  });

  test('a fence that is never closed holds the rest', () => {
    expect(parseBlocks('a\n```\nb')).toEqual([
      { kind: 'paragraph', text: 'a' },
      { kind: 'code', text: 'b' },
    ]);
  });
});

describe('spans', () => {
  test.each<[string, readonly Span[]]>([
    ['a `b*c*` d', [text('a '), { kind: 'code', text: 'b*c*' }, text(' d')]],
    ['**a *b***', [{ kind: 'strong', spans: [text('a *b')] }, text('*')]],
    ['_a_', [{ kind: 'em', spans: [text('a')] }]],
    [
      '[https://a.example](https://b.example)',
      [
        text('['),
        { kind: 'link', url: 'https://a.example', spans: [text('https://a.example')] },
        text(']('),
        { kind: 'link', url: 'https://b.example', spans: [text('https://b.example')] },
        text(')'),
      ],
    ],
    ['snake_case_name and 2 * 3 * 4', [text('snake_case_name and 2 * 3 * 4')]],
    [
      'see [the **docs**](https://a.example/x), ok',
      [
        text('see '),
        {
          kind: 'link',
          url: 'https://a.example/x',
          spans: [text('the '), { kind: 'strong', spans: [text('docs')] }],
        },
        text(', ok'),
      ],
    ],
    ['[x](javascript:alert(1))', [text('[x](javascript:alert(1))')]],
    ['[x](data:text/html,a)', [text('[x](data:text/html,a)')]],
    [
      '[x]( https://a.example)',
      [
        text('[x]( '),
        { kind: 'link', url: 'https://a.example', spans: [text('https://a.example')] },
        text(')'),
      ],
    ],
    ['<script>alert(1)</script>', [text('<script>alert(1)</script>')]],
  ])('%s', (words, spans) => {
    expect(parseSpans(words)).toEqual(spans);
  });
});

/** All the text that a reader would see. */
function seen(spans: readonly Span[]): string {
  return spans.map(span => ('spans' in span ? seen(span.spans) : span.text)).join('');
}

const NOISE = fc.stringMatching(/^[a-c`*_[\]()>#\-\n 1.h]*$/, { maxLength: 200 });

test('no letter is lost, whatever the marks', () => {
  fc.assert(
    fc.property(NOISE, words => {
      const all = parseBlocks(words)
        .map(block => {
          if (block.kind === 'code') return block.text;
          if (block.kind === 'list')
            return block.items.map(({ text: item }) => seen(parseSpans(item))).join('');
          return seen(parseSpans(block.text));
        })
        .join('');
      // A word after a fence names a language.
      const wanted = words.replace(/^ {0,3}(?:```+|~~~+)[^`\n]*$/gm, '').replace(/^ *1+[.)] /gm, '');
      const letters = (from: string) => from.replace(/[^abc]/g, '');
      expect(letters(all)).toBe(letters(wanted));
    }),
  );
});

test.each(['`', '*', '**', '_', '[', '[](', '[x](https://', '``a', '> ', '- ', '*a ', '[a](https://b '])(
  '100,000 characters of %s takes no time',
  piece => {
    const words = piece.repeat(100_000 / piece.length);
    const began = process.cpuUsage();
    for (const block of parseBlocks(words)) if ('text' in block) parseSpans(block.text);
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000);
  },
);
