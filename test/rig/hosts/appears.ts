/** Waits for a file that an agent's tool makes, by the file system's word and not by the clock. */
import { existsSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** Fails when `ended` settles first: then nobody is left to make the file. */
export function appears(path: string, ended: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const watcher = watch(dirname(path));
    const look = () => {
      if (!existsSync(path)) return;
      watcher.close();
      resolve();
    };
    watcher.on('change', look);
    void ended.then(() => {
      watcher.close();
      reject(new Error(`everything ended and ${path} never appeared`));
    });
    look();
  });
}
