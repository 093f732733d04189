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
  const watcher = watch(path, look);
  watcher.on('error', () => {});
  const timer = setInterval(look, LOOK_EVERY);
  return {
    end() {
      watcher.close();
      clearInterval(timer);
      look();
      closeSync(fd);
    },
  };
}
