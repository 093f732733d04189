/**
 * The work of a fleet's unit, as it was fetched: a branch of a remote. It is checked with what this project's own settings say: the commands
 * that the unit was checked with are in a database that others write.
 */
import { loadSettings } from '../config/load.ts';
import { NOTHING_YET } from '../domain/run/state.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import { newRunPaths, type ProjectPaths } from '../store/paths.ts';
import { findRun, listRuns } from '../store/run-file.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import type { EndedRequest, EndedRun } from './leavings.ts';

const UNIT = /^[\w-]+$/;

/** A run of this project, by part of its id; or a unit, by all of it. */
export async function findLandable(
  place: { readonly project: ProjectPaths; readonly env: Env },
  wanted?: string,
): Promise<string | Problem> {
  const id = findRun(place.project, wanted);
  if (!isProblem(id) || wanted === undefined) return id;
  return (await branchesOf(place, wanted)).length > 0 ? wanted : id;
}

/** undefined: it is a run of this project, or no such branch is here. */
export async function readFetched({
  project,
  env,
  id,
}: EndedRequest): Promise<EndedRun | Problem | undefined> {
  if (listRuns(project).includes(id)) return undefined;
  const [branch, other] = await branchesOf({ project, env }, id);
  if (branch === undefined) return undefined;
  if (other !== undefined) {
    const fix = `look at them, and merge the right one: \`${joinWords(['git', 'merge', branch.name])}\``;
    return { where: id, what: `there are two of it, ${branch.name} and ${other.name}`, fix };
  }
  const { settings, problems } = loadSettings(project, 'loop');
  if (problems[0]) return problems[0];
  const state = project.state().unit(id);
  ensureFolder(state.folder);
  const paths = { ...newRunPaths(project, id), state };
  const file = { id, command: 'loop', version: '', cwd: project.root, startedAt: '', config: {} } as const;
  const { name: fetched, title } = branch;
  return { id, project, paths, env, file, past: NOTHING_YET, settings, title, fetched };
}

interface Branch {
  /** With the name of its remote before it. */
  readonly name: string;
  readonly title: string;
}

async function branchesOf(
  { project, env }: { readonly project: ProjectPaths; readonly env: Env },
  id: string,
): Promise<readonly Branch[]> {
  const own = UNIT.test(id) ? await openOwnGit({ cwd: project.root, env }) : undefined;
  if (own === undefined || isProblem(own)) return [];
  const refs = [`refs/remotes/*/ralph/${id}`, `refs/remotes/*/ralph/${id}/_int`];
  const format = '--format=%(refname:lstrip=2) %(contents:subject)';
  const { code, stdout } = await own.repository.git.run(['for-each-ref', format, ...refs]);
  return stdout
    .split('\n')
    .filter(line => code === 0 && line !== '')
    .map(line => ({ name: line.split(' ', 1)[0] ?? '', title: line.slice(line.indexOf(' ') + 1) }));
}
