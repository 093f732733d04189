import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { beginning, clip, displayWidth, harmless, oneLine, wrap } from '../../src/platform/text.ts';
import { hostileText } from '../report/any-event.ts';
import { examples } from '../rig/thorough.ts';

const FAMILY = '👨‍👩‍👧‍👦';

describe('harmless', () => {
  test.each([
    ['plain text is left alone', 'a b\nc é 日本 👍', 'a b\nc é 日本 👍'],
    ['colours go', '\x1b[1;31mred\x1b[0m', 'red'],
    ['colours with colons go', '\x1b[38:2::1:2:3mred\x1b[m', 'red'],
    ['cursor moves and erasing go', 'a\x1b[2J\x1b[H\x1b[?25lb', 'ab'],
    ['a link keeps its words', '\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\', 'click'],
    ['the clipboard is not written', 'a\x1b]52;c;cm0gLXJmIC8=\x07b', 'ab'],
    ['the title is not set', '\x1b]0;title\x07text', 'text'],
    ['DCS, SOS, PM and APC go', '\x1bPq#0\x1b\\\x1bXs\x1b\\\x1b^p\x1b\\\x1b_a\x1b\\x', 'x'],
    ['an OSC without an end takes its line and no more', 'a\x1b]52;c;abc\nb', 'a\nb'],
    ['an OSC at the end of the text', 'a\x1b]0;t', 'a'],
    ['a CSI without an end', 'a\x1b[31', 'a'],
    ['a CSI that is broken off by a new one', 'a\x1b[3\x1b[31mb', 'ab'],
    ['a lone ESC', 'a\x1b', 'a'],
    ['ESC before a letter outside of ASCII', 'a\x1béb', 'aéb'],
    ['character sets and resets', '\x1b(0\x1bca\x1b7b', 'ab'],
    ['C1 characters go, the words of garbled text stay', 'â\x80\x9d it\x9b31m \x9dno', 'â it31m no'],
    ['an escape built from its removed inside', '\x1b\x1b[0m[31mx', '[31mx'],
    ['bell, backspace, null, DEL', 'a\x07\b\0\x7fb', 'ab'],
    ['overwriting does not hide anything', 'rm -rf /\rls', 'rm -rf /\nls'],
    ['Windows line ends', 'a\r\nb\r\r\nc', 'a\nb\nc'],
    ['other line ends', 'a\u2028b\x85c\x0bd', 'a\nb\nc\nd'],
    ['tabs are spaces', '\ta', '    a'],
    ['direction overrides', 'user\u202e nimda\u202c \u2066x\u2069', 'user nimda x'],
    ['half a character', 'a\ud83db', 'a\ufffdb'],
  ])('%s', (_name, text, expected) => {
    expect(harmless(text)).toBe(expected);
  });

  test('leaves no control character but the line end, whatever comes in', () => {
    fc.assert(
      fc.property(hostileText, text => {
        const clean = harmless(text);
        expect(clean).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
        expect(harmless(clean)).toBe(clean);
      }),
    );
  });

  test.each([
    ['escapes', '\x1b[3'],
    ['unterminated strings', '\x1b]52;'],
    ['carriage returns', '\r'],
    ['one endless parameter', '1'],
    ['wide characters', '日'],
  ])('a megabyte of %s takes no time to speak of', (_name, unit) => {
    const text = `\x1b[${unit.repeat(1_000_000 / unit.length)}`;
    expect(harmless(text).length).toBeLessThanOrEqual(text.length);
    expect(displayWidth(oneLine(text, 80))).toBeLessThanOrEqual(80);
  });
});

describe('displayWidth', () => {
  test.each([
    ['abc', 3],
    ['日本', 4],
    [FAMILY, 2],
    ['e\u0301', 1],
    ['🇩🇪', 2],
    ['⏺', 1],
    ['✅', 2],
  ])('%s takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('clip', () => {
  test.each([
    ['short', 10, 'short'],
    ['exactly ten', 11, 'exactly ten'],
    ['one too many', 11, 'one too ma…'],
    ['日本語', 6, '日本語'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    [`${FAMILY}${FAMILY}`, 3, `${FAMILY}…`],
    [`${FAMILY}${FAMILY}`, 2, '…'],
    ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('%s in %i columns is %s', (text, columns, expected) => {
    expect(clip(text, columns)).toBe(expected);
  });

  test('is never wider than asked and leaves alone what fits', () => {
    fc.assert(
      fc.property(hostileText, fc.integer({ min: 0, max: 120 }), (text, columns) => {
        const line = harmless(text).replaceAll('\n', ' ');
        const cut = clip(line, columns);
        expect(displayWidth(cut)).toBeLessThanOrEqual(columns);
        if (displayWidth(line) <= columns && line.length <= columns * 16) expect(cut).toBe(line);
      }),
    );
  });

  test('a megabyte of combining marks on one letter is cut too', () => {
    expect(clip(`a${'\u0301'.repeat(1_000_000)}`, 80).length).toBeLessThan(80 * 16 + 2);
  });
});

describe('oneLine', () => {
  test('joins the lines and cuts them', () => {
    expect(oneLine('  git commit \\\n\t-m  "x"\r\n', 80)).toBe('git commit \\ -m "x"');
    expect(oneLine('first\nsecond', 8)).toBe('first s…');
  });

  test('says that there was more, even where the beginning shows nothing', () => {
    expect(oneLine('\x1b[0m'.repeat(10_000), 10)).toBe('…');
  });
});

describe('beginning', () => {
  test('never ends in half a character', () => {
    expect(beginning('a👍b', 2)).toBe('a');
    expect(beginning('a👍b', 3)).toBe('a👍');
  });
});

describe('wrap', () => {
  test.each<[string, string, number, string[]]>([
    ['between words', 'the quick brown fox', 10, ['the quick', 'brown fox']],
    ['keeps lines', 'a\n\nb', 10, ['a', '', 'b']],
    ['keeps indentation', '    one two three', 12, ['    one two', '    three']],
    ['lines up list items', '- one two three', 10, ['- one two', '  three']],
    ['breaks long words', 'abcdefghijkl', 5, ['abcde', 'fghij', 'kl']],
    ['goes on after a long word', 'abcdefg hi', 5, ['abcde', 'fg hi']],
    ['wide characters', '日本語日本語', 5, ['日本', '語日', '本語']],
    ['one grapheme that is wider than a row', 'ᄀᄀᄀ', 4, ['ᄀᄀ', 'ᄀ']],
    ['spaces at a break go', 'aaaa     bbbb', 6, ['aaaa', 'bbbb']],
    ['a space at the very end stays', 'aaaa bb ', 5, ['aaaa', 'bb ']],
  ])('%s', (_name, text, columns, rows) => {
    expect(wrap(text, columns)).toEqual(rows);
  });

  test('no row is too wide and no word is lost', () => {
    fc.assert(
      fc.property(hostileText, fc.integer({ min: 4, max: 60 }), (text, columns) => {
        const clean = harmless(text);
        const rows = wrap(clean, columns);
        for (const row of rows) expect(displayWidth(row)).toBeLessThanOrEqual(columns);
        expect(rows.join('').replace(/\s/g, '')).toBe(clean.replace(/\s/g, ''));
      }),
    );
  });
});

describe('the width of what comes often', () => {
  const plain = fc.string({
    unit: fc.oneof(
      fc.integer({ min: 0x20, max: 0x2ff }).map(code => String.fromCharCode(code)),
      fc.constantFrom(
        ...'–—…←↑→↓↳⎿⏺─│┌✓✗✅❌❗🔸🔁🔄💭📋📊',
        '⏸️',
        '\u0301',
        '日',
        '\u200d',
        '\x1b[1;31m',
        '\x1b[0m',
      ),
    ),
  });

  test('agrees with the library where it does not ask it', () => {
    fc.assert(
      fc.property(plain, text => displayWidth(text) === stringWidth(text)),
      examples(2000),
    );
  });

  test('and for every picture', () => {
    const pictures = Array.from({ length: 0x10ffff }, (_, at) => at)
      .filter(at => at < 0xd800 || at > 0xdfff)
      .map(at => String.fromCodePoint(at))
      .filter(character => /\p{Emoji}/u.test(character));
    const signs = ['', 'a', '⏺', ...pictures, ...pictures.map(picture => `${picture}\ufe0f`)];
    expect(signs.filter(sign => displayWidth(sign) !== stringWidth(sign))).toEqual([]);
  });
});
