/**
 * A copy of a project that may be broken: a repository of its own with the files as they are now, changes and new files
 * included, and a remote of its own, so that not even a push gets out. What git ignores is copied as far as it is small.
 */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Captured } from '../platform/capture.ts';
import type { Confinement } from '../platform/confinement.ts';
import { errorMessage } from '../platform/error-words.ts';
import { complaint, type Git, git } from '../platform/git.ts';
import { findRepository, isRalphs, type Place, type Repository } from './repository.ts';

export interface ThrowAway {
  /** What `cwd` is in the copy. */
  readonly cwd: string;
  /** The tops of the project and of the copy. */
  readonly from: string;
  readonly to: string;
  /** A folder beside it, for what is needed for the simulation. */
  readonly beside: string;
  /** What was left out. */
  readonly notes: readonly string[];
  /** Everything as it was at the beginning. */
  reset(): Promise<Problem | undefined>;
  remove(): void;
}

/** As much of what git ignores is copied: dependencies of a small project, not a disk full of them. */
const MOST_IGNORED = 300 * 1024 * 1024;

export interface CopyOptions {
  /** What it is for, in the name of its folder. */
  readonly purpose?: string;
  /** Without what git ignores: a command will make it anew. */
  readonly clean?: boolean;
  /** Where to make it; without one in the folder for what is temporary. */
  readonly base?: string | undefined;
  /** What ran in it could write its repository: git that obeys that runs behind the same wall. */
  readonly confinement?: Confinement | undefined;
}

export async function throwAwayCopy(
  { cwd, env }: Place,
  { purpose = 'simulate', clean = false, base = tmpdir(), confinement }: CopyOptions = {},
): Promise<ThrowAway | Problem> {
  const source = await findRepository({ cwd, env });
  if ('what' in source) return source;
  const folder = mkdtempSync(join(base, `ralph-${purpose}-`));
  const top = join(folder, 'project');
  mkdirSync(top);
  const here = git(top, env).with({ GIT_ALLOW_PROTOCOL: 'file' }); // its remote lies beside it
  const from = source.git.at(source.top);
  await copyFiles(from, source, top);
  const notes = clean ? [] : await copyIgnored(from, source, top);
  const problem = await makeRepository(here, join(folder, 'remote.git'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (problem) {
    remove();
    return problem;
  }
  const start = await startOf(here, join(top, '.git'));
  const inside = (args: readonly string[]) =>
    here.with({ GIT_NO_REPLACE_OBJECTS: '1' }).runBehind(confinement, args);
  const reset = async () =>
    restoreRepository(join(top, '.git'), start) ??
    (await ordered(inside, ['reset', '--hard', '--quiet', start.commit])) ??
    (await ordered(inside, ['clean', '-ffdq', `--exclude=/${source.prefix}.ralph`]));
  return { cwd: join(top, source.prefix), from: source.top, to: top, beside: folder, notes, reset, remove };
}

async function copyFiles(source: Git, { top, prefix }: Repository, to: string): Promise<void> {
  const { records } = await source.list(['ls-files', '-co', '--exclude-standard', '-z']);
  for (const path of new Set(records)) if (!isRalphs(path, prefix)) copy(top, to, path);
}

async function copyIgnored(source: Git, { top, prefix }: Repository, to: string): Promise<readonly string[]> {
  const ignored = await source.list(['ls-files', '-oi', '--exclude-standard', '--directory', '-z']);
  const notes: string[] = [];
  let left = MOST_IGNORED;
  for (const path of ignored.records.filter(each => !isRalphs(each, prefix))) {
    const size = sizeOf(join(top, path), left);
    if (size > left) notes.push(`${path} is large and was not copied; checks that need it will fail`);
    else {
      left -= size;
      copy(top, to, path);
    }
  }
  return notes;
}

function copy(from: string, to: string, path: string): void {
  if (!existsSync(join(from, path))) return; // deleted, and git knows it still
  mkdirSync(dirname(join(to, path)), { recursive: true });
  cpSync(join(from, path), join(to, path), { recursive: true, verbatimSymlinks: true });
}

/** Stops counting when it is more than `most`. */
function sizeOf(path: string, most: number): number {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.size ?? 0;
  let sum = 0;
  for (const name of readdirSync(path)) {
    sum += sizeOf(join(path, name), most - sum);
    if (sum > most) return sum;
  }
  return sum;
}

async function makeRepository(here: Git, remote: string): Promise<Problem | undefined> {
  for (const args of [
    ['init', '--quiet'],
    ['config', 'user.name', 'Ralph simulate'],
    ['config', 'user.email', 'simulate@example.invalid'],
    ['config', 'commit.gpgsign', 'false'],
    ['add', '--all', '--', '.', ':(exclude).ralph'],
    ['commit', '--quiet', '--allow-empty', '--message', 'As it was'],
    ['init', '--quiet', '--bare', remote],
    ['remote', 'add', 'origin', remote],
    ['push', '--quiet', '--set-upstream', 'origin', 'HEAD'],
  ]) {
    const problem = await ordered(here.run, args);
    if (problem) return problem;
  }
  return undefined;
}

interface Start {
  readonly commit: string;
  /** What git obeys in the repository, by name. */
  readonly files: readonly (readonly [name: string, bytes: Buffer])[];
}

async function startOf(here: Git, dir: string): Promise<Start> {
  const { output } = await here.run(['rev-parse', 'HEAD']);
  const files = ['HEAD', 'config', 'index'].map(name => [name, readFileSync(join(dir, name))] as const);
  return { commit: output.trim(), files };
}

/** Settings, rules, hooks, locks: none of them was there. */
const OBEYED = ['config.worktree', 'info', 'hooks', 'commondir', 'config.lock', 'HEAD.lock', 'index.lock'];

/** What ran in the copy could write its repository. Nothing is written through a link. */
function restoreRepository(dir: string, { files }: Start): Problem | undefined {
  try {
    if (!lstatSync(dir).isDirectory()) return { where: dir, what: 'is no folder any more' };
    for (const name of [...OBEYED, ...files.map(([name]) => name)])
      rmSync(join(dir, name), { recursive: true, force: true });
    for (const [name, bytes] of files) writeFileSync(join(dir, name), bytes, { flag: 'wx' });
    return undefined;
  } catch (error) {
    return { where: dir, what: errorMessage(error) };
  }
}

type RunGit = (args: readonly string[]) => Promise<Captured>;

async function ordered(run: RunGit, args: readonly string[]): Promise<Problem | undefined> {
  const { code, output } = await run(args);
  return code === 0 ? undefined : { where: `git ${args[0]}`, what: complaint(output, code) };
}
