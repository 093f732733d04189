/** Files that were written a moment ago, which git may take for unchanged. */
import { type BigIntStats, lstatSync } from 'node:fs';
import { tryTo } from '../platform/files.ts';

export type RecentFiles = ReturnType<typeof createRecentFiles>;

const SECOND = 1_000_000_000n;

/**
 * git compares the times of a file by the second: one that it took in within the second in which it was written can be written again,
 * with the same size and its old time of change, and git does not look. So the exact times of such files are kept, and compared.
 * Paths are from `top`, with one character for each byte.
 */
export function createRecentFiles(top: string) {
  const recent = new Map<string, Pick<BigIntStats, 'ctimeNs' | 'size'>>();
  const folder = Buffer.from(`${top}/`).toString('latin1');
  const look = (path: string) =>
    tryTo(() => lstatSync(Buffer.from(folder + path, 'latin1'), { bigint: true, throwIfNoEntry: false }));
  const isRecent = (time: bigint) => time / SECOND >= BigInt(lastSecond());
  return {
    /** git has taken in all that is in this index, in which the name of an object has so many bytes. */
    noteAll(index: Buffer, width: number): void {
      this.note(changedSince(index, width, lastSecond()));
    },
    /** git has taken these in. */
    note(paths: readonly string[]): void {
      for (const path of paths) {
        const stat = look(path);
        if (stat && isRecent(stat.ctimeNs)) recent.set(path, { ctimeNs: stat.ctimeNs, size: stat.size });
        else recent.delete(path);
      }
    },
    /** Those that were written again since, and are as long as they were: git may not see it. */
    takeTouched(): readonly string[] {
      return [...recent].flatMap(([path, { ctimeNs, size }]) => {
        const stat = look(path);
        const isSame = stat?.ctimeNs === ctimeNs;
        if (!isSame || !isRecent(ctimeNs)) recent.delete(path);
        return isSame || stat?.size !== size ? [] : [path];
      });
    },
  };
}

const lastSecond = () => Math.floor(Date.now() / 1000) - 1;

/**
 * Of the files of an index those that have changed since this second, by what git has written of them into it: to look at each one again
 * takes as long as git did. Of version 2 or 3, which is what git writes where its settings, which are Ralph's, do not say otherwise.
 */
function changedSince(index: Buffer, width: number, second: number): readonly string[] {
  const paths: string[] = [];
  let at = 12;
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flags = at + 40 + width;
    const name = flags + (index.readUInt16BE(flags) & 0x4000 ? 4 : 2);
    const end = index.indexOf(0, name);
    if (index.readUInt32BE(at) >= second) paths.push(index.toString('latin1', name, end));
    at += (Math.floor((end - at) / 8) + 1) * 8;
  }
  return paths;
}
