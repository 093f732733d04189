/** The table of docs/reference/cheats.md, from the rows of the suite. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectTable } from '../rig/generated.ts';
import { ATTACKS, type Attack, LEVELS, type Level, listOnly, VARIANTS } from './rig.ts';

listOnly();
const own = 'table.test.ts';
const files = readdirSync(import.meta.dirname).filter(name => name.endsWith('.test.ts') && name !== own);
for (const name of files.sort()) await import(join(import.meta.dirname, name));

test('the table of the docs is the one that the suite tries', () => {
  const rows = ATTACKS.flatMap(({ heading, rows }) => [`| **${heading}** | | | | |\n`, ...rows.map(rowOf)]);
  expectTable(
    'docs/reference/cheats.md',
    `| attack | plain | contained | sandboxed | not claimed for |\n|---|---|---|---|---|\n${rows.join('')}`,
  );
});

test('what is held is tried in at least three ways', () => {
  expect(new Set(VARIANTS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(3);
});

test('there are enough of them, and a sandbox holds them all', () => {
  const rows = ATTACKS.flatMap(each => each.rows);
  expect(rows.length).toBeGreaterThanOrEqual(60);
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
  expect(rows.filter(({ held }) => held.sandboxed === false).map(({ name }) => name)).toEqual([]);
});

function rowOf({ name, held }: Attack): string {
  const open = LEVELS.filter(level => held[level] !== true).join(', ');
  return `| ${name} | ${LEVELS.map(level => wordOf(held[level])).join(' | ')} | ${open} |\n`;
}

function wordOf(held: Attack['held'][Level]): string {
  return held === undefined ? '–' : held ? 'held' : '**not held**';
}
