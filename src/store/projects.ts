/** Where on this machine Ralph has worked: a small file for each project, so that all runs can be found again. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureFolder, namesIn, readIfThere, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { projectPaths } from './paths.ts';
import { listRuns } from './run-file.ts';
import { type Env, statePaths } from './state.ts';

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

/** The roots of all projects that are still there and have runs, in order. */
export function knownProjects(env: Env): readonly string[] {
  return allProjects(env).filter(root => listRuns(projectPaths(root, env)).length > 0);
}

/** Also those whose runs are gone: something else of Ralph's may be there. What is said of folders that are gone is forgotten. */
export function allProjects(env: Env): readonly string[] {
  const { projects } = statePaths(env);
  return namesIn(projects)
    .flatMap(name => {
      const file = join(projects, name);
      const root = readIfThere(file);
      if (root !== undefined && existsSync(root)) return [root];
      rmSync(file, { force: true });
      return [];
    })
    .sort();
}
