/** Where on this machine Ralph has worked: a small file for each project, so that all runs can be found again. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { projectPaths } from './paths.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Never the reason that a run fails. */
export function rememberProject(root: string, env: Env): void {
  try {
    const folder = statePaths(env).projects;
    const file = join(folder, sha256(root).slice(0, 16));
    if (existsSync(file)) return;
    ensureFolder(folder);
    writeAtomic(file, root);
  } catch {
    // no home, a full disk: this project is then found from inside only
  }
}

/** The roots of all projects that are still there, in order; what is said of the others is forgotten. */
export function knownProjects(env: Env): readonly string[] {
  const { projects } = statePaths(env);
  return (tryTo(() => readdirSync(projects)) ?? [])
    .flatMap(name => {
      const file = join(projects, name);
      const root = readIfThere(file);
      if (root !== undefined && existsSync(projectPaths(root).runs)) return [root];
      rmSync(file, { force: true });
      return [];
    })
    .sort();
}

/**
 * What is kept outside of every project: `$XDG_STATE_HOME/ralph`. What must be believed later is here, because the inside can write
 * everything in the project. Containment and sandboxes hide this folder from the inside.
 */
export function statePaths({ XDG_STATE_HOME, HOME }: Env) {
  const folder = join(XDG_STATE_HOME || join(HOME || homedir(), '.local/state'), 'ralph');
  const keyOf = (path: string) => sha256(path).slice(0, 16);
  return {
    folder,
    /** A small file for each project in which Ralph has run. */
    projects: join(folder, 'projects'),
    /** The hash of a run's checkpoint. */
    head: (root: string, run: string) => join(folder, 'heads', `${keyOf(root)}-${run}`),
    /** Which stories of a list were approved by a review of Ralph's own, by the project and the folder of the list in it. */
    approvals: (root: string, name: string) => join(folder, 'approvals', `${keyOf(`${root}\0${name}`)}.json`),
    /** Ralph's own git directory for a work tree, by the top of that tree. */
    git: (top: string) => join(folder, 'git', keyOf(top)),
  };
}
