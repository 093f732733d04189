/** Files that are written from what they describe: committed, and compared in every test run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** Compares a committed file with what it is generated from; `npm run generate` writes it. */
export function expectGenerated(name: string, content: string): void {
  const path = join(ROOT, name);
  if (process.env.RALPH_GENERATE) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  expect(readFileSync(path, 'utf8'), `${name} is out of date: npm run generate`).toBe(content);
}

/** The same for a table between two comments in a page that is written by hand. */
export function expectTable(name: string, table: string): void {
  const page = readFileSync(join(ROOT, name), 'utf8');
  const [before = '', , after = ''] = page.split(/<!-- (?:table|end) -->\n/);
  expectGenerated(name, `${before}<!-- table -->\n${table}<!-- end -->\n${after}`);
}
