/** The log of a check: Ralph's own file, whatever the check does to its path. */
import { closeSync, fstatSync, lstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Room } from '../domain/failure.ts';
import type { Redact } from '../domain/secrets.ts';
import { openCapped } from '../platform/capped-file.ts';
import { ensureFolder, tryTo } from '../platform/files.ts';
import { hashOfFile } from '../platform/hash.ts';
import { redactFile } from '../platform/redact-file.ts';
import { readExcerpt } from './excerpt.ts';

const PAGE = 64 * 1024;

export function openLog(path: string, redact: Redact) {
  // Never through a link that somebody has put there.
  rmSync(path, { force: true, recursive: true });
  const file = openCapped(path, 'anew');
  const { fd } = file;
  return {
    fd,
    /** The check is gone. Answers how many bytes were left out. */
    end: file.end,
    excerpt: (room: Room) => readExcerpt(fd, room, redact),
    /** A check that deleted or replaced its log has it back. Answers its hash; undefined: it could not be kept. */
    close(): string | undefined {
      if (!isAt(fd, path)) tryTo(() => writeAgain(fd, path)); // a full disk: the excerpt is what is left
      closeSync(fd);
      redactFile(path, redact);
      return lstatSync(path, { throwIfNoEntry: false })?.isFile() ? hashOfFile(path) : undefined;
    },
  };
}

function isAt(fd: number, path: string): boolean {
  const [open, there] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })];
  return there?.isFile() === true && there.ino === open.ino && there.dev === open.dev;
}

function writeAgain(fd: number, path: string): void {
  ensureFolder(dirname(path));
  rmSync(path, { force: true, recursive: true });
  const copy = openSync(path, 'wx', 0o600);
  const page = Buffer.allocUnsafe(PAGE);
  try {
    for (let at = 0; ; ) {
      const read = readSync(fd, page, 0, PAGE, at);
      if (read === 0) return;
      writeSync(copy, page, 0, read);
      at += read;
    }
  } finally {
    closeSync(copy);
  }
}
