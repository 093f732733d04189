import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { summarise } from '../../src/agents/events.ts';
import { generic } from '../../src/agents/generic/adapter.ts';
import { fold } from './reading.ts';

describe('the summary of an input', () => {
  test.each([
    [{ description: 'why', command: 'npm test' }, 'npm test'],
    [{ cmd: 'ls' }, 'ls'],
    [{ content: 'x', file_path: '/a.ts' }, '/a.ts'],
    [{ path: '/b.ts' }, '/b.ts'],
    [{ filePath: '/c.ts' }, '/c.ts'],
    [{ pattern: 'TODO', path: '' }, 'TODO'],
    [{ query: 'q' }, 'q'],
    [{ url: 'https://x.test' }, 'https://x.test'],
    [{ description: 'look around', prompt: 'long' }, 'look around'],
    [{ x: 1, y: [true] }, '{"x":1,"y":[true]}'],
    [{ command: 7 }, '{"command":7}'],
    [{}, ''],
    [undefined, ''],
    ['a\r\n  b\u2028c', 'a b c'],
    [{ command: 'printf "\u001b[31m"' }, 'printf " [31m"'],
  ])('of %j is %j', (input, summary) => {
    expect(summarise(input)).toBe(summary);
  });

  test('fits on one line of 200 characters, whole characters only', () => {
    expect(summarise('😀'.repeat(300))).toBe(`${'😀'.repeat(99)}…`);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 500 }), fc.jsonValue()), input => {
        const summary = summarise(input);
        expect(summary.length).toBeLessThanOrEqual(200);
        expect(summary).not.toMatch(/[\r\n\u2028\u2029]/);
      }),
    );
  });
});

test('a plain command says one message, and a tag may go over its lines', () => {
  const turn = fold(generic, ['working', '<promise>DONE', '</promise>']);
  expect(turn).toMatchObject({
    claim: { found: false, nearMiss: 'spaces' },
    steps: 1,
    lastWords: 'working\n<promise>DONE\n</promise>\n',
  });
  expect(fold(generic, ['{"type":"result"}', 'ok <promise>DONE</promise>']).claim.found).toBe(true);
});
