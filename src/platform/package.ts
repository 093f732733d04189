/** Ralph's own folder, wherever it is installed, bundled or not. */
import { dirname, join } from 'node:path';
import { readIfThere } from './files.ts';

/** The folder above a file of Ralph's that holds its plugins. */
export function rootAbove(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (readIfThere(join(folder, '.claude-plugin/marketplace.json')) !== undefined) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

let root: string | undefined;

/** The program that host plugins carry; undefined when Ralph was taken apart by somebody's bundler. */
export function hookProgram(): string | undefined {
  root ??= rootAbove(import.meta.filename);
  return root && join(root, 'plugins/claude/bin/ralph-hook.cjs');
}
