/** What of a spec holds at this moment: trusted paths come and go, and only what is there can be bound. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { isBelow } from './hidden.ts';
import type { SandboxSpec } from './provider.ts';

export interface Binds {
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
}

/** The folders on the way to a trusted path are bound too: a mount cannot be renamed and created again. */
export function computeBinds({ writable, trusted }: Pick<SandboxSpec, 'writable' | 'trusted'>): Binds {
  const readOnly = unique(trusted.filter(path => existsSync(path)).map(path => realpathSync(path)));
  return { writable: unique([...writable, ...readOnly.flatMap(path => between(path, writable))]), readOnly };
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
