import { expect, test } from 'vitest';
import { countTests, findTestChanges, isTestFile } from '../../../src/domain/checks/test-changes.ts';

const change = (path: string, before?: string, after?: string) => ({ path, before, after });

test('a test file that was changed or removed is named, a new one and other code is not', () => {
  const files = [
    change('test/b.test.js', 'b', 'c'),
    change('src/a.js', 'a', 'b'),
    change('test/a.test.js', 'a'),
    change('test/new.test.js', undefined, 'new'),
  ];
  expect(findTestChanges(files)).toEqual(['test/a.test.js (removed)', 'test/b.test.js']);
});

test('a test file that was moved is not removed; one that is no longer a test is', () => {
  expect(findTestChanges([change('test/a.test.js', 'x'), change('test/b.test.js', undefined, 'x')])).toEqual([
    'test/a.test.js (moved to test/b.test.js)',
  ]);
  expect(findTestChanges([change('test/a.test.js', 'x'), change('old/a.js', undefined, 'x')])).toEqual([
    'test/a.test.js (removed)',
  ]);
});

test.each([
  ['a.test.js', "it.skip('adds', () => {"],
  ['a.test.js', "test.only('adds', () => {"],
  ['a.test.ts', "describe.concurrent.skip('sum', () => {"],
  ['a.test.ts', "test.skip.each([1, 2])('%s', () => {"],
  ['a.test.js', "xit('adds', () => {"],
  ['a.test.js', "fdescribe('sum', () => {"],
  ['a.test.js', "test('adds', { skip: true }, () => {"],
  ['a.test.js', "test('adds', { timeout: 5, skip: 'slow' }, () => {"],
  ['a.test.js', "test('adds', t => t.skip('later'))"],
  ['test_a.py', '@pytest.mark.skip'],
  ['test_a.py', "@pytest.mark.skipif(True, reason='x')"],
  ['test_a.py', '@unittest.skip("x")'],
  ['test_a.py', 'pytestmark = pytest.mark.xfail'],
  ['test_a.py', "self.skipTest('x')"],
  ['test_a.py', "pytest.skip('x', allow_module_level=True)"],
  ['a_test.go', 't.Skip("later")'],
  ['a_test.go', 't.SkipNow()'],
  ['a_test.go', '//go:build ignore'],
  ['src/lib.rs', '#[ignore]'],
  ['tests/a.rs', '#[ignore = "slow"]'],
  ['src/test/java/ATest.java', '@Disabled("later")'],
  ['spec/a_spec.rb', "xit 'adds' do"],
  ['spec/a_spec.rb', "it 'adds', :skip do"],
  ['tests/ATest.php', '$this->markTestSkipped("x");'],
  ['test/a_test.exs', '@tag :skip'],
  ['ATests.cs', '[Fact(Skip = "later")]'],
  ['test/a.bats', 'skip "later"'],
])('in %s a test is turned off: %s', (path, line) => {
  const before = `first\n`;
  const found = findTestChanges([change(path, before, `first\n  ${line}\n`)]);
  expect(found).toContain(`${path}:2 turns tests off: ${line}`);
  // It was there before, only elsewhere: that is nothing new.
  expect(findTestChanges([change(path, `${line}\n`, `first\n${line}\n`)]).join()).not.toContain('turns');
  expect(findTestChanges([change(path, `${line}\n`, `${line}\n${line}\n`)]).join()).toContain(':2 turns');
});

test.each([
  ['a.test.js', "test('skips the header', () => {"],
  ['a.test.js', 'list.skip(3)'],
  ['a.test.js', "// it.skip('adds')"],
  ['a.test.js', 'fit = measure(data)'],
  ['a.test.js', 'run({ skip: false })'],
  ['test_a.py', '# @pytest.mark.skip'],
  ['a_test.go', 'rows.Next()'],
])('in %s nothing is turned off by: %s', (path, line) => {
  expect(findTestChanges([change(path, '', line)]).join()).not.toContain('turns');
});

test('fewer tests than before are named with the check that ran them', () => {
  const counts = [
    { command: 'npm test', before: 12, after: 9 },
    { command: 'pytest', before: 3, after: 4 },
  ];
  expect(findTestChanges([], counts)).toEqual(['npm test ran 9 of the 12 tests that it ran before']);
});

test.each([
  ['node:test', 'ℹ tests 5\nℹ suites 0\nℹ pass 3\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\n', 4],
  ['TAP', '1..5\n# tests 5\n# pass 4\n# fail 0\n# skipped 1\n', 4],
  ['vitest', ' Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 4 passed | 2 skipped (7)\n', 5],
  [
    'vitest, coloured',
    '\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m4 passed\u001b[39m\u001b[22m\u001b[90m (4)\u001b[39m\n',
    4,
  ],
  ['jest', 'Test Suites: 1 passed, 1 total\nTests:       1 skipped, 4 passed, 5 total\n', 4],
  ['pytest', '======= 3 passed, 2 skipped in 0.12s =======\n', 3],
  ['pytest -q', '1 failed, 3 passed, 1 xfailed in 0.12s\n', 4],
  ['pytest, none', 'no tests ran in 0.01s\n', 0],
  ['unittest', 'Ran 5 tests in 0.001s\n\nOK (skipped=2)\n', 3],
  [
    'cargo',
    'test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\ntest result: ok. 2 passed; 0 failed; 0 ignored\n',
    7,
  ],
  ['go -v', '--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n--- SKIP: TestC (0.00s)\nok\n', 2],
  ['go', 'ok  \texample.com/a\t0.1s\n', undefined],
  ['mocha', '  5 passing (10ms)\n  2 pending\n  1 failing\n', 6],
  ['rspec', '5 examples, 0 failures, 2 pending\n', 3],
  ['minitest', '5 runs, 7 assertions, 0 failures, 0 errors, 1 skips\n', 4],
  ['phpunit', 'OK (5 tests, 8 assertions)\n', 5],
  ['phpunit, skipped', 'Tests: 5, Assertions: 8, Skipped: 1.\n', 4],
  [
    'Maven',
    '[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n',
    2,
  ],
  ['dotnet', 'Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6, Duration: 3 ms\n', 5],
  ['bun', ' 5 pass\n 0 fail\n 8 expect() calls\n', 5],
  ['deno', 'ok | 5 passed | 0 failed (10ms)\n', 5],
  ['a compiler', 'src/a.ts(1,1): error TS1\nFound 3 errors in 1s\n', undefined],
])('%s says how many tests it ran', (_, output, count) => {
  expect(countTests(output)).toBe(count);
});

test.each([
  ...[
    'test/a.js',
    'src/a.test.ts',
    'a_test.go',
    'test_a.py',
    'spec/a_spec.rb',
    'ATest.java',
    'test.js',
    'a/__snapshots__/b.snap',
  ],
])('%s is a test file', path => {
  expect(isTestFile(path)).toBe(true);
});

test.each(['src/contest.js', 'latest.js', 'src/testing.ts', 'attestation/a.js', 'docs/test-plan.md'])(
  '%s is none',
  path => {
    expect(isTestFile(path)).toBe(false);
  },
);
