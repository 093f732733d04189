import { expect, test } from 'vitest';
import { matchesText, pathPattern } from '../../../src/domain/text/glob.ts';

test.each([
  ['test/*.ts', 'test/a.ts', true],
  ['test/*.ts', 'test/a/b.ts', false],
  ['test/**', 'test/a/b.ts', true],
  ['**/.env', '.env', true],
  ['**/.env', 'a/b/.env', true],
  ['**/.env', 'a/b.env', false],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['a.c', 'abc', false],
  ['[ab](c)', '[ab](c)', true],
  ['test', 'test/a', false],
])('the path pattern %s against %s: %s', (glob, path, fits) => {
  expect(pathPattern(glob).test(path)).toBe(fits);
});

test('a folder stands for what is in it where that is asked for', () => {
  expect(
    ['test', 'test/a/b', 'tests'].map(path => pathPattern('test', { orBelow: true }).test(path)),
  ).toEqual([true, true, false]);
});

test.each([
  ['AWS_*', 'AWS_KEY', true],
  ['AWS_*', 'aws_key', false],
  ['git push *', 'git push origin\n main/x', true],
  ['a?b', 'a?b', true],
  ['a?b', 'axb', false],
  ['a**b', 'a/b', true],
])('the pattern %s against the text %j: %s', (pattern, text, fits) => {
  expect(matchesText(text, pattern)).toBe(fits);
});

test('upper and lower case are the same where that is asked for', () => {
  expect(matchesText('Npm_Token', '*_TOKEN', { ignoreCase: true })).toBe(true);
});
