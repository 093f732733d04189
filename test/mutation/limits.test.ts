import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rankMutants } from '../../src/proof/faults/choose.ts';
import { isMutable, mutantsIn } from '../../src/proof/faults/find.ts';
import { applyMutant, OPERATORS } from '../../src/proof/faults/mutant.ts';
import { EVERYWHERE, mutantsOf } from './changes.ts';

/** Real code of many kinds: our own. */
const ROOT = join(import.meta.dirname, '../..');
const FILES = ['src', 'scripts']
  .flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(name => join(folder, name)),
  )
  .filter(isMutable);
const anyFile = fc
  .constantFrom(...FILES)
  .map(file => ({ file, source: readFileSync(join(ROOT, file), 'utf8') }));
const anyRange = fc
  .tuple(fc.integer({ min: 1, max: 200 }), fc.nat(30))
  .map(([from, more]) => [from, from + more] as const);

test('every fault in JavaScript and TypeScript can be parsed, and is a change', () => {
  fc.assert(
    fc.property(anyFile, fc.nat(), ({ file, source }, nth) => {
      const found = mutantsOf(file, source);
      const mutant = found[nth % found.length];
      if (!mutant) return;
      const faulty = applyMutant(source, mutant);
      expect(faulty).not.toBe(source);
      expect(mutantsIn(faulty, file, EVERYWHERE)).not.toHaveProperty('trouble');
    }),
    { numRuns: 40 },
  );
});

test('faults are in the changed lines only, the same ones each time, and name their line', () => {
  fc.assert(
    fc.property(anyFile, fc.array(anyRange, { maxLength: 3 }), ({ file, source }, ranges) => {
      const found = mutantsOf(file, source, ranges);
      expect(mutantsOf(file, source, ranges)).toEqual(found);
      for (const { line, start } of found) {
        expect(line).toBe(source.slice(0, start).split('\n').length);
        expect(ranges.some(([from, to]) => from <= line && line <= to)).toBe(true);
      }
    }),
    { numRuns: 40 },
  );
});

test('two for a line at most, the first of each line before the second of any, each in the order of operators', () => {
  fc.assert(
    fc.property(fc.array(anyFile, { minLength: 1, maxLength: 3 }), files => {
      const unique = [...new Map(files.map(each => [each.file, each])).values()];
      const ranked = rankMutants(
        unique.map(({ file, source }) => ({ file, source, mutants: mutantsOf(file, source) })),
      );
      const seen = new Map<string, number>();
      const rounds = ranked.map(({ file, line, operator }) => {
        const key = `${file}:${line}`;
        const round = seen.get(key) ?? 0;
        seen.set(key, round + 1);
        return round * OPERATORS.length + OPERATORS.indexOf(operator);
      });
      expect(Math.max(0, ...seen.values())).toBeLessThanOrEqual(2);
      expect(rounds).toEqual(rounds.toSorted((a, b) => a - b));
    }),
    { numRuns: 20 },
  );
});

test('a small file is not crowded out by a large one', () => {
  const small = 'if (a < b) c = 1;\n';
  const large = small.repeat(100);
  const ranked = rankMutants([
    { file: 'a.js', source: large, mutants: mutantsOf('a.js', large) },
    { file: 'b.js', source: small, mutants: mutantsOf('b.js', small) },
  ]);
  expect(ranked.slice(0, 2).map(({ file }) => file)).toEqual(['a.js', 'b.js']);
});

test.each([
  ['src/cart.js', true],
  ['a/b c.tsx', true],
  ['run.sh', true],
  ['types.d.ts', false],
  ['lib.min.js', false],
  ['test/cart.js', false],
  ['src/cart.test.mts', false],
  ['src/__tests__/cart.js', false],
  ['pkg/cart_test.go', false],
  ['test_cart.py', false],
  ['conftest.py', false],
  ['src/CartTest.java', false],
  ['src/contest.py', true],
  ['README.md', false],
  ['vendor/x.go', false],
])('%s is code to be changed: %s', (file, expected) => {
  expect(isMutable(file)).toBe(expected);
});
