/** `ralph uninstall`: finds what Ralph has put on this machine, and takes it away. What is the user's, or is nowhere else, stays and is named. */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeStep, performStep, stepsTo } from '../agents/install-plugin.ts';
import { type HostPlugin, PLUGINS, type Place } from '../agents/plugins.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { rememberedUrl } from '../fleet/database-url.ts';
import { findLeftovers, type Leftover, removeLeftover } from '../fleet/leftovers.ts';
import { readRecord, takeDown } from '../fleet/server.ts';
import { namesIn, readIfThere, tryTo } from '../platform/files.ts';
import { joinWords } from '../platform/shell.ts';
import { counted, megabytes } from '../report/numbers.ts';
import { OWN_IGNORE } from '../store/mirror.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { type PrunableRun, prunableRuns, removeRun } from '../store/prune.ts';
import { type Env, statePaths } from '../store/state.ts';
import { removeLanes } from '../workspace/remove-lanes.ts';
import { removeWorktree } from '../workspace/remove-worktree.ts';
import { findRepository } from '../workspace/repository.ts';
import { listWorktrees } from '../workspace/worktree.ts';

/** One thing that goes. */
export interface Part {
  /** What is printed before it happens. */
  readonly lines: readonly string[];
  remove(): Promise<Left>;
}

/** What stays, and why. */
interface Left {
  readonly left: readonly string[];
  /** What was to go is there still; `work` that is nowhere else needs what the state folder knows of it. */
  readonly kept?: 'failed' | 'work';
}

const NOTHING_LEFT: Left = { left: [] };

export interface Uninstall {
  readonly parts: readonly Part[];
  /** After the others, and only when no work is left that it knows of. */
  readonly last: readonly Part[];
  /** Runs that are running: nothing of theirs may go. */
  readonly running: readonly string[];
}

export interface UninstallOptions {
  readonly place: Place;
  readonly env: Env;
  readonly cwd: string;
  /** Also runs, projects, a database. */
  readonly all: boolean;
}

export function findInstalled(options: UninstallOptions): Uninstall {
  const { env, all } = options;
  const places = all ? findLeftovers(env) : [];
  const isPlace = (root: string) => places.some(({ place }) => place === root);
  const roots = all ? projectsOf(env).filter(root => !isPlace(root)) : [];
  const projects = roots.map(root => projectPaths(root, env));
  const runs = projects.map(project => prunableRuns(project));
  const isLive = ({ state }: PrunableRun) => state === 'running';
  return {
    parts: [
      ...hostParts(options),
      ...projects.map((project, at) => projectPart(project, runs[at] ?? [], env)),
      ...placeParts(places, env),
      ...(all ? databaseParts(options) : []),
    ],
    last: all ? stateParts(env) : cacheParts(env),
    running: projects.flatMap(({ root }, at) =>
      (runs[at] ?? []).filter(isLive).map(({ id }) => `${id} in ${root}`),
    ),
  };
}

/** Every folder that a run was ever begun in and that is still there. */
function projectsOf(env: Env): readonly string[] {
  const { projects } = statePaths(env);
  const roots = namesIn(projects).map(name => readIfThere(join(projects, name)) ?? '');
  return roots.filter(root => root !== '' && existsSync(root)).sort();
}

function hostParts({ place }: UninstallOptions): readonly Part[] {
  return PLUGINS.flatMap(host => {
    const steps = stepsTo('remove', host, place);
    if (steps.length === 0) return [];
    return [
      {
        lines: [`The plugin in ${host.title}:`, ...steps.map(step => `  ${describeStep(step)}`)],
        async remove() {
          for (const step of steps) {
            const wrong = await performStep(step, place);
            if (wrong !== undefined) return { left: [stuck(host, wrong)], kept: 'failed' };
          }
          return NOTHING_LEFT;
        },
      },
    ];
  });
}

function stuck({ title, name }: HostPlugin, wrong: string): string {
  return `the plugin in ${title}: ${wrong.split('\n')[0]}; when that is fixed, \`ralph plugin remove ${name}\``;
}

/** What workers of a fleet that have ended left here. Work that no remote took is nowhere else. */
function placeParts(places: readonly Leftover[], env: Env): readonly Part[] {
  return places.map(each => ({
    lines: [`The place of the unit ${each.unit}: ${each.place}`],
    async remove() {
      if (each.why !== undefined) {
        const fix = '`ralph prune --places --force` removes it';
        return { left: [`${each.place}: its work is nowhere else (${each.why}): ${fix}`], kept: 'work' };
      }
      const problem = await removeLeftover(env, each);
      return problem === undefined ? NOTHING_LEFT : { left: [problem], kept: 'failed' };
    },
  }));
}

function projectPart(project: ProjectPaths, runs: readonly PrunableRun[], env: Env): Part {
  const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
  return {
    lines: [`The runs in ${project.root}: ${counted(runs.length, 'run')}, ${megabytes(bytes)}`],
    async remove() {
      const left = await removeTrees(project, runs, env);
      if (left.length > 0) return { left, kept: 'work' };
      for (const { id, children } of runs) for (const each of [...children, id]) removeRun(project, each);
      removeOwnFiles(project);
      return { left: [...leftInFolder(project), ...(await leftInGit(project, env))] };
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

/** In `.ralph/`: what Ralph has written there. A worktree that git does not know any more may hold work, and a folder may be the user's. */
function removeOwnFiles({ folder, gitignore, worktrees }: ProjectPaths): void {
  const isOurs = (name: string) =>
    /^(runs|ralph-progress\.md|removed-.*|prompt_\d+\.txt|guardrail_\d+_.*\.log)$/.test(name);
  removeIn(folder, isOurs);
  removeIn(join(folder, 'context'), name => name.endsWith('.json'));
  for (const name of namesIn(worktrees)) tryTo(() => rmdirSync(join(worktrees, name)));
  if (namesIn(worktrees).every(isBeside)) removeIn(worktrees, isBeside);
  const others = namesIn(folder).filter(name => join(folder, name) !== gitignore);
  if (others.length === 0 && readIfThere(gitignore) === OWN_IGNORE) rmSync(gitignore);
  tryTo(() => rmdirSync(folder));
}

function removeIn(folder: string, isOurs: (name: string) => boolean): void {
  for (const name of namesIn(folder).filter(isOurs))
    rmSync(join(folder, name), { recursive: true, force: true });
  tryTo(() => rmdirSync(folder));
}

/** Beside worktrees: who works in which, and that git ignores them. */
function isBeside(name: string): boolean {
  return name === '.owners' || name === '.gitignore';
}

function leftInFolder({ folder, gitignore, worktrees }: ProjectPaths): readonly string[] {
  const trees = namesIn(worktrees).filter(name => !isBeside(name));
  const others = namesIn(folder).map(name => join(folder, name));
  const isYours = others.some(path => path !== worktrees && (trees.length === 0 || path !== gitignore));
  const remove = (path: string) => `${joinWords(['rm', '-r', path])} removes`;
  const why = 'it is no worktree that git knows, and may hold work';
  return [
    ...trees.map(name => join(worktrees, name)).map(path => `${path}: ${why}; ${remove(path)} it`),
    ...(isYours ? [`${folder}: your settings are in it; ${remove(folder)} them`] : []),
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

function databaseParts({ env, cwd }: UninstallOptions): readonly Part[] {
  const folder = readRecord(env)?.folder;
  if (folder === undefined && rememberedUrl(env) === undefined) return [];
  return [
    {
      lines: [
        folder === undefined
          ? 'What is remembered of the database of a fleet; the database itself is not touched'
          : `The database of the fleet, with all its units: ${folder}`,
      ],
      async remove() {
        const down = await takeDown({ remove: true }, env, cwd);
        return isProblem(down) ? { left: [formatProblem(down)], kept: 'work' } : NOTHING_LEFT;
      },
    },
  ];
}

/** Made again by itself. */
function cacheParts(env: Env): readonly Part[] {
  const folder = join(statePaths(env).folder, 'code');
  return existsSync(folder) ? [folderPart('What Node has compiled', folder)] : [];
}

function stateParts(env: Env): readonly Part[] {
  const { folder } = statePaths(env);
  return existsSync(folder) ? [folderPart('The state folder', folder)] : [];
}

function folderPart(title: string, folder: string): Part {
  return {
    lines: [`${title}: ${folder}, ${megabytes(sizeOf(folder))}`],
    async remove() {
      rmSync(folder, { recursive: true, force: true });
      return NOTHING_LEFT;
    },
  };
}

function sizeOf(folder: string): number {
  const all = tryTo(() => readdirSync(folder, { recursive: true, withFileTypes: true })) ?? [];
  return all
    .filter(entry => entry.isFile())
    .reduce(
      (sum, { parentPath, name }) => sum + (tryTo(() => lstatSync(join(parentPath, name)).size) ?? 0),
      0,
    );
}
