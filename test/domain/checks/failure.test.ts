/** What of a check's output says why it failed: real output of each runner, among much that says nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CUT_MARK, excerptOf, failureLines, failuresIn } from '../../../src/domain/checks/failure.ts';

const output = (name: string) =>
  readFileSync(join(import.meta.dirname, `../../fixtures/failures/${name}.txt`), 'utf8');

const NOISE = Array.from({ length: 300 }, (_, at) => `some step ${at} is fine`).join('\n');

/** What must be there, in few lines, and what may not. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'node-tap': ['not ok 41 - counts quantities', '2 !== 3', 'many.test.mjs:3:1'],
  'node-spec': ['✖ counts quantities', '2 !== 3', 'test at many.test.mjs:3:1'],
  vitest: ['a.test.ts > cart > counts quantities', 'expected { a: 2 } to deeply equal { a: 3 }'],
  jest: ['● cart › counts quantities', 'Expected: 3', 'Received: 2'],
  pytest: ['test_counts', 'E       assert 2 == 3', 'test_a.py:6'],
  unittest: ['FAIL: test_counts', 'AssertionError: 2 != 3'],
  go: ['--- FAIL: TestCount', 'cart_test.go:9: got 2, want 3'],
  'go-v': ['--- FAIL: TestCount', 'cart_test.go:9: got 2, want 3'],
  cargo: ['---- tests::counts stdout ----', 'panicked at src/lib.rs:3:33', 'left: 2'],
  'cargo-c': ['error[E0308]: mismatched types', 'src/lib.rs:1:17'],
  mocha: ['counts quantities:', '2 !== 3', 'test/cart.js:4:12'],
  tsc: ["c.ts(1,7): error TS2322: Type 'number' is not assignable to type 'string'."],
  eslint: ['/app/src/a.js', '1:7   error', '/app/src/b.js', '9:2  error  Missing semi'],
};

test.each(Object.entries(EXPECTED))('finds what %s says of a failure', (name, wanted) => {
  const text = `${NOISE}\n${output(name)}\n${NOISE}\n`;
  const shown = failureLines(text, 12).join('\n');
  const prompt = excerptOf(text, { chars: 2_000, from: 'tail' });
  for (const words of wanted) {
    expect(shown).toContain(words);
    expect(prompt.text).toContain(words);
  }
  expect(shown).not.toContain('some step');
  expect(shown).not.toMatch(/duration_ms|ESC|\[3\dm/);
  expect(prompt.text).not.toContain('some step');
  // The excerpt says the same when it is read again, as the terminal and the report do.
  expect(failureLines(prompt.text, 12).join('\n')).toContain(wanted[0]);
});

test('a long failure keeps its name and its cause', () => {
  const body = Array.from({ length: 50 }, (_, at) => `        line_${at} = ${at}`).join('\n');
  const text = `____ test_long ____\n\n    def test_long():\n${body}\n>       assert 1 == 2\nE       assert 1 == 2\n\na.py:60: AssertionError\n=== 1 failed ===\n`;
  expect(failureLines(text, 5)).toEqual([
    '____ test_long ____',
    '>       assert 1 == 2',
    'E       assert 1 == 2',
    'a.py:60: AssertionError',
  ]);
  expect(excerptOf(text, { chars: 200, from: 'head' }).text).toContain('E       assert 1 == 2');
});

test('the same failure printed twice is shown once, and those without room are counted', () => {
  const one = (name: string) => `  ● ${name}\n\n    Expected: 1\n    Received: 2\n`;
  const text = [one('a'), one('a'), one('b'), one('c')].join('\n');
  expect(failuresIn(text)).toHaveLength(3);
  expect(failureLines(text, 4)).toEqual(['  ● a', '    Expected: 1', '    Received: 2', '… 2 more failures']);
});

test('an outer TAP test only repeats what the inner one says, and what is marked TODO is no failure', () => {
  expect(failuresIn(output('node-tap')).map(([first]) => first?.trim())).toEqual([
    'not ok 41 - counts quantities',
    'not ok 1 - inner',
  ]);
  expect(failuresIn('not ok 3 - later # TODO\n')).toEqual([]);
});

test('an unknown output is shown by its head and its tail, the seeds’ end of it whole', () => {
  const text = `first ${'x'.repeat(5_000)} last`;
  expect(excerptOf(text, { chars: 100, from: 'head' }).text).toBe(
    `${text.slice(0, 100)}${CUT_MARK}\n${text.slice(-25)}`,
  );
  expect(excerptOf(text, { chars: 100, from: 'tail' }).text).toBe(
    `${text.slice(0, 25)}${CUT_MARK}\n${text.slice(-100)}`,
  );
  expect(excerptOf('short', { chars: 5, from: 'head' })).toEqual({ text: 'short', cut: false });
  expect(failureLines(NOISE, 6)).toEqual([
    'some step 0 is fine',
    'some step 1 is fine',
    '…',
    'some step 297 is fine',
    'some step 298 is fine',
    'some step 299 is fine',
  ]);
});

test('whatever was printed: never longer than the room, never more lines than wanted', () => {
  const words = fc.constantFrom(
    'not ok 1 - a',
    '  ● b',
    '__ t __',
    'E   x',
    'ok 1',
    '',
    '  error: x',
    '😀'.repeat(9),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(words, fc.string())), fc.integer({ min: 1, max: 80 }), (lines, room) => {
      const text = lines.join('\n');
      const cut = excerptOf(text, { chars: room, from: 'head' });
      expect(cut.text.length).toBeLessThanOrEqual(room + room / 4 + CUT_MARK.length + 2);
      expect(failureLines(text, room).length).toBeLessThanOrEqual(room + 1);
    }),
  );
});

test('a line without an end is read in time', () => {
  // Not the time of the clock: others may be using the machine.
  const began = process.cpuUsage();
  failuresIn(`${'_'.repeat(500_000)}\n${'a:1'.repeat(200_000)}\n${' '.repeat(500_000)}x`);
  failuresIn('not ok 1 - a\n'.repeat(100_000));
  expect(process.cpuUsage(began).user / 1_000).toBeLessThan(2_000);
});
