import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Claim,
  type CompletionRule,
  createClaimScanner,
  firstTag,
} from '../../src/domain/completion.ts';

const response: CompletionRule = { kind: 'response', text: 'DONE' };
const promise: CompletionRule = { kind: 'promise', text: 'DONE' };

function claimIn(rule: CompletionRule, ...messages: readonly string[]): Claim {
  const scanner = createClaimScanner(rule);
  for (const message of messages) {
    scanner.feed(message);
    scanner.boundary();
  }
  return scanner.claim();
}

describe('the response rule of ralph run', () => {
  test.each<[string, boolean]>([
    ['<response>DONE</response>', true],
    ['All good. <response>done</response> Bye.', true],
    ['<RESPONSE>Done</Response>', true],
    ['<response>\n  DONE\n</response>', true],
    ['İİİİ, which is longer in small letters <response>DONE</response>', true],
    ['<response>NOT DONE</response>', false],
    ['<response>DONE</response> and <response>NO</response>', true],
    ['<response>NO</response> and <response>DONE</response>', false],
    ['the <response> tag comes later: <response>DONE</response>', true],
    ['DONE', false],
    ['<response>DONE', false],
    ['INCOMPLETE <promise>DONE</promise>', false],
    ['', false],
  ])('%j is a claim: %s', (words, found) => {
    expect(claimIn(response, words).found).toBe(found);
  });

  test('the first tag wins over several messages too', () => {
    expect(claimIn(response, '<response>LATER</response>', '<response>DONE</response>').found).toBe(false);
  });

  test('a tag does not go on in the next message', () => {
    expect(claimIn(response, '<response>DO', 'NE</response>')).toEqual({
      found: false,
      nearMiss: 'unclosed',
    });
  });

  test('a completion text with signs that mean something in a pattern is taken literally', () => {
    const rule: CompletionRule = { kind: 'response', text: 'a.*(b)$ [c]' };
    expect(claimIn(rule, '<response>a.*(b)$ [c]</response>').found).toBe(true);
    expect(claimIn(rule, '<response>aXX(b)$ [c]</response>').found).toBe(false);
  });
});

describe('the promise rule', () => {
  test.each<[string, Claim]>([
    ['<promise>DONE</promise>', { found: true }],
    ['Not <promise>X</promise> but <promise>DONE</promise>', { found: true }],
    ['**<promise>DONE</promise>**', { found: true }],
    ['```\n<promise>DONE</promise>\n```', { found: true }],
    ['say `<promise>DONE</promise>` when done', { found: false, nearMiss: 'quoted', said: 'DONE' }],
    ['<promise>done</promise>', { found: false, nearMiss: 'case', said: 'done' }],
    ['<promise> DONE </promise>', { found: false, nearMiss: 'spaces', said: ' DONE ' }],
    ['<promise>DONE!</promise>', { found: false, nearMiss: 'other-text', said: 'DONE!' }],
    ['<promise>DONE', { found: false, nearMiss: 'unclosed' }],
    ['INCOMPLETE', { found: false }],
  ])('%j', (words, claim) => {
    expect(claimIn(promise, words)).toEqual(claim);
  });
});

describe('the scanner', () => {
  test('finds the same wherever the words are cut into pieces', () => {
    const word = fc.constantFrom(
      '<response>',
      '</response>',
      'DONE',
      '<promise>',
      '</promise>',
      '`',
      '<',
      '>',
      ' ',
      '\n',
      'x',
      'Done',
      'é😀',
    );
    fc.assert(
      fc.property(
        fc.constantFrom(response, promise),
        fc.array(word, { maxLength: 20 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (rule, words, places) => {
          const text = words.join('');
          const cuts = [0, ...places.map(place => place % (text.length + 1)), text.length].sort(
            (a, b) => a - b,
          );
          const scanner = createClaimScanner(rule);
          for (const [index, end] of cuts.slice(1).entries()) scanner.feed(text.slice(cuts[index], end));
          expect(scanner.claim()).toEqual(claimIn(rule, text));
        },
      ),
    );
  });

  test('does not grow with what it has read, and still finds the tag at the end', () => {
    const scanner = createClaimScanner(response);
    const chunk = 'a < b and <response is not one; '.repeat(2000);
    for (let i = 0; i < 500; i++) scanner.feed(chunk);
    scanner.feed('<response>DONE</response>');
    expect(scanner.claim()).toEqual({ found: true });
  });
});

test('the first tag of a reply is its content without the space around it', () => {
  expect(firstTag('response', 'x <Response>\n Fix it </response> <response>no</response>')).toBe('Fix it');
  expect(firstTag('response', 'none')).toBeUndefined();
});
