/** Another version of Ralph: the one that was built last, with changes. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { BIN } from './ralph.ts';

type Change = readonly [place: RegExp, after: string];

/** It writes ledgers in a format that this one does not know, and reads both. */
export const LATER_FORMAT: readonly Change[] = [
  [/(?<=\{\s*)format: 1(?=,\s*\.\.\.)/, 'format: 2'],
  [/(?<=, "format"\);\s*return \w+ !== void 0 && \w+ > )1/, '2'],
];

/** The built program that knows something more: each of these places is there once, and reads like this. */
export function otherRalph(...changes: readonly Change[]): string {
  const dist = dirname(dirname(BIN));
  // Where it finds the packages that it does not bundle.
  const folder = mkdtempSync(join(dist, '../node_modules/.ralph-newer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(dist, folder, { recursive: true });
  const main = join(folder, 'bin/main.cjs');
  const change = (text: string, [place, after]: Change) => {
    expect(text.split(place), place.source).toHaveLength(2);
    return text.replace(place, () => after);
  };
  writeFileSync(main, changes.reduce(change, readFileSync(main, 'utf8')));
  return join(folder, 'bin/ralph.cjs');
}
