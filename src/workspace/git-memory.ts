/**
 * What git has said about a place, for as long as nothing has changed that it goes by: to ask again would cost a
 * process for every iteration. An agent may change all of it: its marks are compared before every use.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Env } from '../platform/git.ts';

export interface Place {
  readonly cwd: string;
  readonly env: Env;
}

export interface Answer<T> {
  readonly value: T;
  /** The files it rests on, beside those that git always reads; undefined: it is not to be remembered. */
  readonly files?: readonly string[];
}

/** The same question, asked of git only when it must be. */
export function remembering<T>(ask: (place: Place) => Promise<Answer<T>>): (place: Place) => Promise<T> {
  const memory = new Map<string, { readonly marks: string; readonly files: readonly string[]; value: T }>();
  return async place => {
    const key = `${place.cwd}\0${environmentOf(place.env)}`;
    const known = memory.get(key);
    if (known && known.marks === marksOf(place, known.files)) return known.value;
    const before = marksOf(place, []);
    const { value, files } = await ask(place);
    // What changed while git looked may be older than its answer, or newer.
    if (files && before === marksOf(place, []))
      memory.set(key, { marks: marksOf(place, files), files, value });
    else memory.delete(key);
    return value;
  };
}

/** Whether git could find a repository from here: without a `.git` on the way up there is none. */
export function isUnderGit(cwd: string): boolean {
  return nearestGit(cwd) !== undefined;
}

function nearestGit(cwd: string): string | undefined {
  let folder = real(cwd);
  for (;;) {
    const path = join(folder, '.git');
    if (existsSync(path)) return path;
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // it is gone; git will say so
  }
}

/** Which repository it is and what its settings are, as far as files tell. */
function marksOf({ cwd, env }: Place, files: readonly string[]): string {
  const nearest = nearestGit(cwd);
  const own =
    nearest === undefined ? [] : [nearest, join(nearest, 'config'), join(nearest, 'config.worktree')];
  return [real(cwd), ...own, ...settingsFiles(env), ...files]
    .map(path => `${path} ${version(path)}`)
    .join('\n');
}

/** Where settings of a user and of the machine are, or would be. */
function settingsFiles(env: Env): readonly string[] {
  const home = env.HOME ?? homedir();
  return [
    env.GIT_CONFIG_GLOBAL ?? join(home, '.gitconfig'),
    join(env.XDG_CONFIG_HOME || join(home, '.config'), 'git/config'),
    env.GIT_CONFIG_SYSTEM ?? '/etc/gitconfig',
  ];
}

/** A folder's times change with every file in it; the time of change of a file cannot be set by whoever writes it. */
function version(path: string): string {
  try {
    const stat = statSync(path, { bigint: true });
    const id = `${stat.dev} ${stat.ino}`;
    return stat.isDirectory() ? id : `${id} ${stat.size} ${stat.ctimeNs}`;
  } catch {
    return 'none';
  }
}

function environmentOf(env: Env): string {
  return Object.entries(env)
    .filter(([name]) => /^(GIT_|HOME$|XDG_CONFIG_HOME$)/.test(name))
    .map(([name, value]) => `${name}=${value}`)
    .join('\0');
}
