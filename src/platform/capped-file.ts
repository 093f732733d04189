/**
 * A file that a child writes into by itself, so that nothing it prints passes through us, and that cannot fill the disk: its beginning
 * and its end are kept. The file is looked at from time to time; whatever comes in between is written in full for that long.
 */
import { closeSync, constants, fstatSync, ftruncateSync, readSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ensureFolder, openOwn } from './files.ts';

const MIB = 1024 * 1024;
/** Of what one child prints. */
const MOST = 64 * MIB;
const HEAD = 32 * MIB;
/** What is held in memory of the end, in case that not much comes after it. */
const TAIL = 2 * MIB;
const LOOK_EVERY = 250;
/** A child that never stops writing is not followed for ever. */
const ROUNDS = 1000;

export function openCapped(path: string, how: 'anew' | 'append') {
  const { O_CREAT, O_RDWR, O_APPEND, O_TRUNC } = constants;
  ensureFolder(dirname(path)); // whoever ran before may have deleted it
  const fd = openOwn(path, O_CREAT | O_RDWR | O_APPEND | (how === 'anew' ? O_TRUNC : 0));
  const head = fstatSync(fd).size + HEAD;
  let leftOut = 0;
  let tail: Buffer = Buffer.alloc(0);
  const cut = () => {
    let read = head;
    // Until nothing was written while we read, so that the last words of a child that ends just then are not cut off unread.
    for (let round = 0; round < ROUNDS; round++) {
      const { size } = fstatSync(fd);
      if (size === read) break;
      tail = Buffer.concat([tail, readAt(fd, Math.max(read, size - TAIL), size)]).subarray(-TAIL);
      read = size;
    }
    leftOut += read - head;
    ftruncateSync(fd, head);
  };
  const look = () => {
    const { size } = fstatSync(fd);
    if (size > head - HEAD + MOST) cut();
  };
  const timer = setInterval(look, LOOK_EVERY).unref();
  const end = () => {
    clearInterval(timer);
    look();
    if (leftOut === 0) return 0;
    cut();
    leftOut -= tail.length;
    writeFileSync(fd, `\n[... ${leftOut} bytes left out ...]\n`);
    writeFileSync(fd, tail);
    return leftOut;
  };
  return {
    /** For the child: everything is appended. */
    fd,
    /** The child is gone. Returns how many bytes were left out; the file says so, too, and can still be read. */
    end,
    /** The same, and nobody reads it any more. */
    close(): number {
      const bytes = end();
      closeSync(fd);
      return bytes;
    },
  };
}

function readAt(fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
}

/** For the user. `what`: whose output, and where to. */
export function leftOutNotice(what: string, bytes: number): string {
  return `${what} is longer than ${MOST / MIB} MiB: ${Math.ceil(bytes / MIB)} MiB in the middle were left out.`;
}
