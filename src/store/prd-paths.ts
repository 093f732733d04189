/** Where the files of `ralph prd` are: seed 002's names. */
import { join, relative, resolve } from 'node:path';

export const ACTIVE_FILE = '.ralph-active';

export type PrdPaths = Readonly<ReturnType<typeof prdPaths>>;

export function prdPaths(root: string, name = 'ralph') {
  const folder = resolve(root, name);
  return {
    /** The project. */
    root,
    /** `ralph/`, as the user named it, and where it is. */
    name,
    folder,
    /** The same folder from the project, however the user named it. */
    inside: relative(root, folder),
    prd: join(folder, 'prd.md'),
    tasks: join(folder, 'tasks.json'),
    progress: join(folder, 'progress.txt'),
    prompt: join(folder, 'prompt.md'),
    /** The mark of a running loop, with what its hooks need to know. */
    active: join(root, ACTIVE_FILE),
    /** Held for the moment in which a loop looks whether there is another. */
    lock: join(root, '.ralph', 'prd.lock'),
    gitignore: join(root, '.gitignore'),
    archive: join(root, 'ralph-archive'),
  };
}
