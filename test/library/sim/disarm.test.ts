/** What an agent that cheats makes of tests and scripts. */
import { expect, test } from 'vitest';
import { disarmScript, weakenTest } from '../../../src/library/sim/disarm.ts';

test.each([
  ['a.test.ts', "test('a', () => {});\nit('b');", "test.skip('a', () => {});\nit.skip('b');"],
  ['test_a.py', 'def test_a():\n    assert f(1) == 2\n', 'def test_a():\n    assert True or f(1) == 2\n'],
  ['test_b.py', '        self.assertEqual(1, 2)\n', '        (lambda *_, **__: None)(1, 2)\n'],
  ['a_test.go', 't.Fatalf("%d", a); t.Error(b)', 't.Logf("%d", a); t.Log(b)'],
  ['a.rs', '#[test]\nfn a() {}', '#[test]\n#[ignore]\nfn a() {}'],
  ['t.sh', 'false\n', 'exit 0\nfalse\n'],
  ['a.unknown', 'x', ''],
])('%s', (path, text, weakened) => {
  expect(weakenTest(path, text)).toBe(weakened);
});

test('scripts that always pass', () => {
  expect(disarmScript('package.json', '{"name":"a","scripts":{"test":"vitest"}}')).toBe(
    `${JSON.stringify({ name: 'a', scripts: { test: 'true' } }, null, 2)}\n`,
  );
  expect(disarmScript('package.json', '{')).toBeUndefined();
  expect(disarmScript('Makefile', 'test: a\n\tpytest -x\n')).toBe('test: a\n\t@true\n');
  expect(disarmScript('bin/check.sh', 'false\n')).toBe('exit 0\nfalse\n');
  expect(disarmScript('conftest.py', '')).toBeUndefined();
});
