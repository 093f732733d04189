/** Watches what the checks rest on: how it was when the run began, and what is different now. */
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, relative, resolve } from 'node:path';
import { type CheckInputs, findCheckInputs, inputParts } from '../domain/checks/inputs.ts';
import { toolFile } from '../domain/checks/tools.ts';
import { pathPattern } from '../domain/text/glob.ts';
import { timesTell } from '../platform/disk.ts';
import { isBelow, tryTo } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { GENERATED } from './hidden-files.ts';
import { isSteady, markFrom, markOf, statOf } from './keep-files.ts';
import type { Place } from './repository.ts';

/** A hash for each part of each file, by its path from where the checks run; '': it was not there. */
export type InputHashes = Readonly<Record<string, string>>;

export type InputWatch = ReturnType<typeof watchCheckInputs>;

export interface InputOptions extends Place {
  readonly commands: readonly string[];
}

export function watchCheckInputs({ cwd, env, commands }: InputOptions) {
  const find = () => findCheckInputs(commands, path => textAt(join(cwd, path)));
  const place = inputPlace({ cwd, env });
  let inputs = find();
  let start: InputHashes = {};
  return {
    /** Takes them as they are now for how they should be. */
    take(): InputHashes {
      inputs = find();
      start = hashesOf(place, inputs);
      return start;
    },
    /** Compares with how they were at an earlier start. */
    recall(hashes: InputHashes): void {
      start = hashes;
    },
    /** What is different now, in order. */
    changed: (): readonly string[] => differences(start, hashesOf(place, inputs, start)),
    /** From now on: returns what is written to until then, whatever it holds then. */
    watch(): () => readonly string[] {
      const paths = Object.keys(start).filter(key => start[key] !== '' && !key.startsWith(PROGRAM));
      const files = [...new Set(paths.map(key => key.split('#')[0] ?? key))];
      const marks = () => files.map(path => [path, markOf(placeOf({ cwd, env }, path))] as const);
      const before = new Map(marks());
      return () =>
        marks().flatMap(([path, mark]) => (before.get(path) === mark || GENERATED.test(path) ? [] : path));
    },
  };
}

/** Those that are there, for the user to read. */
export function listCheckInputs({ cwd, env, commands }: InputOptions): readonly string[] {
  const inputs = findCheckInputs(commands, path => textAt(join(cwd, path)));
  const hashes = hashesOf(inputPlace({ cwd, env }), inputs);
  return Object.keys(hashes).filter(
    path => hashes[path] !== '' && !path.includes('#') && !path.startsWith(PROGRAM),
  );
}

/** Of these paths those that the checks rest on, also where they were not there before. */
export function inputsAmong(
  paths: readonly string[],
  { cwd, commands }: Omit<InputOptions, 'env'>,
): readonly string[] {
  const inputs = findCheckInputs(commands, path => textAt(join(cwd, path))).paths;
  const exact = new Set(inputs);
  const patterns = inputs.filter(input => /[*?]/.test(input)).map(patternOf);
  return paths.filter(path => exact.has(path) || patterns.some(isMeant => isMeant(path)));
}

/** Whether all that counts of a file is the same in two texts of it: one more dependency is no change. */
export function isSameInput(
  path: string,
  [before, after]: readonly (string | undefined)[],
  { cwd, commands }: Omit<InputOptions, 'env'>,
): boolean {
  if (before === undefined || after === undefined) return false;
  const { scripts } = findCheckInputs(commands, at => textAt(join(cwd, at)));
  return differences(inputParts(path, before, scripts), inputParts(path, after, scripts)).length === 0;
}

function patternOf(input: string): (path: string) => boolean {
  const [dir = '', name = ''] = input.split('**/');
  const pattern = name.endsWith('*') ? toolFile(name.slice(0, -1)) : pathPattern(input);
  if (!name.endsWith('*')) return path => pattern.test(path);
  return path => path.startsWith(dir) && pattern.test(path.split('/').at(-1) ?? '');
}

function differences(before: InputHashes, now: InputHashes): readonly string[] {
  const gone = Object.keys(before).filter(key => (now[key] ?? '') !== before[key]);
  // One more dependency is no change; one more file is.
  const added = Object.keys(now).filter(
    key => !Object.hasOwn(before, key) && !key.includes('#') && now[key] !== '',
  );
  return [...new Set([...gone, ...added].map(key => key.split('#')[0] ?? key))].sort();
}

interface InputPlace extends Place {
  /** What was in each folder when it was looked at last. */
  readonly folders: Map<string, Listed>;
  /** The same for each program that is found, by where it is. */
  readonly programs: Map<string, { readonly mark: string; readonly hash: string }>;
}

function inputPlace(place: Place): InputPlace {
  return { ...place, folders: new Map(), programs: new Map() };
}

function hashesOf(place: InputPlace, inputs: CheckInputs, also: InputHashes = {}): InputHashes {
  const { cwd, env } = place;
  const known = Object.keys(also).filter(key => !key.startsWith(PROGRAM));
  const named = [...expand(place, inputs.paths), ...programsInside(place)];
  const paths = new Set([...known.map(key => key.split('#')[0] ?? key), ...named]);
  const files = [...paths].filter(path => isWatched(cwd, path));
  return Object.fromEntries([
    ...files.flatMap(path => Object.entries(partsAt({ cwd, env }, path, inputs))),
    ...inputs.programs.map(name => [`${PROGRAM}${name}`, programMark(name, place)]),
  ]);
}

const PROGRAM = 'program ';
const QUIET = { throwIfNoEntry: false } as const;
const LARGEST_SHIM = 1024 * 1024;

/** Which one is found, and whether it is the same: it may be in a folder of the user's that the agent can write. */
function programMark(name: string, { cwd, env, programs }: InputPlace): string {
  // One that is not absolute, or empty, is meant from where the check runs.
  const places = env.PATH?.split(delimiter) ?? [];
  const paths = places.map(folder => join(resolve(cwd, folder), name));
  const files = paths.filter(path => tryTo(() => statSync(path, QUIET)?.isFile()));
  const found = files.find(path => isExecutable(path)) ?? files[0];
  const real = found === undefined ? undefined : tryTo(() => realpathSync(found));
  if (real === undefined) return '';
  const [stat, where] = [statOf(real), `${found}\0${real}`];
  const mark = markFrom(stat);
  const known = programs.get(where);
  if (known?.mark === mark) return known.hash;
  // A shim is written anew with each package that is installed; only what is in it counts.
  const text = stat?.isFile() && stat.size > LARGEST_SHIM ? mark : textAt(real, 'latin1');
  const hash = sha256(`${where}\0${text}`).slice(0, 16);
  if (stat && isSteady(Number(stat.ctimeNs) / 1e6) && timesTell(real, Number(stat.dev)))
    programs.set(where, { mark, hash });
  return hash;
}

/** What a script of a check may call by its name alone: all that is in folders of the PATH which lie in the project. */
function programsInside(place: InputPlace): readonly string[] {
  const { cwd, env } = place;
  const folders = (env.PATH?.split(delimiter) ?? []).map(folder => `${relative(cwd, resolve(cwd, folder))}/`);
  return folders
    .filter(folder => isBelow(join(cwd, folder), cwd) && folder !== '/' && !GENERATED.test(folder))
    .flatMap(folder => listed(place, folder).files.map(name => `${folder}${name}`));
}

function isExecutable(path: string): boolean {
  return ((tryTo(() => statSync(path).mode) ?? 0) & 0o111) !== 0;
}

/** Of what is elsewhere on the machine only what is named is looked at: nothing the agent is expected to change. */
function isWatched(cwd: string, path: string): boolean {
  return !isAbsolute(path) || isBelow(path, cwd);
}

function placeOf({ cwd, env }: Place, path: string): string {
  return path.startsWith('~/') ? join(env.HOME || homedir(), path.slice(2)) : resolve(cwd, path);
}

function partsAt({ cwd, env }: Place, path: string, { scripts }: CheckInputs): InputHashes {
  const at = placeOf({ cwd, env }, path);
  const stat = tryTo(() => lstatSync(at, { throwIfNoEntry: false }) ?? 'none');
  if (!stat) return { [path]: 'cannot be looked at' };
  if (stat === 'none') return { [path]: '' };
  const text = textAt(at, 'latin1'); // every byte counts
  // A link counts by where it leads and by what is there.
  const link = stat.isSymbolicLink() ? tryTo(() => readlinkSync(at)) : undefined;
  if (text === undefined) return { [path]: `no file ${link ?? ''}` };
  const isProgram = (stat.mode & 0o111) !== 0;
  const parts = Object.entries(inputParts(path, text, scripts));
  return Object.fromEntries(
    parts.map(([part, content]) => [
      `${path}${part}`,
      sha256(part === '' ? `${link ?? ''}\0${isProgram}\0${content}` : content).slice(0, 16),
    ]),
  );
}

/** undefined where there is no file: to read a pipe would wait for ever. */
function textAt(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | undefined {
  return tryTo(() => (statSync(path).isFile() ? readFileSync(path, encoding) : undefined));
}

/** In these no test is looked for. */
const PASSED_BY = /^(\..*|node_modules|venv|build|dist|target|__pycache__)$/;
const MOST_FOLDERS = 20_000;

/** Two stars stand for the folder itself and every one below it: all that are looked for in one folder are found by one look. */
function expand(place: InputPlace, paths: readonly string[]): readonly string[] {
  const wanted = new Map<string, { readonly names: Set<string>; readonly tools: RegExp[] }>();
  const found = new Set<string>();
  for (const path of paths) {
    const [dir = '', name] = path.split('**/');
    if (name === undefined) for (const each of [path, ...fitting(place, path)]) found.add(each);
    else {
      const { names, tools } = wanted.get(dir) ?? { names: new Set(), tools: [] };
      wanted.set(dir, { names, tools });
      if (name.endsWith('*')) tools.push(toolFile(name.slice(0, -1)));
      else names.add(name);
      if (!name.endsWith('*')) found.add(`${dir}${name}`);
    }
  }
  for (const [dir, { names, tools }] of wanted) {
    const isWanted = (name: string) => names.has(name) || tools.some(tool => tool.test(name));
    // Which files of a folder are meant is asked once, as long as neither it nor the question changes.
    const question = [dir, ...names, ...tools].join('\n');
    for (const [folder, list] of foldersBelow(place, dir)) {
      const meant = list.meant.get(question) ?? list.files.filter(isWanted);
      list.meant.set(question, meant);
      for (const name of meant) found.add(`${folder}${name}`);
    }
  }
  return [...found];
}

/** What a pattern of the shell fits now. */
function fitting(place: InputPlace, glob: string): readonly string[] {
  if (!/[*?]/.test(glob) || isAbsolute(glob)) return [];
  const parts = glob.split('/');
  const last = pathPattern(parts.pop() ?? '');
  let folders = [''];
  for (const part of parts) {
    const fits = pathPattern(part);
    folders = /[*?]/.test(part)
      ? folders.flatMap(at =>
          listed(place, at)
            .below.filter(name => fits.test(name))
            .map(name => `${at}${name}/`),
        )
      : folders.map(at => `${at}${part}/`);
  }
  return folders.flatMap(at =>
    listed(place, at)
      .files.filter(name => last.test(name))
      .map(name => `${at}${name}`),
  );
}

function* foldersBelow(place: InputPlace, dir: string): Generator<readonly [string, Listed]> {
  const folders = [dir];
  for (let looked = 0; folders.length > 0 && looked < MOST_FOLDERS; looked++) {
    const folder = folders.pop() ?? '';
    const list = listed(place, folder);
    yield [folder, list];
    for (const name of list.below) folders.push(`${folder}${name}/`);
  }
}

interface Listed {
  /** When it was last changed, in nanoseconds; nobody can set that. */
  readonly changed: bigint;
  readonly files: readonly string[];
  readonly below: readonly string[];
  /** By what was asked for. */
  readonly meant: Map<string, readonly string[]>;
}

/** A folder that nothing has come into or gone from since is not read again. */
function listed({ cwd, folders }: InputPlace, folder: string): Listed {
  const at = join(cwd, folder);
  const stat = tryTo(() => statSync(at, { bigint: true, throwIfNoEntry: false }));
  const changed = stat?.ctimeNs ?? 0n;
  const known = folders.get(folder);
  if (known && known.changed === changed) return known;
  const entries = tryTo(() => readdirSync(at, { withFileTypes: true })) ?? [];
  const names = (isFolder: boolean) =>
    entries.filter(entry => entry.isDirectory() === isFolder).map(({ name }) => name);
  const below = names(true).filter(name => !PASSED_BY.test(name));
  const now = { changed, files: names(false), below, meant: new Map() };
  if (!stat || isSteady(Number(changed) / 1e6)) folders.set(folder, now);
  return now;
}
