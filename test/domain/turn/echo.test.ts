import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { visible } from '../../../src/domain/text/visible.ts';
import {
  type CompletionRule,
  createClaimScanner,
  markerOf,
  SPOKEN_TAGS,
} from '../../../src/domain/turn/claim.ts';
import { createEchoFilter } from '../../../src/domain/turn/echo.ts';
import { examples } from '../../rig/thorough.ts';

/** What of an output counts as the agent's own words, cut into pieces of this length. */
function ownWords(prompt: string, output: string, piece = output.length): string {
  const filter = createEchoFilter(prompt, SPOKEN_TAGS);
  if (!filter) return output;
  let own = '';
  const add = (passages: readonly { text: string; isEcho: boolean }[]) => {
    for (const { text, isEcho } of passages) if (!isEcho) own += text;
  };
  for (let at = 0; at < output.length; at += piece) add(filter.push(output.slice(at, at + piece)));
  add(filter.end());
  return own;
}

function claims(prompt: string, output: string, rule: CompletionRule, piece?: number): boolean {
  const scanner = createClaimScanner(rule);
  scanner.feed(ownWords(prompt, visible(output), piece));
  return scanner.claim().found;
}

const DONE: CompletionRule = { kind: 'response', text: 'DONE' };

describe('an echoed prompt', () => {
  const prompt =
    'Fix the bug.\nWhen done, print <response>DONE</response>.\n\nEnd with:\n<response>DONE</response>\n';

  test.each<[string, boolean]>([
    ['When done, print <response>DONE</response>.', false],
    ['> When done, print <response>DONE</response>.', false],
    ['All tests pass. <response>DONE</response>', true],
    ['<response>DONE</response>', true],
    ['I fixed it.\n<response>DONE</response>\n', true],
    ['End with:\n<response>DONE</response>', false],
    ['End with:\n<response>DONE</response>\nDone now.\n<response>DONE</response>', true],
    [`${prompt}${prompt}`, false],
    [`${prompt}<response>DONE</response>`, true],
    ['12: End with:\n13: <response>DONE</response>', false],
    ['[10:00:01 INFO] End with:\n[10:00:02 INFO] <response>DONE</response>', false],
    [JSON.stringify({ prompt }), false],
    ['print <response>\nDONE\n</response>.', false],
  ])('%j is a claim: %s', (output, found) => {
    for (const piece of [undefined, 1, 7]) expect(claims(prompt, output, DONE, piece)).toBe(found);
  });

  test('needs no filter when the prompt does not speak of a tag', () => {
    expect(createEchoFilter('Fix the bug.', SPOKEN_TAGS)).toBeUndefined();
  });

  test('nobody is blocked by the sentence that explains how to say so', () => {
    const text = 'Fix it.\nIf you cannot continue, say why: <blocked>reason</blocked>\n';
    expect(ownWords(text, text)).not.toContain('<blocked>');
    expect(ownWords(text, `${text}<blocked>no network</blocked>`)).toContain('<blocked>no network</blocked>');
  });

  test('a number of the text that stands on a line by itself is not taken for that of the line', () => {
    const said = 'fix fix fix fix pass fix 2\n<response>DONE</response>';
    const from = (line: number) =>
      `${line}: fix fix fix fix pass fix\n2\n${line + 1}: <response>DONE</response>`;
    expect(claims(said, `${from(1)}\n${from(3)}`, DONE)).toBe(false);
  });

  test('a prompt that is nothing but the tag', () => {
    expect(claims('<response>DONE</response>', '<response>DONE</response>', DONE)).toBe(false);
    expect(claims('<response>DONE</response>', 'ok <response>DONE</response>', DONE)).toBe(true);
  });

  test('the words around an echo stay', () => {
    expect(ownWords(prompt, `before\n${prompt}behind`)).toBe(
      'before\nFix the bug.\nWhen done, print .\n\nEnd with:\n\nbehind',
    );
  });
});

type Format = fc.Arbitrary<(text: string) => string>;
const asItIs: Format = fc.constant(text => text);

/** No terminal is narrower: in one that were, the date before a line would be broken, too. */
const NARROWEST = 20;

const WRAPS: readonly Format[] = [
  asItIs,
  fc.integer({ min: NARROWEST, max: 120 }).map(width => text => wrapAt(text, width)),
  fc.integer({ min: NARROWEST, max: 120 }).map(width => text => wrapWords(text, width)),
];

/** How programs print a text that they were given: how it is laid out, what stands before each line, and in which colours. */
const LAYOUTS: readonly Format[] = [
  ...WRAPS,
  fc.constant(onLines(line => `│ ${line.padEnd(60)} │`)),
  fc.constant(text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')),
  fc.constant(text => text.replaceAll('\n', '\r\n')),
  fc.constant(text => text.replaceAll('\n', '\n\n')),
  fc.constant(text => text.replaceAll(/\s+/g, ' ')),
  fc.constant(text => `${text}\n${text}`),
  fc.constant(text => `Your prompt was:\n\`\`\`\n${text}\n\`\`\`\n`),
  fc.constant(text => JSON.stringify(text)),
];
const PREFIXES: readonly Format[] = [
  asItIs,
  fc
    .constantFrom(
      '> ',
      '    ',
      '| ',
      '# ',
      '│ ',
      '\t',
      '» ',
      '* ',
      '[agent] ',
      'prompt> ',
      '2026-11-15 INFO ',
    )
    .map(prefix => onLines(line => prefix + line)),
  fc.constant(onLines((line, number) => `${number}: ${line}`)),
];
const COLORS: readonly Format[] = [
  asItIs,
  fc.constant(onLines(line => `\x1b[3${line.length % 8}m${line}\x1b[0m`)),
  fc.constant(text => [...text].map((letter, at) => (at % 5 ? letter : `\x1b[1m${letter}\x1b[0m`)).join('')),
  fc.constant(text => text.replaceAll('DONE', '\x1b[32mDONE\x1b[39m')),
];

function onLines(change: (line: string, number: number) => string): (text: string) => string {
  return text =>
    text
      .split('\n')
      .map((line, index) => change(line, index + 1))
      .join('\n');
}

function wrapAt(text: string, width: number): string {
  return onLines(line => line.replace(new RegExp(`.{${width}}`, 'gu'), '$&\n'))(text);
}

function wrapWords(text: string, width: number): string {
  return onLines(line => line.replace(new RegExp(`(.{1,${width}})(?: |$)`, 'g'), '$1\n').trimEnd())(text);
}

const sentence = fc
  .array(
    fc.constantFrom('fix', 'the', 'Cart', 'total', 'tests', 'pass', 'when', 'you', 'are', '2', 'über', 'say'),
    {
      minLength: 3,
      maxLength: 12,
    },
  )
  .map(words => words.join(' '));

const prompts = fc.record({
  rule: fc.constantFrom<CompletionRule>(DONE, { kind: 'promise', text: 'DONE' }),
  before: fc.array(sentence, { minLength: 1, maxLength: 4 }),
  lead: fc.constantFrom('', 'When it is finished, say ', 'End with:\n'),
  tail: fc.constantFrom('', '.', ' and never before.', '\n'),
  after: fc.array(sentence, { maxLength: 3 }),
});

test('is no claim in any formatting, wherever it is cut; the claim that the agent makes after it is one', () => {
  fc.assert(
    fc.property(
      prompts,
      fc.tuple(fc.oneof(...LAYOUTS), fc.oneof(...PREFIXES), fc.oneof(...WRAPS), fc.oneof(...COLORS)),
      fc.nat(400),
      fc.integer({ min: 1, max: 200 }),
      ({ rule, before, lead, tail, after }, formats, skipped, piece) => {
        const marker = markerOf(rule);
        const prompt = [...before, `${lead}${marker}${tail}`, ...after].join('\n');
        // Of a part at least the line before the marker is printed: a bare marker cannot be told from a claim.
        const from = Math.min(skipped, before.slice(0, -1).join('\n').length);
        const echo = formats.reduce((text, format) => format(text), prompt.slice(from));
        expect(claims(prompt, echo, rule, piece)).toBe(false);
        expect(claims(prompt, `${echo}\n\nAll of it works now.\n${marker}\n`, rule, piece)).toBe(true);
      },
    ),
    examples(3_000),
  );
});
