/** Programs beside the one that answers hooks: each is loaded by the calls that need it, and costs the others nothing. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadWithCache } from '../platform/code-cache.ts';
import { hookProgram } from '../platform/package.ts';

interface Programs {
  readonly 'ralph-guard': typeof import('../guard/guard.ts');
  readonly 'ralph-hook-more': typeof import('./heavy.ts');
}

const loaded = new Map<keyof Programs, unknown>();

/** From where host plugins carry them, or from where this package is. */
export function loadBeside<Name extends keyof Programs>(name: Name): Programs[Name] {
  const known = loaded.get(name);
  if (known) return known as Programs[Name];
  const beside = join(import.meta.dirname, `${name}.cjs`);
  const isThere = statSync(beside, { throwIfNoEntry: false })?.isFile() === true;
  const file = isThere ? beside : join(dirname(hookProgram() ?? beside), `${name}.cjs`);
  const program = loadWithCache(file, name, process.env);
  loaded.set(name, program);
  return program as Programs[Name];
}
