/**
 * What is kept of a run in a folder outside of the project: each content under its hash, so that what was changed since is not taken for
 * the real one. docs/adr/0059 says why it is no git directory.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureFolder, fileSize, readBytes, readPart, SHORT, tryTo, writeAtomic } from '../platform/files.ts';
import { hashOfFile, sha256 } from '../platform/hash.ts';
import type { RunPaths } from './paths.ts';

/** Returns its hash, under which it can be asked for. `write`: whether it waits for the disk. */
export function keepContent(folder: string, content: string | Buffer, write = writeAtomic): string {
  const hash = sha256(content);
  ensureFolder(folder);
  write(join(folder, hash), content);
  return hash;
}

/** The same of a file of any size; it does not wait for the disk. Whoever writes to the file meanwhile changes what is kept, not its name. */
export function keepCopy(folder: string, path: string): string {
  ensureFolder(folder);
  const copy = join(folder, `new.${process.pid}`);
  const hash = fileSize(path) <= LARGE ? copySmall(path, copy) : copyLarge(path, copy);
  renameSync(copy, join(folder, hash));
  return hash;
}

export const LARGE = SHORT;

/** Where a content is that has no file of its own. */
export interface Packed {
  readonly pack: string;
  readonly from: number;
  readonly size: number;
}

export type Pack = ReturnType<typeof openPack>;

/** Takes many small contents, one behind the other: to make a file for each takes longer than all else that is done with them. */
export function openPack(folder: string) {
  ensureFolder(folder);
  const name = `pack.${process.pid}.${process.hrtime.bigint()}`;
  const fd = openSync(join(folder, name), 'wx', 0o600);
  const waiting = Buffer.allocUnsafeSlow(LARGE);
  let [size, held] = [0, 0];
  const flush = () => {
    writeFileSync(fd, waiting.subarray(0, held));
    held = 0;
  };
  return {
    add(content: Buffer): Packed {
      const from = size;
      size += content.length;
      if (held + content.length > LARGE) flush();
      // It may have grown since somebody looked how long it is.
      if (content.length > LARGE) writeFileSync(fd, content);
      else held += content.copy(waiting, held);
      return { pack: name, from, size: content.length };
    },
    close(): void {
      flush();
      closeSync(fd);
    },
  };
}

function copySmall(path: string, copy: string): string {
  const content = readFileSync(path);
  writeFileSync(copy, content, { mode: 0o600 });
  return sha256(content);
}

function copyLarge(path: string, copy: string): string {
  copyFileSync(path, copy, constants.COPYFILE_FICLONE);
  chmodSync(copy, 0o600);
  return hashOfFile(copy);
}

/** undefined: it is not there, or not what it was. */
export function readKept(folder: string, hash: string, packed?: Packed): Buffer | undefined {
  const content = tryTo(() =>
    packed
      ? readBytes(join(folder, packed.pack), packed.from, packed.size)
      : readFileSync(join(folder, hash)),
  );
  return content && sha256(content) === hash ? content : undefined;
}

/** A copy of a story list: outside of the project, and in the run's folder for readers elsewhere. Returns its hash. */
export function keepStories({ state, stories }: RunPaths, text: string): string {
  const hash = keepContent(state.kept, text);
  ensureFolder(dirname(stories(hash)));
  writeAtomic(stories(hash), text);
  return hash;
}

/** Nothing else becomes a part of a path: a ledger can be changed to say anything. */
const HASH = /^[0-9a-f]{64}$/;
const LONGEST = 8 * 1024 * 1024;

/** undefined: there is none with this hash. */
export function readStories({ state, stories }: RunPaths, hash: string): string | undefined {
  if (!HASH.test(hash)) return undefined;
  const text = (readPart(join(state.kept, hash), LONGEST) ?? readPart(stories(hash), LONGEST))?.text;
  return text !== undefined && sha256(text) === hash ? text : undefined;
}
