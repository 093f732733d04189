/** The log of a check: Ralph's own file, whatever the check does to its path. */
import { closeSync, fstatSync, lstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CheckResult } from '../domain/checks/check.ts';
import { excerptOf, type Room } from '../domain/checks/failure.ts';
import { countFailures, countTests } from '../domain/checks/test-changes.ts';
import { defined } from '../domain/text/fields.ts';
import type { Redact } from '../domain/text/secrets.ts';
import { openCapped } from '../platform/capped-file.ts';
import { ensureFolder, tryTo } from '../platform/files.ts';
import { hashOfFile } from '../platform/hash.ts';
import { redactFile } from '../platform/redact-file.ts';

const PAGE = 64 * 1024;
/** A character takes four bytes at most. */
const BYTES = 4;
/** A failure is looked for in so many bytes at either end of a log. */
const SEARCHED = 1024 * 1024;

export function openLog(path: string, redact: Redact) {
  // Never through a link that somebody has put there.
  rmSync(path, { force: true, recursive: true });
  const file = openCapped(path, 'anew');
  const { fd } = file;
  return {
    fd,
    /** The check is gone. Returns how many bytes were left out. */
    end: file.end,
    excerpt: (room: Room) => readExcerpt(fd, room, redact),
    /** Half of a log says nothing of how many there were. */
    count(passed: boolean): Pick<CheckResult, 'tests' | 'failures'> {
      const { size } = fstatSync(fd);
      if (size > SEARCHED) return {};
      const output = read(fd, 0, size);
      return defined({ tests: countTests(output), failures: passed ? undefined : countFailures(output) });
    },
    /** A check that deleted or replaced its log has it back. Returns its hash; undefined: it could not be kept. */
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

/**
 * What it printed, cut for the prompt: from the open file, since what is at the path may be something else by now. Secrets go first: a cut
 * could leave half of one.
 */
function readExcerpt(fd: number, { passed, ...room }: Room, redact: Redact) {
  const { size } = fstatSync(fd);
  const bytes = Math.max(passed ? 0 : SEARCHED, room.chars * BYTES);
  const [first, last] = size <= 2 * bytes ? [size, 0] : [bytes, bytes];
  const text = read(fd, 0, first) + read(fd, size - last, last).replace(/^\uFFFD{1,3}/, '');
  return excerptOf(redact(text), { ...room, passed });
}

function read(fd: number, from: number, bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  return buffer.toString('utf8', 0, readSync(fd, buffer, 0, bytes, from));
}
