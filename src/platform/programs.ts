/**
 * Programs that Ralph itself runs, outside of every wall. Each is looked up once, by its absolute path, and never in a folder that the
 * agent can write: `npm run` puts `node_modules/.bin` first on the PATH, and a `git` placed there would be run as Ralph.
 */

import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { tryTo } from './files.ts';

/** The program by its absolute path, or why it is not run. `cwd`: where the agent works. */
export function findProgram(name: string, env: Env, cwd: string): string | Problem {
  const key = `${name}\0${cwd}\0${env.PATH}`;
  const known = found.get(key);
  if (known !== undefined) return known;
  const program = lookUp(name, env, cwd);
  if (typeof program === 'string') found.set(key, program);
  return program;
}

/** Looked up once: what the agent puts somewhere later is not found any more. */
const found = new Map<string, string>();

/** The same where there is no one to tell: a name without a path then fails to start. */
export function programPath(name: string, env: Env, cwd: string): string {
  const program = findProgram(name, env, cwd);
  return typeof program === 'string' ? program : `/nowhere/${name}`;
}

/** The environment of a program that Ralph runs outside: its PATH leads nowhere that the agent can write. */
export function outsideEnv(env: Env, cwd: string): Env {
  return { ...env, PATH: foldersOf(env, cwd).join(delimiter) };
}

function lookUp(name: string, env: Env, cwd: string): string | Problem {
  const isGiven = name.includes('/');
  const tops = insideOf(cwd);
  const folders = (env.PATH ?? DEFAULT_PATH).split(delimiter);
  const places = isGiven ? [resolve(cwd, name)] : folders.map(folder => join(resolve(cwd, folder), name));
  const there = places.filter(isProgram);
  const trusted = there.find(path => !isWithin(path, tops) && (isGiven || isAbsoluteEntry(path, folders)));
  if (trusted !== undefined) return trusted;
  const [refused] = there;
  if (refused === undefined) return { where: name, what: 'there is no such program', fix: `install ${name}` };
  return {
    where: name,
    what: `it is only found at ${refused}, where the agent can write, so Ralph does not run it`,
    fix: `install ${name} outside of the project, or put its folder on the PATH`,
  };
}

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** An entry such as `.` or `bin` means another folder wherever one is. */
function isAbsoluteEntry(program: string, folders: readonly string[]): boolean {
  return folders.some(folder => isAbsolute(folder) && resolve(folder) === dirname(program));
}

function isProgram(path: string): boolean {
  return (
    tryTo(() => {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    }) ?? false
  );
}

function foldersOf(env: Env, cwd: string): readonly string[] {
  const tops = insideOf(cwd);
  return (env.PATH ?? DEFAULT_PATH)
    .split(delimiter)
    .filter(folder => isAbsolute(folder) && !isWithin(folder, tops));
}

/** What an agent that works in `cwd` can write: its work tree, and the project whose worktree that is. */
function insideOf(cwd: string): readonly string[] {
  const project = cwd.split(`${sep}.ralph${sep}worktrees${sep}`)[0] ?? cwd;
  const places = [...new Set([cwd, project])].flatMap(place => [place, topOf(place)]);
  // Who works in `/` has no outside at all; then every program is taken.
  return [...new Set(places.flatMap(place => [resolve(place), real(place)]))].filter(
    top => dirname(top) !== top,
  );
}

/** The nearest folder with a `.git`, whatever that is; else the folder itself. */
function topOf(cwd: string): string {
  for (let folder = real(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return cwd;
  }
}

/** By its name, or by where the links in it lead. */
function isWithin(path: string, tops: readonly string[]): boolean {
  return [resolve(path), real(path)].some(each =>
    tops.some(top => each === top || each.startsWith(top.endsWith(sep) ? top : top + sep)),
  );
}

function real(path: string): string {
  return tryTo(() => realpathSync(path)) ?? resolve(path);
}
