/**
 * What a command sees that is kept apart: folders for temporary files that are its own, and the user's own folders as they were before the
 * run. Both lie in its room, and all commands of one room see the same: what `setup` makes is there for the checks.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Command, Span } from './confinement.ts';
import { timesTell } from './disk.ts';
import { isBelow, tryTo } from './files.ts';
import { sha256 } from './hash.ts';

/** What lies over a path, in the order of the list. */
export interface Mount {
  readonly at: string;
  /** What is seen there; absent: nothing, and where it is not `writable`, whoever writes there notices. */
  readonly from?: string;
  readonly writable?: true;
}

type Apart = Command & { readonly room: string };

/** `state`: Ralph's own folder, which the wall covers last. */
export function createViews(state: string): (command: Apart) => readonly Mount[] {
  const known = new Map<string, readonly Mount[]>();
  const before = (look: Look) => {
    const key = `${look.room}\0${look.root}`;
    const mounts = known.get(key) ?? asItWas(look);
    known.set(key, mounts);
    return mounts;
  };
  return command => {
    const { room, hide = [], without } = command;
    const own = temporaryFolders(command);
    const shown = [room, ...namedBelow(own, command)];
    const covers = own.map((at, index) => ({ at, from: folderIn(room, 'temporary', String(index)) }));
    for (const path of [...own, ...shown]) makePlace(path, covers);
    const ways = [room, state, ...own, ...hide];
    const isSeen = (path: string) =>
      !isInMemory(path) &&
      (!own.some(each => isBelow(path, each)) || shown.some(each => isBelow(path, each)));
    // Where the home is a folder for temporary files, the room lies in what is to be hidden.
    const around = hide.filter(at => isSeen(at) && isBelow(room, at));
    const laid = around.map((at, index) => ({ at, from: folderIn(room, 'around', String(index)) }));
    const session = realFolder(sessionOf(command.env))[0];
    const asBefore = (roots: readonly string[]) =>
      without
        ? roots.flatMap(root =>
            before({ root, without, room, ways, isUnsure: root === session && !timesTell(root) }),
          )
        : [];
    // Folders for temporary files may lie in a folder of the user: they lie over what is shown of that.
    const outer = asBefore(usersFolders(command, own));
    const inner = asBefore(shown.slice(1));
    for (const at of around) makePlace(at, [...outer, ...inner]);
    if (around.length > 0) makePlace(room, laid);
    return [
      ...outer,
      ...covers,
      ...shown.map(at => ({ at, from: realpathSync(at) })),
      ...inner,
      ...laid,
      ...(around.length > 0 ? [{ at: room, from: realpathSync(room) }] : []),
      ...hide.filter(at => isSeen(at) && !around.includes(at)).map(at => ({ at })),
      ...IN_MEMORY.filter(path => existsSync(path)).map(at => ({ at, writable: true }) as const),
    ];
  };
}

export const IN_MEMORY = ['/dev/shm', '/dev/mqueue'];

/** A command that is kept apart sees nothing of it. */
export const isInMemory = (path: string) => IN_MEMORY.some(folder => isBelow(path, folder));

/** Where a system has folders that everybody may write: `/tmp`, `/var/tmp`, `/run/lock`, `/var/crash` and the like. */
const SYSTEM = ['/', '/run', '/var', '/var/lib', '/var/spool'];
const OPEN_TO_ALL = 0o1777;

function openToAll(): readonly string[] {
  return SYSTEM.flatMap(folder => entriesOf(folder).filter(isSeen))
    .filter(({ stat }) => stat.isDirectory() && (stat.mode & 0o7777) === OPEN_TO_ALL)
    .map(({ path }) => path);
}

/** The outer ones first. */
function temporaryFolders({ env, room }: Apart): readonly string[] {
  const home = homeOf(env);
  const all = [env.TMPDIR, env.TMP, env.TEMP, tmpdir(), ...openToAll()].flatMap(path => realFolder(path));
  const fit = all.filter(path => path !== '/' && path !== home && !isBelow(path, room));
  return [...new Set(fit)].sort((a, b) => a.length - b.length);
}

/** The home, and what is around the work. One below a folder for temporary files is among those that are named, or is not seen at all. */
function usersFolders({ env, hide = [] }: Apart, own: readonly string[]): readonly string[] {
  const all = [homeOf(env), ...realFolder(sessionOf(env)), ...hide.map(folder => dirname(folder))];
  const isFit = (path: string) =>
    path !== '/' && !isInMemory(path) && !own.some(folder => isBelow(path, folder));
  const fit = [...new Set(all)].filter(isFit);
  return fit.filter(path => !fit.some(other => other !== path && isBelow(path, other)));
}

const sessionOf = (env: Command['env']) => env.XDG_RUNTIME_DIR || `/run/user/${process.getuid?.()}`;
const homeOf = (env: Command['env']) => realFolder(env.HOME || homedir())[0] ?? '/';

function realFolder(path: string | undefined): readonly string[] {
  if (!path || !isAbsolute(path)) return [];
  const real = tryTo(() => realpathSync(path));
  return real !== undefined && statSync(real).isDirectory() ? [real] : [];
}

/** What the user has named, in the environment or in the command itself. What is not there may be meant to be written. */
function namedBelow(
  own: readonly string[],
  { env, argv, room, hide = [], without }: Apart,
): readonly string[] {
  const texts = [...Object.values(env), ...argv].filter(text => text?.includes('/'));
  const words = texts.flatMap((text = '') => [
    ...[text, ...text.split(':'), ...text.split(/["']/)],
    ...text.split(/[\s:;,'"=()<>|&`]+/),
  ]);
  const paths = [...new Set(words.filter(word => word.startsWith('/')).map(word => resolve(word)))];
  const there = paths.flatMap(path => {
    const found = [path, dirname(path)].find(each => existsSync(each));
    return found === undefined ? [] : [join(realpathSync(dirname(found)), relative(dirname(found), found))];
  });
  const isFit = (path: string) =>
    own.some(folder => path !== folder && isBelow(path, folder)) &&
    ![room, ...hide].some(folder => isBelow(path, folder)) &&
    !isNewFile(path, without) &&
    !own.some(folder => isBelow(folder, path));
  const fit = [...new Set(there.filter(isFit))];
  return fit.filter(path => !fit.some(other => other !== path && isBelow(path, other)));
}

/** A mount needs a place: in the folder that will be seen there, the innermost. */
function makePlace(path: string, covers: readonly Mount[]): void {
  const over = covers.findLast(({ at }) => at !== path && isBelow(path, at));
  if (over?.from === undefined || over.from === over.at) return;
  const place = join(over.from, relative(over.at, path));
  mkdirSync(dirname(place), { recursive: true });
  putPlace(place, statSync(path));
}

function putPlace(place: string, stat: Stats): void {
  if (existsSync(place)) return;
  if (stat.isDirectory()) mkdirSync(place);
  else writeFileSync(place, '');
}

function folderIn(room: string, ...names: readonly string[]): string {
  const folder = join(room, ...names);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

interface Look {
  readonly root: string;
  readonly without: Span | undefined;
  readonly room: string;
  /** In memory, where the times of a file do not tell whether it was written: none is shown. */
  readonly isUnsure: boolean;
  /** Paths that something else lies over: what leads to them stays. */
  readonly ways: readonly string[];
}

/** Of old entries, from the top: in a home that holds more, what lies deeper is seen as it is. */
const LOOKED_AT = 20_000;

/** Each entry is a mount. With more of them what lies deeper, mostly caches, is not laid out but empty. */
const LAID_OUT = 600;
const EMPTY_BELOW = 3;

/**
 * A folder with something new in it is laid out once more with what is old. By times that nobody can set back: of a file that of its last
 * change, of a folder that of its making.
 */
function asItWas(look: Look): readonly Mount[] {
  const mounts: Mount[] = [];
  const empty = new Set<string>();
  for (const { folder, old } of changedIn(look)) {
    if ([...empty].some(each => isBelow(folder, each))) continue;
    if (mounts.length + old.length <= LAID_OUT) mounts.push(...laidOut(look, folder, old));
    else empty.add(emptied(look, folder));
  }
  const shown = mounts.filter(({ at }) => ![...empty].some(each => isBelow(at, each)));
  return [...shown, ...[...empty].flatMap(folder => waysAlone(look, folder))];
}

/** Nothing of it is left but what leads to what must stay. */
function waysAlone(look: Look, folder: string): readonly Mount[] {
  const entries = entriesOf(folder).filter(isSeen);
  const leads = entries.filter(({ path }) => look.ways.some(way => isBelow(way, path)));
  const further = leads.filter(({ path }) => !look.ways.includes(path));
  return [...laidOut(look, folder, leads), ...further.flatMap(({ path }) => waysAlone(look, path))];
}

/** Where to empty what cannot be laid out: some way above it, unless that leads to what must stay. */
function emptied({ root, ways }: Look, folder: string): string {
  const names = relative(root, folder).split('/');
  const above = join(root, ...names.slice(0, EMPTY_BELOW));
  return ways.some(way => isBelow(way, above)) ? folder : above;
}

interface Changed {
  readonly folder: string;
  readonly old: readonly Seen[];
}

/** Folders with something new in them, the outer ones first. */
function changedIn({ root, without, ways, isUnsure }: Look): readonly Changed[] {
  const changed: Changed[] = [];
  const queue = [root];
  const leading = new Set(ways.flatMap(foldersTo));
  let left = LOOKED_AT;
  const isOld = ({ path, stat }: Seen) =>
    leading.has(path) || !(isWithin(stat, without) || isClosed(path, stat) || (isUnsure && stat.isFile()));
  for (const folder of queue) {
    const entries = entriesOf(folder);
    const old = entries.filter(isSeen).filter(isOld);
    if (old.length < entries.length) changed.push({ folder, old });
    const folders = old.filter(({ path, stat }) => stat.isDirectory() && !ways.includes(path));
    queue.push(...folders.map(({ path }) => path));
    left -= old.length;
    if (left < 0) break;
  }
  return changed;
}

/** It is one of them. */
function foldersTo(path: string): readonly string[] {
  return dirname(path) === path ? [path] : [...foldersTo(dirname(path)), path];
}

interface Entry {
  readonly name: string;
  readonly path: string;
  /** Absent: it cannot be looked at, because its name is no text or its path is too long. Nobody knows whether it is old. */
  readonly stat: Stats | undefined;
}

interface Seen extends Entry {
  readonly stat: Stats;
}

const isSeen = (entry: Entry): entry is Seen => entry.stat !== undefined;

function entriesOf(folder: string): readonly Entry[] {
  const names = tryTo(() => readdirSync(folder)) ?? [];
  return names.map(name => {
    const path = join(folder, name);
    return { name, path, stat: tryTo(() => lstatSync(path)) };
  });
}

/** What is in it cannot be looked at, and the turn may have made that so: by its mode, or by moving it where its path is too long. */
function isClosed(path: string, stat: Stats): boolean {
  if (!stat.isDirectory()) return false;
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return false;
  } catch {
    return true;
  }
}

function isWithin(stat: Stats, span: Span | undefined): boolean {
  const time = stat.isDirectory() ? stat.birthtimeMs : stat.ctimeMs;
  return span !== undefined && time >= span.from && time <= span.to;
}

function isNewFile(path: string, span: Span | undefined): boolean {
  const stat = lstatSync(path);
  return !stat.isDirectory() && isWithin(stat, span);
}

function laidOut({ room }: Look, folder: string, old: readonly Seen[]): readonly Mount[] {
  const mode = tryTo(() => statSync(folder).mode);
  if (mode === undefined) return []; // it has gone meanwhile
  const from = folderIn(room, 'before', sha256(folder));
  const seen = old.flatMap(({ name, path, stat }): readonly Mount[] => {
    const place = join(from, name);
    if (stat.isSymbolicLink()) tryTo(() => symlinkSync(readlinkSync(path), place));
    else putPlace(place, stat);
    return stat.isSymbolicLink() ? [] : [{ at: path, from: path }];
  });
  chmodSync(from, (mode & 0o777) | 0o700); // Ralph must be able to remove it
  return [{ at: folder, from }, ...seen];
}
