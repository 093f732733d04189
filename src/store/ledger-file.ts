/** The file of a ledger while it is written: each line behind its head, and nothing more once the disk has failed. */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  lstatSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorWords } from '../platform/error-words.ts';
import { createPrivate, tryTo } from '../platform/files.ts';
import type { Head, HeadWriter } from './head.ts';
import { cutHalfLine } from './ledger-end.ts';

/** When the disk fails it is closed. */
export function openLedgerFile(path: string, head: HeadWriter | undefined) {
  let fd: number | undefined = createPrivate(path);
  let trouble: string | undefined;
  const close = () => {
    const open = fd;
    if (open === undefined) return;
    tryTo(() => closeSync(open)); // a disk that gave out may say so once more
    tryTo(() => head?.close());
    fd = undefined;
  };
  /** False when it was not done. */
  const attempt = (action: (fd: number) => void): boolean => {
    if (fd === undefined) return false;
    try {
      action(fd);
      return true;
    } catch (error) {
      trouble ??= `${path}: ${errorWords(error)}`;
      close();
      return false;
    }
  };
  return {
    write: (line: string, ahead: Head) =>
      attempt(open => {
        head?.expect(ahead);
        try {
          writeFileSync(open, `${line}\n`);
        } catch (error) {
          cutHalfLine(path); // a full disk may have taken a part of it
          throw error;
        }
      }),
    /** The line is there. */
    confirm: (now: Head) => attempt(() => head?.expect(now)),
    flush(): void {
      attempt(open => {
        fd = stillThere(path, open);
        fdatasyncSync(fd);
      });
    },
    close,
    trouble: () => trouble,
  };
}

/** An agent may have deleted or replaced the file under us: then what we have written is put back, and theirs set aside. */
function stillThere(path: string, fd: number): number {
  if (statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino) return fd;
  const run = dirname(path);
  for (const folder of [dirname(dirname(run)), dirname(run), run]) setAside(folder);
  if (lstatSync(path, { throwIfNoEntry: false })) renameSync(path, `${path}.replaced`);
  const written = Buffer.alloc(fstatSync(fd).size);
  readSync(fd, written, 0, written.length, 0);
  closeSync(fd);
  const fresh = createPrivate(path);
  writeFileSync(fresh, written);
  return fresh;
}

/** Whatever else has the name of a folder of ours would lead us elsewhere. */
export function setAside(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (!stat || stat.isDirectory()) return false;
  if (stat.isSymbolicLink()) rmSync(folder);
  else renameSync(folder, `${folder}.replaced`);
  return true;
}
