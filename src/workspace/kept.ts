/**
 * The protected files as they were at the start of a run, on disk: what is in memory does not survive a crash, and a
 * resumed run must compare with its own start, not with what the agent has left.
 *
 * Two files, an index and the contents behind each other; large files have a copy each. The ledger holds the hash of
 * the index, which is its name, and the index the hash of every content, so a snapshot that was changed since is not taken for the real one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { ensureFolder, errorWords, readIfThere, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import type { SavedRules } from './ignore-rules.ts';
import { type Content, hashOfFile, type SavedFile } from './snapshot.ts';

export interface Snapshot {
  /** By path from the top of the work tree. */
  readonly kept: ReadonlyMap<string, SavedFile>;
  /** What fitted the globs, ignored files too; only where new files are forbidden. */
  readonly before?: readonly string[];
  readonly rules?: SavedRules;
}

interface Index {
  readonly process: number;
  readonly files: readonly Row[];
  readonly before?: readonly string[];
  readonly rules?: SavedRules;
}

type Row = { readonly path: string; readonly kind: SavedFile['kind']; readonly mode: number } & (
  | { readonly at: number; readonly bytes: number; readonly sha256: string }
  | { readonly copy: string; readonly sha256: string }
);

/** Returns the name under which it can be asked for again: a hash. */
export function saveSnapshot(folder: string, { kept, before, rules }: Snapshot): string {
  ensureFolder(folder);
  const contents: Buffer[] = [];
  let at = 0;
  const files = [...kept].map(([path, { kind, mode, content }]): Row => {
    if (!('bytes' in content))
      return { path, kind, mode, copy: basename(content.copy), sha256: content.sha256 };
    const row = { path, kind, mode, at, bytes: content.bytes.length, sha256: sha256(content.bytes) };
    contents.push(content.bytes);
    at += content.bytes.length;
    return row;
  });
  const index: Index = { process: process.pid, files, ...(before && { before }), ...(rules && { rules }) };
  const text = JSON.stringify(index);
  const name = sha256(text);
  writeFileSync(contentsOf(folder, name), Buffer.concat(contents), { mode: 0o600 });
  writeAtomic(indexOf(folder, name), text);
  return name;
}

const indexOf = (folder: string, name: string) => join(folder, `${name}.json`);
const contentsOf = (folder: string, name: string) => join(folder, `${name}.contents`);

/** As it was saved, every byte of it checked. `process` is who saved it. */
export function loadSnapshot(
  folder: string,
  name: string,
): (Snapshot & { readonly process: number }) | Problem {
  try {
    const text = readIfThere(indexOf(folder, name));
    if (text === undefined || sha256(text) !== name) return changed(folder);
    const { files, ...rest } = JSON.parse(text) as Index;
    const contents = readFileSync(contentsOf(folder, name));
    const kept = new Map<string, SavedFile>();
    for (const row of files) {
      const content = contentOf(row, folder, contents);
      if (!content) return changed(folder);
      kept.set(row.path, { kind: row.kind, mode: row.mode, content });
    }
    return { ...rest, kept };
  } catch (error) {
    return { where: folder, what: `the protected files that were kept cannot be read: ${errorWords(error)}` };
  }
}

function contentOf(row: Row, folder: string, contents: Buffer): Content | undefined {
  if ('copy' in row) {
    const copy = join(folder, basename(row.copy));
    return hashOfFile(copy) === row.sha256 ? { copy, sha256: row.sha256 } : undefined;
  }
  const bytes = Buffer.from(contents.subarray(row.at, row.at + row.bytes));
  return sha256(bytes) === row.sha256 ? { bytes } : undefined;
}

function changed(where: string): Problem {
  return {
    where,
    what: 'the protected files that were kept at the start of the run are not what they were',
    fix: 'look at them with `git status` and start a new run',
  };
}
