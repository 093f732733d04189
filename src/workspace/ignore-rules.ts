/** The rules by which git ignored files when a run began. A rule that an agent added since hides nothing from us. */
import { join, resolve } from 'node:path';
import { readIfThere } from '../platform/files.ts';
import type { Env, Git } from '../platform/git.ts';
import type { Repository } from './repository.ts';

/** The lines of each file of rules. */
export type SavedRules = readonly (readonly [source: string, lines: readonly string[]])[];

export interface IgnoreRules {
  readonly saved: SavedRules;

  /** Of paths that git ignores now, from the top: those that it would not have ignored then. */
  hiddenSince(paths: readonly string[]): Promise<readonly string[]>;
}

/** As they are now, or as they were `saved`. */
export async function readIgnoreRules(
  repository: Repository,
  env: Env,
  saved?: SavedRules,
): Promise<IgnoreRules> {
  const { git, top } = repository;
  const atTop = git.at(top);
  const rules = new Map(
    saved?.map(([source, lines]) => [source, new Set(lines)]) ?? (await current(repository, env)),
  );
  return {
    saved: [...rules].map(([source, lines]) => [source, [...lines]]),
    async hiddenSince(paths) {
      if (paths.length === 0) return [];
      const { code, records } = await atTop.list(
        ['check-ignore', '--verbose', '-z', '--stdin'],
        paths.map(literal),
      );
      if (code !== 0) return paths;
      return quadruples(records)
        .filter(([source, , pattern]) => !rules.get(resolve(top, source))?.has(pattern))
        .map(([, , , path]) => path.slice(literal('').length));
    },
  };
}

async function current({ git, top, commonDir }: Repository, env: Env): Promise<[string, Set<string>][]> {
  const atTop = git.at(top);
  const files = await atTop.list([
    'ls-files',
    '-co',
    '--exclude-standard',
    '-z',
    '--',
    ':(glob)**/.gitignore',
  ]);
  const sources = [...files.records.map(file => join(top, file)), join(commonDir, 'info/exclude')];
  return [...sources, await usersOwn(atTop, env)].map(source => [source, linesOf(source)]);
}

/** So that no name is taken for one of git's patterns. */
const literal = (path: string) => `./${path}`;

/** The file of rules that a user has for all repositories. */
async function usersOwn(git: Git, env: Env): Promise<string> {
  const set = await git.run(['config', '--type=path', '--get', 'core.excludesFile']);
  if (set.code === 0) return set.stdout.replace(/\n$/, '');
  return join(env.XDG_CONFIG_HOME || join(env.HOME ?? '/', '.config'), 'git/ignore');
}

/** git leaves out the spaces at the end of a rule. */
function linesOf(source: string): Set<string> {
  const lines = (readIfThere(source) ?? '').split(/\r?\n/);
  return new Set(lines.flatMap(line => [line, line.trimEnd()]));
}

type Match = readonly [source: string, line: string, pattern: string, path: string];

function quadruples(records: readonly string[]): readonly Match[] {
  const matches: Match[] = [];
  for (let index = 0; index + 3 < records.length; index += 4) {
    const [source = '', line = '', pattern = '', path = ''] = records.slice(index, index + 4);
    matches.push([source, line, pattern, path]);
  }
  return matches;
}
