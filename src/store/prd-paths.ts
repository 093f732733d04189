/** Where the files of `ralph prd` are, and what they begin with: seed 002's names and templates. */
import { join, relative, resolve } from 'node:path';
import { readIfThere } from '../platform/files.ts';
import { packageFile } from '../platform/package.ts';

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

/** Files that are not merged: Ralph writes the list and the log, and what the user wrote for the agents to read never lands with the work of one. */
export function ownFiles({ tasks, progress, prd, prompt }: PrdPaths): readonly string[] {
  return [tasks, progress, prd, prompt];
}

export type TemplateName = 'prd.md' | 'tasks.json' | 'progress.txt' | 'prompt.md' | 'plan.md';

/** Throws when Ralph was taken apart. */
export function readTemplate(name: TemplateName, values: Readonly<Record<string, string>> = {}): string {
  const text = readIfThere(packageFile('templates', name));
  if (text === undefined) throw new Error(`Ralph's own template ${name} is not here: install Ralph again`);
  return text.replace(/\{\{([A-Z_]+)\}\}/g, (whole, key: string) => values[key] ?? whole);
}

/** A story list in which nobody has written a story yet. */
export function isUntouchedTemplate(tasks: string): boolean {
  try {
    const { userStories } = JSON.parse(tasks);
    const [first] = userStories;
    return userStories.length === 1 && first.title === '' && first.acceptanceCriteria.length === 0;
  } catch {
    return false;
  }
}
