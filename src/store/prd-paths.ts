/** Where the files of `ralph prd` are: seed 002's names. */
import { join, resolve } from 'node:path';

export interface PrdPaths {
  /** The project. */
  readonly root: string;
  /** `ralph/`, as the user named it, and where it is. */
  readonly name: string;
  readonly folder: string;
  readonly prd: string;
  readonly tasks: string;
  readonly progress: string;
  readonly prompt: string;
  /** The mark of a running loop, with what its hooks need to know. */
  readonly active: string;
  /** Held for the moment in which a loop looks whether there is another. */
  readonly lock: string;
  readonly gitignore: string;
  readonly archive: string;
}

export const ACTIVE_FILE = '.ralph-active';

export function prdPaths(root: string, name = 'ralph'): PrdPaths {
  const folder = resolve(root, name);
  return {
    root,
    name,
    folder,
    prd: join(folder, 'prd.md'),
    tasks: join(folder, 'tasks.json'),
    progress: join(folder, 'progress.txt'),
    prompt: join(folder, 'prompt.md'),
    active: join(root, ACTIVE_FILE),
    lock: join(root, '.ralph', 'prd.lock'),
    gitignore: join(root, '.gitignore'),
    archive: join(root, 'ralph-archive'),
  };
}
