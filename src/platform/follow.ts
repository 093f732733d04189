/**
 * Reads a file while somebody writes it. For programs that lose their last words on a pipe: what is written to a file is
 * written, however hastily the writer leaves.
 */

import { closeSync, fstatSync, openSync, readSync, watch } from 'node:fs';
import { tryTo } from './files.ts';

/** Notice of a change can be late or missing, depending on the file system. */
const LOOK_EVERY = 100;
const PAGE = 64 * 1024;
/** Then others have their turn: a signal, a deadline, the screen. */
const PAGES_AT_ONCE = 64;

/** The chunk is reused: copy what you keep of it. */
export function followFile(path: string, onChunk: (chunk: Buffer) => void) {
  const fd = openSync(path, 'r');
  const page = Buffer.allocUnsafeSlow(PAGE);
  let position = 0;
  let next: NodeJS.Immediate | undefined;

  /** Whoever writes it may empty it, too: then it begins anew. */
  const wasEmptied = (): boolean => {
    if (fstatSync(fd).size >= position) return false;
    position = 0;
    return true;
  };
  /** True when there may be more. */
  const read = (): boolean => {
    for (let pages = 0; pages < PAGES_AT_ONCE; pages++) {
      const bytes = readSync(fd, page, 0, PAGE, position);
      if (bytes === 0 && !wasEmptied()) return false;
      position += bytes;
      if (bytes > 0) onChunk(page.subarray(0, bytes));
    }
    return true;
  };
  const look = () => {
    if (next) return;
    if (read()) {
      next = setImmediate(() => {
        next = undefined;
        look();
      });
    }
  };
  const watching = watchFile(path, look, LOOK_EVERY);
  return {
    /** Reads what is left and stops. */
    async end(): Promise<void> {
      watching.close();
      if (next) clearImmediate(next);
      while (read()) await new Promise(resolve => setImmediate(resolve));
      closeSync(fd);
    },
  };
}

export type Watching = ReturnType<typeof watchFile>;

/** Looks whenever the file changes, and every so many milliseconds anyway: notice can get lost, and a crash changes nothing. */
export function watchFile(path: string, look: () => void, every: number) {
  // A system gives out only so many watches.
  const watcher = tryTo(() => watch(path, look).on('error', () => {}));
  const timer = setInterval(look, every);
  return {
    close(): void {
      watcher?.close();
      clearInterval(timer);
    },
  };
}
