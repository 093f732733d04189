/** Seed 002's starting files, shipped in `templates/`. */
import { readIfThere } from '../platform/files.ts';
import { packageFile } from '../platform/package.ts';

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
