/**
 * Records outside the project, each signed with the user's key together with its place: one that was edited, or copied from another
 * run or another machine, does not fit.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, rmSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, readIfThere, tryTo, writeAtomic, writeWhole } from '../platform/files.ts';
import { sha256, signature } from '../platform/hash.ts';

/** undefined: there is none, or it cannot be read. */
export function readKey(path: string): string | undefined {
  const key = tryTo(() => readIfThere(path));
  return key !== undefined && /^[0-9a-f]{64}$/.test(key) ? key : undefined;
}

/** Made once; of two that make it at the same time one wins. Throws when the state folder cannot be written. */
export function ensureKey(path: string): string {
  const known = readKey(path);
  if (known !== undefined) return known;
  ensureFolder(dirname(path));
  const draft = `${path}.${process.pid}`;
  writeAtomic(draft, randomBytes(32).toString('hex'));
  tryTo(() => linkSync(draft, path)); // there already: that one counts
  rmSync(draft, { force: true });
  const key = readKey(path);
  if (key === undefined) throw new Error(`${path} is not a key: remove it`);
  return key;
}

/** A name for the key, which says nothing about it. */
export function keyName(key: string): string {
  return sha256(`name of ${key}`).slice(0, 12);
}

export function seal(key: string, path: string, text: string): string {
  return `${signature(key, `${placeOf(path)}\n${text}`)} ${text}`;
}

/** The text of a record; undefined: it does not fit. */
export function unseal(key: string, path: string, sealed: string): string | undefined {
  const text = sealed.slice(65);
  return sealed.slice(0, 65) === `${signature(key, `${placeOf(path)}\n${text}`)} ` ? text : undefined;
}

/** Project, run and kind; where the state folder itself is does not matter. */
function placeOf(path: string): string {
  return path.split(sep).slice(-3).join('/');
}

export type Sealed =
  | { readonly kind: 'missing' }
  /** It was not signed with this key for this place. */
  | { readonly kind: 'damaged' }
  /** Nothing can be said of it. */
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'fits'; readonly text: string };

export function readSealed(keyFile: string, path: string): Sealed {
  try {
    const sealed = readIfThere(path);
    if (sealed === undefined) return { kind: 'missing' };
    const key = readKey(keyFile);
    if (key === undefined) return { kind: 'unreadable', why: `there is no key in ${keyFile}` };
    const text = unseal(key, path, sealed);
    return text === undefined ? { kind: 'damaged' } : { kind: 'fits', text };
  } catch (error) {
    return { kind: 'unreadable', why: `${path}: ${errorWords(error)}` };
  }
}

/** A kill finds it whole or not at all. Throws when the state folder cannot be written. */
export function writeSealed(keyFile: string, path: string, text: string): void {
  ensureFolder(dirname(path));
  writeWhole(path, seal(ensureKey(keyFile), path, text));
}
