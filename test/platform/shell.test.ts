import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joinWords, splitFlag, splitWords } from '../../src/platform/shell.ts';

describe('a line is split as a shell would', () => {
  test.each<[string, string[]]>([
    ['claude -p', ['claude', '-p']],
    [`--a 'b c' "d e" f\\ g`, ['--a', 'b c', 'd e', 'f g']],
    [`x"y"'z'`, ['xyz']],
    [`"a \\"b\\" \\$c"`, ['a "b" $c']],
    [`'' ""`, ['', '']],
    ['$HOME `id` $(id)', ['$HOME', '`id`', '$(id)']],
    ['  ', []],
    [`unclosed 'quote`, ['unclosed', `'quote`]],
  ])('%j', (line, words) => {
    expect(splitWords(line)).toEqual(words);
  });

  test('and what was joined comes apart the same', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 })), words => {
        expect(splitWords(joinWords(words))).toEqual(words);
      }),
    );
  });
});

describe('a flag in one string', () => {
  test.each<[string, string[]]>([
    ['--model opus', ['--model', 'opus']],
    ['--model=opus', ['--model=opus']],
    [`--a 'b c'`, ['--a', 'b c']],
    ['-c', ['-c']],
    [
      'model_providers.lab={name="lab", wire_api="responses"}',
      ['model_providers.lab={name="lab", wire_api="responses"}'],
    ],
    [`it's`, [`it's`]],
    ['--prompt="x"', ['--prompt="x"']],
  ])('%j', (flag, words) => {
    expect(splitFlag(flag)).toEqual(words);
  });
});
