import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { packageFile } from '../../src/platform/package.ts';

test('the script of the page has nothing that HTML reads as something else: its hash would not fit', () => {
  const script = readFileSync(packageFile('dist/page', 'page.js'), 'utf8');
  expect(script.match(/[\0\r]|<\/script/g)).toBe(null);
});
