/** `ralph plugin`: what has to change, and changing it. */
import { readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { capture } from '../platform/capture.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, readIfThere, writeAtomic } from '../platform/files.ts';
import { rootAbove } from '../platform/package.ts';
import { type HostPlugin, ownVersion, type Place, type Step } from './plugins.ts';

/** undefined: the folder of Ralph's plugins is not where this program is. */
export function findPlace(
  env: Place['env'],
  root = rootAbove(realpathSync(process.argv[1] ?? '.')),
): Place | undefined {
  if (root === undefined) return undefined;
  const files = (name: string) => {
    const folder = join(root, 'plugins', name);
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort();
  };
  return { root, home: env.HOME || homedir(), env, read: readIfThere, files };
}

/** Empty when there is nothing to do. Another version is removed first. */
export function stepsTo(action: 'install' | 'remove', host: HostPlugin, place: Place): readonly Step[] {
  const there = host.installed(place);
  if (action === 'remove') return (host.isThere?.(place) ?? there !== undefined) ? host.remove(place) : [];
  if (there === undefined) return host.install(place);
  if (there === ownVersion(place)) return host.install(place).filter(step => step.kind === 'write');
  return [...host.remove(place), ...host.install(place)];
}

export function describeStep(step: Step): string {
  switch (step.kind) {
    case 'run':
      return `run     ${step.argv.map(word => (/^[\w@:./=-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')}`;
    case 'write':
      return `write   ${step.path}`;
    case 'remove':
      return `remove  ${step.path}`;
    case 'edit':
      return `edit    ${step.path} (${step.what})`;
    default:
      return step satisfies never;
  }
}

const PATIENCE = 120_000;

/** What went wrong, or undefined. */
export async function performStep(step: Step, { home, env }: Place): Promise<string | undefined> {
  try {
    if (step.kind === 'run') {
      const { code, output } = await capture(step.argv, { cwd: home, env, timeout: PATIENCE });
      return code === 0 ? undefined : output.trim() || `exit code ${code}`;
    }
    if (step.kind === 'remove') rmSync(step.path, { recursive: true, force: true });
    else if (step.kind === 'edit') {
      const content = readIfThere(step.path);
      if (content === undefined) return undefined;
      const path = realpathSync(step.path); // a user may keep the settings of a host elsewhere, and link to them
      writeAtomic(path, step.edit(content), statSync(path).mode & 0o777);
    } else {
      ensureFolder(dirname(step.path));
      writeAtomic(step.path, step.content, 0o644);
    }
    return undefined;
  } catch (error) {
    return errorWords(error);
  }
}
