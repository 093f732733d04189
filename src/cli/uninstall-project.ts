/** What `ralph uninstall --all` does in a project: what Ralph has written goes; what is the user's, or is nowhere else, stays and is named. */
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblem } from '../domain/text/problem.ts';
import { namesIn, readIfThere, tryTo } from '../platform/files.ts';
import { joinWords } from '../platform/shell.ts';
import { counted, megabytes } from '../report/numbers.ts';
import { OWN_IGNORE } from '../store/mirror.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { isActiveIgnored } from '../store/prd-folder.ts';
import { ACTIVE_FILE, prdPaths } from '../store/prd-paths.ts';
import { type PrunableRun, removeRun } from '../store/prune.ts';
import { forgetExclusion } from '../store/session-exclude.ts';
import { endSession, listSessions, SESSION_FOLDER } from '../store/session-file.ts';
import type { Env } from '../store/state.ts';
import { lanesInTheWay, removeLanes } from '../workspace/remove-lanes.ts';
import { removeWorktree } from '../workspace/remove-worktree.ts';
import { findRepository } from '../workspace/repository.ts';
import { listWorktrees } from '../workspace/worktree.ts';

/** One thing that goes. */
export interface Part {
  /** What is printed before it happens. */
  readonly lines: readonly string[];
  /** `isDry`: only says what would stay. */
  remove(options: { readonly isDry: boolean }): Promise<Left>;
}

/** What stays, and why. */
interface Left {
  readonly left: readonly string[];
  /** What was to go is there still; `work` that is nowhere else needs what the state folder knows of it. */
  readonly kept?: 'failed' | 'work';
}

export const NOTHING_LEFT: Left = { left: [] };

export function projectPart(project: ProjectPaths, runs: readonly PrunableRun[], env: Env): Part {
  const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
  const { root } = project;
  const loops = listSessions(root, env).filter(file => 'state' in file);
  const lines = [
    `The runs in ${root}: ${counted(runs.length, 'run')}, ${megabytes(bytes)}`,
    ...loops.map(({ path }) => `The loop of a session: ${path}`),
  ];
  return {
    lines,
    async remove({ isDry }) {
      const trees = (await listWorktrees({ root, env })).map(({ name }) => name);
      const left = isDry
        ? await treesInTheWay(project, runs, trees, env)
        : await removeTrees(project, runs, env);
      if (left.length > 0) return { left, kept: 'work' };
      if (!isDry) {
        for (const { id, children } of runs) for (const each of [...children, id]) removeRun(project, each);
        for (const loop of loops) endSession(loop);
        removeOwnFiles(project, env);
      }
      return {
        left: [
          ...leftInFolder(project, trees),
          ...leftLoops(project, env),
          ...leftStories(project),
          ...(await leftInGit(project, env)),
        ],
      };
    },
  };
}

/** Worktrees and branches whose work is somewhere else as well. */
async function removeTrees({ root }: ProjectPaths, runs: readonly PrunableRun[], env: Env) {
  const kept: string[] = [];
  for (const { id: run } of runs.filter(({ isParallel }) => isParallel)) {
    const { problems } = await removeLanes({ root, env, run, force: false });
    kept.push(...problems.map(formatProblem));
  }
  for (const { name } of await listWorktrees({ root, env })) {
    const problem = await removeWorktree({ root, env, name });
    if (problem) kept.push(formatProblem(problem));
  }
  return kept;
}

/** In the same order and words. */
async function treesInTheWay(
  { root }: ProjectPaths,
  runs: readonly PrunableRun[],
  trees: readonly string[],
  env: Env,
) {
  const kept: string[] = [];
  for (const { id: run } of runs.filter(({ isParallel }) => isParallel))
    kept.push(...(await lanesInTheWay({ root, env, run })).map(formatProblem));
  for (const name of trees) {
    const problem = await removeWorktree({ root, env, name, isDry: true });
    if (problem) kept.push(formatProblem(problem));
  }
  return kept;
}

/** In `.ralph/`: what Ralph has written there. A worktree that git does not know any more may hold work, and a folder may be the user's. */
function removeOwnFiles({ folder, gitignore, worktrees, root }: ProjectPaths, env: Env): void {
  removeIn(folder, isOurs);
  removeIn(join(folder, 'context'), isAlert);
  for (const name of namesIn(worktrees)) tryTo(() => rmdirSync(join(worktrees, name)));
  if (namesIn(worktrees).every(isBeside)) removeIn(worktrees, isBeside);
  const others = namesIn(folder).filter(name => join(folder, name) !== gitignore);
  if (others.length === 0 && readIfThere(gitignore) === OWN_IGNORE) rmSync(gitignore);
  tryTo(() => rmdirSync(folder));
  tryTo(() => rmSync(join(root, ACTIVE_FILE), { force: true }));
  if (listSessions(root, env).length > 0) return;
  forgetExclusion(root);
  tryTo(() => rmdirSync(join(root, SESSION_FOLDER)));
}

function removeIn(folder: string, isOurs: (name: string) => boolean): void {
  for (const name of namesIn(folder).filter(isOurs))
    rmSync(join(folder, name), { recursive: true, force: true });
  tryTo(() => rmdirSync(folder));
}

function isOurs(name: string): boolean {
  return /^(runs|ralph-progress\.md|prd\.lock|removed-.*|prompt_\d+\.txt|guardrail_\d+_.*\.log)$/.test(name);
}

function isAlert(name: string): boolean {
  return name.endsWith('.json');
}

/** Beside worktrees: who works in which, and that git ignores them. */
function isBeside(name: string): boolean {
  return name === '.owners' || name === '.gitignore';
}

/** What stays in `.ralph/`, also asked before anything is removed. `trees`: the worktrees that go. */
function leftInFolder(
  { folder, gitignore, worktrees }: ProjectPaths,
  trees: readonly string[],
): readonly string[] {
  const goes = (name: string) => trees.some(tree => tree === name || tree.startsWith(`${name}/`));
  const strange = namesIn(worktrees)
    .filter(name => !isBeside(name) && !goes(name))
    .map(name => join(worktrees, name))
    .filter(path => tryTo(() => readdirSync(path).length) !== 0);
  const alerts = join(folder, 'context');
  const others = namesIn(folder)
    .filter(name => !isOurs(name))
    .map(name => join(folder, name))
    .filter(path => path !== worktrees && !(path === alerts && namesIn(alerts).every(isAlert)));
  const isOurIgnore = (path: string) => path === gitignore && readIfThere(gitignore) === OWN_IGNORE;
  const isYours = others.some(path => !isOurIgnore(path));
  const remove = (path: string) => `${joinWords(['rm', '-r', path])} removes`;
  const why = 'it is no worktree that git knows, and may hold work';
  return [
    ...strange.map(path => `${path}: ${why}; ${remove(path)} it`),
    ...(isYours ? [`${folder}: your settings are in it; ${remove(folder)} them`] : []),
  ];
}

function leftLoops({ root }: ProjectPaths, env: Env): readonly string[] {
  return listSessions(root, env).flatMap(file =>
    'stranger' in file ? [`${file.path}: ${file.stranger}; ${joinWords(['rm', file.path])} removes it`] : [],
  );
}

/** Where `ralph prd` puts a list unless another folder is named. */
function leftStories({ root }: ProjectPaths): readonly string[] {
  const { folder, tasks, archive, gitignore } = prdPaths(root);
  const there = [...(existsSync(tasks) ? [folder] : []), ...(existsSync(archive) ? [archive] : [])];
  return [
    ...there.map(path => `${path}: your story lists; ${joinWords(['rm', '-r', path])} removes them`),
    ...(isActiveIgnored(gitignore)
      ? [`${gitignore}: has the line ${ACTIVE_FILE}; take it out when you commit next`]
      : []),
  ];
}

/** Versions of the user's own files are among them, and they may be nowhere else. */
async function leftInGit({ root }: ProjectPaths, env: Env): Promise<readonly string[]> {
  const repository = await findRepository({ cwd: root, env });
  if ('what' in repository) return [];
  const { records } = await repository.git.list(['for-each-ref', '--format=%(refname)%00', 'refs/ralph/']);
  const refs = records.map(each => each.trim()).filter(each => each !== '');
  if (refs.length === 0) return [];
  const listing = joinWords(['git', '-C', root, 'for-each-ref', '--format=delete %(refname)', 'refs/ralph/']);
  const remove = `${listing} | ${joinWords(['git', '-C', root, 'update-ref', '--no-deref', '--stdin'])}`;
  return [
    `${root}: ${counted(refs.length, 'version')} of files kept below refs/ralph; ${remove} removes them`,
  ];
}
