/** What agent and checks may do, worked out from the settings, the agent's needs and where the work is. */
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import type { AgentNeeds } from '../agents/agent.ts';
import { ADAPTERS } from '../agents/registry.ts';
import type { SandboxSettings } from '../config/settings-shape.ts';
import { RUN_UNASKED } from '../domain/text/known-files.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder, isBelow, tryTo, writePrivate } from '../platform/files.ts';
import { splitWords } from '../platform/shell.ts';
import { findHidden, findSecrets, isInside, resolvePath, SECRET_PATHS, unique } from '../sandbox/hidden.ts';
import type { ContainerOptions, Network, SandboxSpec } from '../sandbox/provider.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { statePaths } from '../store/state.ts';
import { findRepository, type Repository } from '../workspace/repository.ts';

export interface SpecInput {
  readonly settings: SandboxSettings;
  /** Of the agents that may work. */
  readonly agents: readonly AgentNeeds[];
  readonly project: ProjectPaths;
  /** Where the agent works. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface PlannedSpec {
  readonly spec: SandboxSpec;
  /** What the user should know of it. */
  readonly notices: readonly string[];
  /** Trusted paths that are not there and must not be created. Ralph itself creates its marker. */
  readonly absent: readonly string[];
  /** Links on the way to trusted paths, with where they lead: what they lead to can be bound, they cannot. */
  readonly links: ReadonlyMap<string, string>;
  /** Where a rebase that is left unfinished says what is run when it continues. */
  readonly todos: readonly string[];
}

export async function planSpec(input: SpecInput): Promise<PlannedSpec | Problem> {
  const { settings, agents, project, cwd, env } = input;
  const home = env.HOME || homedir();
  const found = await findRepository({ cwd, env });
  const repo = isProblem(found) ? undefined : found;
  const at = (path: string) => resolvePath(path, home, project.root);
  const resolved = agents.map(needs => resolveNeeds(needs, env, at));
  const state = resolved.flatMap(agent => agent.state);
  const missing = settings.writable.filter(path => !existsSync(at(path)));
  if (missing.length > 0) {
    const where = `sandbox.writable ${missing.join(', ')}`;
    return { where, what: 'there is no such path', fix: 'make it first: only what is there can be opened' };
  }
  for (const agent of resolved) makeState(agent, at);
  const git = repo ? [repo.commonDir, repo.gitDir] : [];
  const roots = real([repo?.top ?? cwd, ...git, ...state, ...settings.writable.map(at)]);
  const ofGit = [...(await settingsFiles(repo)), ...(await configuredPrograms(repo))];
  const trusted = trustedPaths(input, repo, at, resolved, ofGit).filter(path =>
    roots.some(root => isInside(path, root)),
  );
  const own = real([...state, ...settings.writable.map(at)]);
  const secret = findHidden(
    [...SECRET_PATHS, ...othersState(agents), ...settings.denyRead],
    home,
    project.root,
  );
  const byName = findSecrets(home).filter(path => ![...own, ...secret].some(known => isBelow(path, known)));
  const hidden = await hideable(
    [...secret, ...byName].filter(path => !own.some(mine => isBelow(mine, path))),
    repo,
  );
  if (isProblem(hidden)) return hidden;
  return {
    spec: {
      cwd: realpathSync(cwd),
      writable: roots,
      state: real(state),
      trusted,
      hidden: [...hidden.paths, ...ownState(env)],
      network: networkOf(input),
      secrets: settings.secrets,
      limits: settings.limits,
      container: containerOf(settings),
      // Claude Code, run by root, skips its permissions only where its environment names a sandbox.
      env: {
        IS_SANDBOX: '1',
        ...(await identity(repo, env)),
        ...Object.assign({}, ...resolved.map(agent => agent.env)),
      },
    },
    notices: hidden.notices,
    absent: trusted.filter(path => !isThere(path) && !path.endsWith('/.ralph-active')),
    links: linksTo(trusted, roots),
    todos: gitDirectories(repo).map(path => join(path, 'rebase-merge/git-rebase-todo')),
  };
}

export function containerOf({ image, engine, engineArgs = [] }: SandboxSettings): ContainerOptions {
  return {
    ...(image !== undefined && { image }),
    ...(engine !== undefined && { engine: splitWords(engine) }),
    args: engineArgs,
  };
}

/** What Ralph believes later, wherever the work tree lies: what is hidden cannot be written either. */
function ownState(env: SpecInput['env']): readonly string[] {
  const { folder } = statePaths(env);
  tryTo(() => ensureFolder(folder));
  return real([folder]);
}

/** Whose commits they are: a container does not see the user's own configuration. */
async function identity(
  repo: Repository | undefined,
  env: SpecInput['env'],
): Promise<Readonly<Record<string, string>>> {
  const ask = async (key: string) => (await repo?.git.run(['config', key]))?.stdout.trim() ?? '';
  const [name, email] = await Promise.all([ask('user.name'), ask('user.email')]);
  const wanted = {
    GIT_AUTHOR_NAME: name,
    GIT_COMMITTER_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_EMAIL: email,
  };
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => value !== '' && !env[key]));
}

/** An agent's needs on this machine. */
interface ResolvedNeeds {
  readonly needs: AgentNeeds;
  readonly state: readonly string[];
  /** Its settings in a folder that the user has moved. */
  readonly settings: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function resolveNeeds(needs: AgentNeeds, env: SpecInput['env'], at: (path: string) => string): ResolvedNeeds {
  const { stateVariable: variable = '', copies } = needs;
  const moved = env[variable];
  const state = (moved ? [moved] : needs.state).map(at);
  const below = (path: string) => relative(at(needs.state[0] ?? '~'), at(path));
  return {
    needs,
    state,
    settings: moved
      ? needs.settings.filter(path => path.startsWith('~')).map(path => join(at(moved), below(path)))
      : [],
    env: copies ? { [variable]: state[0] ?? '' } : {},
  };
}

/** An agent that was never started here has no folders of its own yet, and could not make them. */
function makeState({ needs, state }: ResolvedNeeds, at: (path: string) => string): void {
  for (const path of state) ensureFolder(path);
  for (const [from, to] of Object.entries(needs.copies ?? {})) {
    if (existsSync(at(from)) && !existsSync(at(to))) writePrivate(at(to), readFileSync(at(from), 'utf8'));
  }
}

/** The logins of all the other agents. */
function othersState(agents: readonly AgentNeeds[]): readonly string[] {
  const own = agents.flatMap(needs => needs.state);
  return ADAPTERS.flatMap(adapter => adapter.needs.state).filter(path => !own.includes(path));
}

/**
 * What is in the repository can be read there, whatever hides the file: it is left alone, and said. What git neither knows
 * nor ignores would trip up the agent's `git add -A`, where a hidden file is no file any more.
 */
async function hideable(
  paths: readonly string[],
  repo: Repository | undefined,
): Promise<{ readonly paths: readonly string[]; readonly notices: readonly string[] } | Problem> {
  const inside = repo ? paths.filter(path => isInside(path, repo.top)) : [];
  if (!repo || inside.length === 0) return { paths, notices: [] };
  const names = inside.map(path => relative(repo.top, path));
  const pathspecs = names.map(name => `:(top,literal)${name}`);
  const listed = (...flags: string[]) =>
    repo.git.list(['ls-files', '--full-name', '-z', ...flags, '--', ...pathspecs]);
  const [known, loose] = await Promise.all([listed(), listed('-o', '--exclude-standard')]);
  if (loose.records.length > 0) {
    const where = `sandbox.denyRead ${loose.records.join(', ')}`;
    return {
      where,
      what: 'git does not ignore it, so the agent would commit it',
      fix: 'add it to .gitignore',
    };
  }
  const isKnown = (path: string) => known.records.some(name => isBelow(join(repo.top, name), path));
  return {
    paths: paths.filter(path => !isKnown(path)),
    notices: known.records.map(
      name => `${name} is in the repository, where anybody can read it: it is not hidden.`,
    ),
  };
}

/** What decides what is run outside of the sandbox, now or later: Ralph's own files, git's hooks, the agents' settings. */
function trustedPaths(
  { project }: SpecInput,
  repo: Repository | undefined,
  at: (path: string) => string,
  agents: readonly ResolvedNeeds[],
  includes: readonly string[],
): readonly string[] {
  const tops = unique([project.root, ...(repo ? [repo.top, join(repo.top, repo.prefix)] : [])]);
  const settings = ADAPTERS.flatMap(adapter => adapter.needs.settings);
  const inHome = settings.filter(path => path.startsWith('~'));
  const inProject = [...settings.filter(path => !path.startsWith('~')), ...TRUSTED_FILES];
  return unique([
    ...tops.flatMap(top => inProject.map(path => join(top, path))),
    ...inHome.map(at),
    ...agents.flatMap(agent => agent.settings),
    ...gitTrusted(repo),
    ...includes,
  ]);
}

/** Ralph's state, and what other programs run without being asked. */
const TRUSTED_FILES = ['.ralph', '.ralph-active', ...RUN_UNASKED];

/** Files of a git directory that decide what git runs, where it looks for the rest, or what it takes for the history. */
const GIT_FILES = [
  ...['hooks', 'config', 'config.worktree', 'commondir', 'gitdir', 'info/attributes'],
  ...['objects/info/alternates', 'objects/info/http-alternates', 'info/grafts'],
];

function gitDirectories(repo: Repository | undefined): readonly string[] {
  if (!repo) return [];
  const { commonDir, gitDir } = repo;
  const more = [...folders(join(commonDir, 'worktrees')), ...modulesIn(join(commonDir, 'modules'))];
  return unique([commonDir, gitDir, ...more]);
}

function gitTrusted(repo: Repository | undefined): readonly string[] {
  if (!repo) return [];
  const link = join(repo.top, '.git');
  return [
    ...gitDirectories(repo).flatMap(path => GIT_FILES.map(file => join(path, file))),
    // It hides history. Where some is hidden already, a fetch may bring more of it.
    ...gitDirectories(repo)
      .map(path => join(path, 'shallow'))
      .filter(path => !existsSync(path)),
    ...(lstatSync(link, { throwIfNoEntry: false })?.isFile() ? [link] : []),
  ];
}

/** The name of a submodule may hold slashes, and it may have submodules of its own. */
function modulesIn(path: string): readonly string[] {
  return folders(path).flatMap(folder =>
    existsSync(join(folder, 'HEAD')) ? [folder, ...modulesIn(join(folder, 'modules'))] : modulesIn(folder),
  );
}

/** Every file that git reads its settings from here, those that others include too. */
async function settingsFiles(repo: Repository | undefined): Promise<readonly string[]> {
  if (!repo) return [];
  const { records } = await repo.git.list(['config', '--list', '--show-origin', '--name-only', '-z']);
  const origins = records.filter((record, at) => at % 2 === 0 && record.startsWith('file:'));
  const named = await repo.git.list([
    'config',
    '--type=path',
    '--get-regexp',
    '-z',
    '^include(if\\..*)?\\.path$',
  ]);
  const included = named.records.flatMap(record => record.split('\n')[1] ?? []);
  const found = unique(origins).map(origin => resolve(repo.git.cwd, origin.slice('file:'.length)));
  // A file that is included and not there yet could be made.
  return unique([...found, ...included.map(path => resolve(repo.commonDir, path))]);
}

/** Settings of git whose value is a command. */
const COMMAND_KEY =
  /^(filter\..*\.(clean|smudge|process)|diff\.(external|.*\.(command|textconv))|merge\..*\.driver|.*\.(cmd|helper|program|path|editor|pager|sshcommand|askpass|fsmonitor|uploadpack|receivepack|packobjectshook|proxycommand))$/i;

/** What of the work tree the user's own settings have git run; the folder of its hooks also before it is there. */
async function configuredPrograms(repo: Repository | undefined): Promise<readonly string[]> {
  if (!repo) return [];
  const { records } = await repo.git.list(['config', '--list', '-z']);
  const found = records.flatMap(record => {
    const [key = '', ...lines] = record.split('\n');
    const value = lines.join('\n');
    const at = (word: string) => resolve(repo.top, word);
    if (/^core\.hookspath$/i.test(key)) return value === '' ? [] : [at(value)];
    const words = value.split(/[\s;|&"'()`!]+/).filter(word => word !== '');
    const named = /^alias\./i.test(key) && value.startsWith('!') ? words.slice(0, 1) : words;
    const isCommand = COMMAND_KEY.test(key) || named !== words;
    return isCommand ? named.map(at).filter(path => tryTo(() => statSync(path))?.isFile()) : [];
  });
  return unique(found).filter(path => isInside(path, repo.top));
}

/** Every link on the way from a root to a trusted path. */
function linksTo(trusted: readonly string[], roots: readonly string[]): ReadonlyMap<string, string> {
  const ways = trusted.flatMap(path => above(path, roots));
  const found = unique(ways).flatMap(path => {
    const target = tryTo(() => readlinkSync(path));
    return target === undefined ? [] : [[path, target] as const];
  });
  return new Map(found);
}

function above(path: string, roots: readonly string[]): readonly string[] {
  return roots.some(root => isInside(path, root)) ? [...above(dirname(path), roots), path] : [];
}

function folders(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap(entry =>
    entry.isDirectory() ? [join(path, entry.name)] : [],
  );
}

function networkOf({ settings, agents, env }: SpecInput): Network {
  const named = agents.flatMap(({ addresses }) => addresses.flatMap(variable => hostOf(env[variable])));
  return {
    mode: settings.network,
    domains: unique([...agents.flatMap(({ hosts }) => hosts), ...named, ...settings.allowDomains]),
  };
}

function hostOf(address: string | undefined): readonly string[] {
  if (!address || !URL.canParse(address)) return [];
  const { hostname, host } = new URL(address);
  return [/^[\d.]+$|^\[/.test(hostname) ? host : hostname];
}

export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function real(paths: readonly string[]): readonly string[] {
  return unique(paths.filter(path => existsSync(path)).map(path => realpathSync(path)));
}
