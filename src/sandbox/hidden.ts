/** What nobody inside needs to read: the user's keys, logins and histories. */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathPattern } from '../domain/text/glob.ts';
import type { SandboxSpec } from './provider.ts';

/** In the home. */
export const SECRET_PATHS: readonly string[] = [
  '~/.ssh',
  '~/.gnupg',
  '~/.aws',
  '~/.azure',
  '~/.kube',
  '~/.config/gcloud',
  '~/.config/gh',
  '~/.config/hub',
  '~/.config/op',
  '~/.docker/config.json',
  '~/.netrc',
  '~/.git-credentials',
  '~/.config/git/credentials',
  '~/.npmrc',
  '~/.pypirc',
  '~/.cargo/credentials.toml',
  '~/.gem/credentials',
  '~/.terraform.d/credentials.tfrc.json',
  '~/.vault-token',
  '~/.password-store',
  '~/.local/share/keyrings',
  '~/.mozilla',
  '~/.config/google-chrome',
  '~/.config/chromium',
  '~/.bash_history',
  '~/.zsh_history',
];

/** `~` is the home, everything else is below `root` unless it is absolute. */
export function resolvePath(path: string, home: string, root: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : resolve(root, path);
}

/** What the patterns stand for on this machine, now. A path that is not there hides nothing. */
export function findHidden(patterns: readonly string[], home: string, root: string): readonly string[] {
  const isGlob = (pattern: string) => /[*?]/.test(pattern);
  const resolved = (some: readonly string[]) => some.map(path => resolvePath(path, home, root));
  const plain = resolved(patterns.filter(pattern => !isGlob(pattern))).filter(path => existsSync(path));
  const globs = resolved(patterns.filter(isGlob)).map(glob => pathPattern(glob));
  const found = globs.length === 0 ? [] : walk(root, globs);
  return [...new Set([...plain, ...found].map(path => realpathSync(path)))];
}

/** Folders that hold nothing of the user's own, and a lot of it. */
const SKIPPED = new Set(['.git', 'node_modules']);

function walk(folder: string, patterns: readonly RegExp[]): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name);
    if (patterns.some(pattern => pattern.test(path))) return [path];
    return entry.isDirectory() && !SKIPPED.has(entry.name) ? walk(path, patterns) : [];
  });
}

export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith('..') && !way.startsWith('/'));
}

/**
 * The folders on the way to a trusted path are bound too: a mount cannot be renamed and created again. `hide`: folders of which nothing is
 * bound.
 */
export function computeBinds(
  { writable, trusted, hidden }: Pick<SandboxSpec, 'writable' | 'trusted' | 'hidden'>,
  hide: readonly string[] = [],
) {
  const readOnly = unique(trusted.filter(path => existsSync(path)).map(path => realpathSync(path)));
  const all = unique([...writable, ...readOnly.flatMap(path => between(path, writable))]);
  const shown = (paths: readonly string[]) =>
    paths.filter(path => !hide.some(folder => isBelow(path, folder)));
  return { writable: shown(all), readOnly: shown(readOnly), hidden: shown(hidden) };
}

function between(path: string, roots: readonly string[]): readonly string[] {
  const folder = dirname(path);
  if (!roots.some(root => isInside(folder, root))) return [];
  return [...between(folder, roots), folder];
}

export function isInside(path: string, folder: string): boolean {
  return path !== folder && isBelow(path, folder);
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}
