import { expect, test } from 'vitest';
import { mutantsIn } from '../../src/proof/faults/find.ts';
import { changesOf, EVERYWHERE } from './changes.ts';

/** A line of JavaScript, and its faults in the order in which they are tried. */
const JAVASCRIPT: Readonly<Record<string, readonly string[]>> = {
  'if (sum >= 100) return 0;': [
    'boundary: sum >= 100 → sum > 100',
    'fixed-condition: sum >= 100 → false',
    'fixed-condition: sum >= 100 → true',
    'return: return 0; → return 1;',
    'literal: sum >= 100 → sum >= 101',
  ],
  'if (a && b) go();': [
    'logical: a && b → a || b',
    'removed-call: go(); removed',
    'fixed-condition: a && b → true && b',
    'fixed-condition: a && b → a && true',
  ],
  'const y = a ?? b ?? c;': ['logical: a ?? b → a', 'logical: a ?? b ?? c → a ?? b'],
  'x ||= y;': ['logical: x ||= y → x &&= y'],
  'send(a);': ['removed-call: send(a); removed'],
  'await save(user);': ['removed-call: await save(user); removed'],
  'a?.b();': ['removed-call: a?.b(); removed'],
  'while (x < 3) x++;': [
    'boundary: x < 3 → x <= 3',
    'fixed-condition: x < 3 → false',
    'literal: x < 3 → x < 4',
    'literal: x++ → x--',
  ],
  'if (!ready) return;': [
    'fixed-condition: !ready → false',
    'fixed-condition: !ready → true',
    'return: return; removed',
    'negation: !ready → ready',
  ],
  'return x.y;': ['return: return x.y; → return undefined;'],
  'return!x;': ['return: return!x; → return undefined;', 'negation: !x → x'],
  'return null;': [],
  'const n = a + b * 2;': [
    'arithmetic: a + b * 2 → a - b * 2',
    'arithmetic: b * 2 → b / 2',
    'literal: b * 2 → b * 3',
  ],
  'const f = x => x > 2;': [
    'boundary: x > 2 → x >= 2',
    'return: x > 2 → undefined',
    'literal: x > 2 → x > 3',
  ],
  'const t = a /* < */ < b;': ['boundary: a /* < */ < b → a /* < */ <= b'],
  'const r = /a+b/.test(x) === "y";': ['equality: /a+b/.test(x) === "y" → /a+b/.test(x) !== "y"'],
  'export const LIMIT = 100;': ['literal: LIMIT = 100 → LIMIT = 101'],
  'remove(path, { recursive: true });': [
    'removed-call: remove(path, { recursive: true }); removed',
    'literal: recursive: true → recursive: false',
  ],
  // Not worth a reader's time: text, logs, messages, caches, and what makes no difference.
  'const s = "a" + b + c;': [],
  'text += `${a}`;': [],
  'console.log(a + 1);': [],
  'this.logger.warn(a > b);': [],
  'req.log.info({ a: 1 });': [],
  'throw new Error(`x ${a + 1}`);': [],
  'cache.set(a, 1 > 2);': ['boundary: 1 > 2 → 1 >= 2', 'literal: 1 > 2 → 2 > 2', 'literal: 1 > 2 → 1 > 3'],
  'clearTimeout(timer);': [],
  'const { a } = require("b");': [],
  'import { a } from "b";': [],
  'const o = { 1: "a" };': [],
  'const later = setTimeout(f, 500);': [],
  'for (let i = 0; i < xs.length; i++) {}': ['literal: i = 0 → i = 1'],
  'if (x > most) most = x;': ['fixed-condition: x > most → false', 'fixed-condition: x > most → true'],
  'const m = a > b ? a : b;': ['fixed-condition: a > b → false', 'fixed-condition: a > b → true'],
  // Only the whole callee is a log.
  'catalog.add(x);': ['removed-call: catalog.add(x); removed'],
  'Math.log(x);': ['removed-call: Math.log(x); removed'],
  'login(x);': ['removed-call: login(x); removed'],
};

test.each(Object.entries(JAVASCRIPT))('%s', (source, changes) => {
  expect(changesOf('src/a.js', source)).toEqual(changes);
});

/** Types, decorators and declarations hold no faults. */
const TYPESCRIPT: Readonly<Record<string, readonly string[]>> = {
  'type A = 1 extends 2 ? true : 4;': [],
  'interface A { a: 1; b(): true }': [],
  'enum A { B = 1 }': [],
  'declare const x: 1;': [],
  'const x = y as unknown as Foo<1>;': [],
  'let v = <any>f(2);': ['literal: f(2) → f(3)'],
  'const a: 1 | 2 = b!;': [],
  'class A { constructor(private n = 2) {} }': ['literal: n = 2 → n = 3'],
  'class A { @dec(1) a(@inject(2) b: B): boolean { return this.b! > 1; } }': [
    'boundary: this.b! > 1 → this.b! >= 1',
    'return: return this.b! > 1; → return undefined;',
    'literal: this.b! > 1 → this.b! > 2',
  ],
  'namespace N { export const a = 1; }': ['literal: a = 1 → a = 2'],
  'function f(a: T): a is 3 { return true; }': ['return: return true; → return false;'],
};

test.each(Object.entries(TYPESCRIPT))('%s', (source, changes) => {
  expect(changesOf('src/a.ts', source)).toEqual(changes);
});

test('JSX is code, in .js and in .tsx', () => {
  const source = 'const a = <B c="d" e={f > 1}>text</B>;';
  const changes = ['boundary: f > 1 → f >= 1', 'literal: f > 1 → f > 2'];
  expect(changesOf('a.js', source)).toEqual(changes);
  expect(changesOf('a.tsx', source)).toEqual(changes);
});

test.each(['\uFEFF', '#!/usr/bin/env node\r\n'])('%j at the start, CRLF and letters of two units', start => {
  expect(changesOf('a.js', `${start}const a = "🎉" + 1;\r\nif (é > "日本") go();\r\n`)).toEqual([
    'boundary: é > "日本" → é >= "日本"',
    'removed-call: go(); removed',
    'fixed-condition: é > "日本" → false',
    'fixed-condition: é > "日本" → true',
    'literal: "🎉" + 1 → "🎉" + 2',
  ]);
});

test('a file that cannot be parsed says where', () => {
  expect(mutantsIn('if (a {', 'a.js', EVERYWHERE)).toEqual({
    trouble: 'Unexpected token, expected ")" (1:6)',
  });
});

test('a sum of a thousand terms is walked', () => {
  expect(
    changesOf('a.js', `const a = ${Array.from({ length: 1_000 }, () => 'b').join(' + ')};`),
  ).toHaveLength(999);
});

test('a long expression is shown around its fault', () => {
  const source = `const a = f(${'argument, '.repeat(30)}x) < ${'y + '.repeat(30)}z;`;
  const [first] = changesOf('a.js', source);
  expect(first).toMatch(/^boundary: .{0,60} x\) < y .{0,60} → .{0,60} x\) <= y .{0,60}$/);
});
