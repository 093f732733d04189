/** `ralph uninstall`: finds what Ralph has put on this machine, and takes it away. What is the user's, or is nowhere else, stays and is named. */
import { existsSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeStep, performStep, stepsTo } from '../agents/install-plugin.ts';
import { type HostPlugin, PLUGINS, type Place } from '../agents/plugins.ts';
import { isDriven } from '../domain/run/prune.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { rememberedUrl } from '../fleet/database-url.ts';
import { findLeftovers, type Leftover, removeLeftover } from '../fleet/leftovers.ts';
import { readRecord, takeDown } from '../fleet/server.ts';
import { tryTo } from '../platform/files.ts';
import { megabytes } from '../report/numbers.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { allProjects } from '../store/projects.ts';
import { type PrunableRun, prunableRuns } from '../store/prune.ts';
import { type Env, statePaths } from '../store/state.ts';
import { ownerOf } from '../workspace/lock.ts';
import { NOTHING_LEFT, type Part, projectPart } from './uninstall-project.ts';

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
  const roots = all ? allProjects(env).filter(root => !isPlace(root)) : [];
  const projects = roots.map(root => projectPaths(root, env));
  const runs = projects.map(project => prunableRuns(project));
  return {
    parts: [
      ...hostParts(options),
      ...projects.map((project, at) => projectPart(project, runs[at] ?? [], env)),
      ...placeParts(places, env),
      ...(all ? databaseParts(options) : []),
    ],
    last: all ? stateParts(env) : cacheParts(env),
    running: projects.flatMap((project, at) => runningIn(project, runs[at] ?? [])),
  };
}

function runningIn(project: ProjectPaths, runs: readonly PrunableRun[]): readonly string[] {
  const watch = ownerOf(project.state().watch);
  return [
    ...runs.filter(isDriven).map(({ id }) => `${id} in ${project.root}`),
    ...(watch ? [`\`ralph watch\` (process ${watch.pid}) in ${project.root}`] : []),
  ];
}

function hostParts({ place }: UninstallOptions): readonly Part[] {
  return PLUGINS.flatMap(host => {
    const steps = stepsTo('remove', host, place);
    if (steps.length === 0) return [];
    return [
      {
        lines: [`The plugin in ${host.title}:`, ...steps.map(step => `  ${describeStep(step)}`)],
        async remove({ isDry }) {
          for (const step of isDry ? [] : steps) {
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
    async remove({ isDry }) {
      if (each.why !== undefined) {
        const fix = '`ralph prune --places --force` removes it';
        return { left: [`${each.place}: its work is nowhere else (${each.why}): ${fix}`], kept: 'work' };
      }
      const problem = isDry ? undefined : await removeLeftover(env, each);
      return problem === undefined ? NOTHING_LEFT : { left: [problem], kept: 'failed' };
    },
  }));
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
      async remove({ isDry }) {
        const down = isDry ? undefined : await takeDown({ remove: true }, env, cwd);
        return down !== undefined && isProblem(down)
          ? { left: [formatProblem(down)], kept: 'work' }
          : NOTHING_LEFT;
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
    async remove({ isDry }) {
      if (!isDry) rmSync(folder, { recursive: true, force: true });
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
