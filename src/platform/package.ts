/** Ralph's own folders: where it is installed, bundled or not, and where it keeps its state. */
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { readIfThere, tryTo } from './files.ts';

/** The folder above a file of Ralph's that holds its plugins. */
export function rootAbove(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (readIfThere(join(folder, '.claude-plugin/marketplace.json')) !== undefined) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

let root: string | undefined;

/** undefined when Ralph was taken apart. In a program whose bundler took Ralph's code in, the rest is where the package is installed. */
function packageRoot(): string | undefined {
  root ??= rootAbove(import.meta.filename) ?? tryTo(installed);
  return root;
}

function installed(): string {
  return dirname(createRequire(import.meta.url).resolve('@ralph-loop/ralph/package.json'));
}

/** A file of the package. Throws when Ralph was taken apart. */
export function packageFile(...names: readonly string[]): string {
  const folder = packageRoot();
  if (folder !== undefined) return join(folder, ...names);
  throw new Error(
    `Ralph's own ${names.join('/')} is not here: install @ralph-loop/ralph, and where your program is a bundle leave it out of that`,
  );
}

/** A dependency that the build has put beside the bin: the package installs nothing. */
export function loadBundled(name: 'string-width' | 'yaml' | 'babel-parser'): unknown {
  return createRequire(import.meta.url)(packageFile('dist/bin', `${name}.cjs`));
}

/** The program that host plugins carry; undefined when Ralph was taken apart by somebody's bundler. */
export function hookProgram(): string | undefined {
  const folder = packageRoot();
  return folder && join(folder, 'plugins/claude/bin/ralph-hook.cjs');
}

/** Where Ralph keeps what it must be able to believe, its compiled code included: containment and sandboxes hide this folder from the inside. */
export function stateFolder({ XDG_STATE_HOME, HOME }: Readonly<Record<string, string | undefined>>): string {
  return join(XDG_STATE_HOME || join(HOME || homedir(), '.local/state'), 'ralph');
}
