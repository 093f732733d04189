/**
 * Reads a file while somebody writes it. For programs that lose their last words on a pipe: what is written to a file is
 * written, however hastily the writer leaves.
 */
import { closeSync, openSync, readSync, watch } from 'node:fs';

export interface Follower {
  /** Reads what is left and stops. */
  end(): void;
}

/** Notice of a change can be late or missing, depending on the file system. */
const LOOK_EVERY = 100;

export function followFile(path: string, onChunk: (chunk: Buffer) => void): Follower {
  const fd = openSync(path, 'r');
  let position = 0;
  const look = () => {
    for (;;) {
      const page = Buffer.allocUnsafe(64 * 1024); // a new one each time: the reader may keep it
      const bytes = readSync(fd, page, 0, page.length, position);
      if (bytes === 0) return;
      position += bytes;
      onChunk(page.subarray(0, bytes));
    }
  };
  const watching = watchFile(path, look, LOOK_EVERY);
  return {
    end() {
      watching.close();
      look();
      closeSync(fd);
    },
  };
}

export interface Watching {
  close(): void;
}

/** Looks whenever the file changes, and every so many milliseconds anyway: notice can get lost, and a crash changes nothing. */
export function watchFile(path: string, look: () => void, every: number): Watching {
  const watcher = watch(path, look);
  watcher.on('error', () => {});
  const timer = setInterval(look, every);
  return {
    close() {
      watcher.close();
      clearInterval(timer);
    },
  };
}
