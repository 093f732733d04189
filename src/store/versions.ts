/**
 * A record that several processes change. Each version of it is a file of its own, and of two that would follow the same one only one can
 * be made: whoever is late finds out, and has written nothing. docs/adr/0047.
 */
import { linkSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../platform/error-words.ts';
import { ensureFolder, readIfThere, tryTo, writeWhole } from '../platform/files.ts';

export interface Version {
  /** Counted from 1; 0: there was never one. */
  readonly number: number;
  /** undefined: it has ended, or there was never one. */
  readonly text: string | undefined;
}

const ENDED = '';

export function readVersion(folder: string): Version {
  for (;;) {
    const number = latestIn(folder);
    if (number === 0) return { number, text: undefined };
    const text = readIfThere(join(folder, String(number)));
    if (text === undefined) continue; // one that came after it took its place
    return { number, text: text === ENDED ? undefined : text };
  }
}

export function latestIn(folder: string): number {
  const numbers = (tryTo(() => readdirSync(folder)) ?? []).filter(name => /^\d+$/.test(name)).map(Number);
  return Math.max(0, ...numbers);
}

/**
 * Makes the version after this one; `undefined` ends the record. False: somebody else was faster. Throws when the state folder cannot be
 * written.
 */
export function writeNext(folder: string, after: number, text: string | undefined): boolean {
  ensureFolder(folder);
  if (latestIn(folder) !== after) return false;
  const path = join(folder, String(after + 1));
  const draft = join(folder, `draft-${process.pid}-${counter++}`);
  writeWhole(draft, text ?? ENDED);
  try {
    linkSync(draft, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
  removeBefore(folder, after);
  return true;
}

let counter = 0;

/** The one before the latest stays: while it is there, nobody who is late can make the latest one again. */
function removeBefore(folder: string, number: number): void {
  for (const name of tryTo(() => readdirSync(folder)) ?? [])
    if (/^\d+$/.test(name) && Number(name) < number) tryTo(() => unlinkSync(join(folder, name)));
}
