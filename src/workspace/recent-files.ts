/**
 * git compares the times of a file by the second: one that it took in within the second in which it was written can be written again,
 * with the same size and its old time of change, and git does not look. So the exact times of such files are kept, and compared.
 */
import { lstatSync } from 'node:fs';
import { tryTo } from '../platform/files.ts';

export type RecentFiles = ReturnType<typeof createRecentFiles>;

const SECOND = 1_000_000_000n;

/** Paths from `top`, with one character for each byte. */
export function createRecentFiles(top: string) {
  const recent = new Map<string, bigint>();
  const folder = Buffer.from(`${top}/`).toString('latin1');
  const changedAt = (path: string) =>
    tryTo(() => lstatSync(Buffer.from(folder + path, 'latin1'), { bigint: true, throwIfNoEntry: false }))
      ?.ctimeNs;
  const isRecent = (time: bigint) => time / SECOND >= BigInt(Math.floor(Date.now() / 1000)) - 1n;
  return {
    /** git has taken these in. */
    note(paths: readonly string[]): void {
      for (const path of paths) {
        const time = changedAt(path);
        if (time !== undefined && isRecent(time)) recent.set(path, time);
        else recent.delete(path);
      }
    },
    /** Those that were written again since: git may not see it. */
    takeTouched(): readonly string[] {
      return [...recent].flatMap(([path, time]) => {
        const isSame = changedAt(path) === time;
        if (!isSame || !isRecent(time)) recent.delete(path);
        return isSame ? [] : [path];
      });
    },
    isThere: (path: string) => changedAt(path) !== undefined,
  };
}
