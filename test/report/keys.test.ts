import { expect, test } from 'vitest';
import { displayWidth } from '../../src/platform/text.ts';
import { askingLine, type KeyAction, type KeysMode, NO_KEY, pressKey } from '../../src/report/keys.ts';

/** What all of it leads to, each piece as the terminal sends it. */
function press(...pieces: readonly string[]): readonly [KeysMode, readonly KeyAction[]] {
  let mode = NO_KEY;
  const actions: KeyAction[] = [];
  for (const piece of pieces) {
    const pressed = pressKey(mode, piece, { story: 'US-001', question: 'Which?' });
    mode = pressed.mode;
    if (pressed.action) actions.push(pressed.action);
  }
  return [mode, actions];
}

test.each<[string, readonly string[], KeysMode, readonly KeyAction[]]>([
  ['p', ['p'], NO_KEY, [{ kind: 'switch' }]],
  ['s', ['s'], NO_KEY, [{ kind: 'cancel', gently: true }]],
  ['? and another key', ['?', 'x'], NO_KEY, [{ kind: 'help' }]],
  ['q, yes', ['q', 'Y'], NO_KEY, [{ kind: 'cancel', gently: false }]],
  ['q, Enter', ['q', '\r'], NO_KEY, []],
  ['q, then what was pasted', ['q', 'yes'], NO_KEY, []],
  ['a pasted command', ['git push\rs', 'psq?'], NO_KEY, []],
  ['arrow keys', ['\x1b[A', '\x1bOp'], NO_KEY, []],
  ['a hint', ['h', 'a', 'b', '\r'], NO_KEY, [{ kind: 'tell', text: 'ab' }]],
  [
    'a hint with its line break in one piece',
    ['h', 'look at p\r'],
    NO_KEY,
    [{ kind: 'tell', text: 'look at p' }],
  ],
  ['a pasted hint of two lines', ['h', 'a\rb', '\r'], NO_KEY, [{ kind: 'tell', text: 'a\nb' }]],
  ['an answer', ['a', 'the second', '\r'], NO_KEY, [{ kind: 'answer', story: 'US-001', text: 'the second' }]],
  ['an answer that is taken back', ['a', 'x', '\x1b'], NO_KEY, []],
  ['an empty hint', ['h', '  ', '\r'], NO_KEY, []],
  ['a hint that is taken back', ['h', 'stop', '\x1b'], NO_KEY, []],
  ['backspace, also over emoji', ['h', 'a🙂', '\x7f'], { kind: 'hint', text: 'a' }, []],
  ['Ctrl-U', ['h', 'abc', '\x15', 'd'], { kind: 'hint', text: 'd' }, []],
  ['control characters in a hint', ['h', 'a\x07\u202eb'], { kind: 'hint', text: 'ab' }, []],
  ['an arrow key in a hint', ['h', 'ab', '\x1b[D'], { kind: 'hint', text: 'ab' }, []],
])('%s', (_, pieces, mode, actions) => {
  expect(press(...pieces)).toEqual([mode, actions]);
});

test.each([20, 40, 80])('what is asked fits into %i columns, and shows the end of a long hint', columns => {
  const long = `${'看 under src '.repeat(20)}END`;
  const lines = [{ kind: 'sure' } as const, { kind: 'hint', text: long } as const].map(
    mode => askingLine(mode, columns) ?? '',
  );
  expect(lines.filter(line => displayWidth(line) > columns)).toEqual([]);
  expect(lines[1]).toMatch(/END▏$/);
  expect(askingLine(NO_KEY, columns)).toBeUndefined();
});

test('there is no key for an answer while nobody asks', () => {
  expect(pressKey(NO_KEY, 'a')).toEqual({ mode: NO_KEY });
});
