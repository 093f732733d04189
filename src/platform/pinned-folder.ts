/**
 * A folder that others must find where it was. The inside cannot look into a folder that is covered, but it can rename what is above it
 * and put one of its own there. To cover all that is above as well would take away hard links between the user's folders.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ensureFolder, tryTo } from './files.ts';

export function pinFolder(path: string) {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  const pinned = fstatSync(fd);
  const isThere = () => {
    const now = tryTo(() => statSync(path));
    return now?.dev === pinned.dev && now.ino === pinned.ino;
  };
  return {
    /** `moved`: it had been moved, and is back. `lost`: it could not be put back. */
    putBack(): 'untouched' | 'moved' | 'lost' {
      if (isThere()) return 'untouched';
      const isDeleted = fstatSync(fd).nlink === 0;
      if (!isDeleted) tryTo(() => bringBack(readlinkSync(`/proc/self/fd/${fd}`), path));
      return isThere() ? 'moved' : 'lost';
    },
    close: () => closeSync(fd),
  };
}

/** What stands in its place is moved aside, also a file in place of a folder above it. */
function bringBack(from: string, path: string): void {
  for (const folder of foldersAbove(path)) if (!isFolder(folder)) moveAside(folder);
  moveAside(path);
  ensureFolder(dirname(path));
  try {
    renameSync(from, path);
  } catch {
    symlinkSync(from, path); // it had been reached through a link, from another file system
  }
}

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function moveAside(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }))
    renameSync(path, `${path}.aside-${randomBytes(4).toString('hex')}`);
}
