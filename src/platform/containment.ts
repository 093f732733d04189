/**
 * Containment: a PID namespace around each turn and each check that has no sandbox, with an empty folder over Ralph's own state. When the
 * command ends, everything that it started ends; when Ralph is killed, so does everything. Which means works is found out by running it.
 */

import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { release, tmpdir } from 'node:os';
import { delimiter, join, relative, resolve } from 'node:path';
import type { Env } from '../domain/text/secret-values.ts';
import { createViews, IN_MEMORY, isInMemory, type Mount } from './apart.ts';
import { capture } from './capture.ts';
import type { Among, Command, Confinement } from './confinement.ts';
import { errorCode, errorWords } from './error-words.ts';
import { isBelow, isReallyBelow, readIfThere, tryTo, writeAtomic } from './files.ts';
import { sha256 } from './hash.ts';
import { findProgram } from './programs.ts';

export interface ContainmentWorld {
  /** The work tree: no program of the wall comes from it. */
  readonly tree: string;
  readonly env: Env;
  /** The folder that looks empty from inside. It is there. */
  readonly hide: string;
  /** The file that says what has worked on this machine: that is not tried again at every start. */
  readonly kept?: string;
}

export type Containment =
  /** `what` it is made of, in a few words. */
  | { readonly ok: true; readonly what: string; readonly wall: Confinement }
  | { readonly ok: false; readonly why: string; readonly fix: string };

/** Tried once for each folder that is to be hidden. Never rejects. */
export function findContainment(world: ContainmentWorld): Promise<Containment> {
  const key = `${world.hide}\0${world.tree}`;
  const known = tried.get(key) ?? tryRecipes(world);
  tried.set(key, known);
  return known;
}

const tried = new Map<string, Promise<Containment>>();

async function tryRecipes(world: ContainmentWorld): Promise<Containment> {
  if (process.platform !== 'linux') return { ok: false, why: 'only Linux has PID namespaces', fix: '' };
  let why = 'neither bwrap nor unshare and setpriv are installed';
  let fix = 'sudo apt-get install bubblewrap (or the same from your package manager)';
  for (const recipe of RECIPES) {
    const rooms = roomsOfUser().filter(room => !isReallyBelow(world.tree, room));
    const hidden = () => [stateOf(world), ...rooms.map(at => ({ at }))];
    const prefix = tryTo(() => prefixOf(recipe, world, { mounts: hidden() }));
    if (!prefix) continue;
    const views = createViews(realpathSync(world.hide));
    const wall = wallOf(rooms, command => {
      const { room, hide = [], among, cwd } = command;
      if (room === undefined && hide.length === 0 && !among) return prefix;
      const others = among ? [realpathSync(among.folder)] : [];
      const covered = hide.map(folder => realpathSync(folder));
      // Ralph's state comes last where folders were laid out anew: they have brought it back.
      return room === undefined
        ? prefixOf(recipe, world, {
            cwd,
            mounts: [...hidden(), ...covered.map(at => ({ at })), ...(among ? aloneIn(among) : [])],
          })
        : prefixOf(recipe, world, {
            cwd,
            mounts: [...views({ ...command, room, hide: [...covered, ...others, ...rooms] }), stateOf(world)],
            isApart: true,
          });
    });
    const found = { ok: true, what: recipe.what, wall } as const;
    const mark = machineMark(prefix);
    const { kept } = world;
    if (kept !== undefined && readIfThere(kept) === mark) return found;
    const { code, output } = await probe(wall, world);
    if (code === PROVEN) {
      if (kept !== undefined) tryTo(() => writeAtomic(kept, mark));
      return found;
    }
    why = output.trim().split('\n').at(-1) || `${recipe.what} ended with exit code ${code}`;
    fix =
      'allow user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 kernel.unprivileged_userns_clone=1';
  }
  return { ok: false, why, fix };
}

/** Where the rooms of all proofs of this user are: nothing that is contained sees them, but for the one that it was given. */
function roomsOfUser(): readonly string[] {
  const folders = [tmpdir(), '/var/tmp'].filter(folder => !isInMemory(folder));
  return folders.flatMap(folder => {
    const rooms = join(tryTo(() => realpathSync(folder)) ?? folder, `ralph-rooms-${process.getuid?.()}`);
    tryTo(() => mkdirSync(rooms, { mode: 0o700 }));
    const stat = tryTo(() => lstatSync(rooms));
    // Others can make it first: then it is not ours.
    return stat?.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0 ? [rooms] : [];
  });
}

const stateOf = ({ hide }: ContainmentWorld): Mount => ({ at: realpathSync(hide), writable: true });

/** The folder is laid out anew, with one place in it. */
function aloneIn({ folder, own, view }: Among): readonly Mount[] {
  const [at, mine] = [realpathSync(folder), realpathSync(own)];
  mkdirSync(view, { recursive: true, mode: 0o700 });
  const from = realpathSync(view);
  const place = join(from, relative(at, mine));
  // Who was inside before may have put something else there.
  if (tryTo(() => realpathSync(place)) !== place) {
    for (const name of readdirSync(from)) rmSync(join(from, name), { recursive: true, force: true });
    mkdirSync(place, { recursive: true, mode: 0o700 });
  }
  return [
    { at, from },
    { at: mine, from: mine },
  ];
}

/** All that decides whether a wall can be put up: kernel, limits of this process, settings of the machine, and the programs themselves. */
function machineMark(prefix: readonly string[]): string {
  const limits = /^(Cap|NoNewPrivs|Seccomp|Uid).*$/gm;
  return sha256(
    JSON.stringify([
      ...[release(), readText('/proc/sys/kernel/random/boot_id')],
      readText('/proc/self/status').match(limits),
      ['user', 'mnt', 'pid'].map(name => tryTo(() => readlinkSync(`/proc/self/ns/${name}`))),
      SWITCHES.map(name => readText(`/proc/sys/${name}`)),
      prefix.map(word => [word, word.startsWith('/') ? markOf(word) : undefined]),
    ]),
  );
}

const SWITCHES = [
  'kernel/unprivileged_userns_clone',
  'kernel/apparmor_restrict_unprivileged_userns',
  'user/max_user_namespaces',
  'user/max_pid_namespaces',
];

const readText = (path: string) => tryTo(() => readIfThere(path)) ?? '';

function markOf(program: string): string | undefined {
  const stat = tryTo(() => statSync(program));
  return stat?.isFile() ? `${stat.size} ${stat.ctimeMs} ${stat.mode} ${stat.ino}` : undefined;
}

type Programs = (name: string) => string;

const isShownAgain = ({ at, from }: Mount) => at === from;

/** What a command sees of the files. */
interface Seen {
  readonly mounts: readonly Mount[];
  /** Where it runs. */
  readonly cwd?: string;
  /** It shares no memory with other commands either. */
  readonly isApart?: true;
}

/** A way to make the namespace. */
interface Recipe {
  readonly what: string;
  readonly forRoot?: true;
  /** The words before the init. */
  words(program: Programs, seen: Seen): readonly string[];
  /** It leaves the covering of the folders to the init; the words between this and the command take away what could undo it. */
  within?(program: Programs): readonly string[];
}

/** PID 1 is no ordinary process, and a wall must not take a signal for a request: so each recipe makes the init below its first and only child. */
const RECIPES: readonly Recipe[] = [
  {
    // Root without a user namespace: what could take the wall down again is dropped instead. A sandbox still works inside.
    what: 'a PID namespace by unshare',
    forRoot: true,
    words: (program, seen) => [...diesWithRalph(program), ...inNamespaces(program, seen, [])],
    within: program => [program('setpriv'), '--bounding-set', DROPPED.map(name => `-${name}`).join(), '--'],
  },
  {
    what: 'a PID namespace by bubblewrap',
    words: (program, { mounts, isApart }) => [
      program('bwrap'),
      // Only root must ask for a user namespace; it has what umount needs in it, unless that is dropped.
      ...(isRoot() ? ['--unshare-user', ...dropped('sys_admin'), ...dropped('sys_ptrace')] : []),
      ...['--dev-bind', '/', '/', '--unshare-pid', '--as-pid-1', '--proc', '/proc', '--die-with-parent'],
      ...(isApart ? ['--unshare-ipc'] : []),
      ...mounts.flatMap(({ at, from, writable }) =>
        from === undefined
          ? ['--tmpfs', at, ...(writable ? [] : ['--remount-ro', at])]
          : [isShownAgain({ at, from }) ? '--dev-bind-try' : '--dev-bind', from, at],
      ),
      '--',
    ],
  },
  {
    what: 'a PID namespace by unshare',
    words: (program, seen) => [
      ...diesWithRalph(program),
      ...inNamespaces(program, seen, ['--user', '--map-root-user']),
    ],
    // A second user namespace: the first one owns the mounts and could undo them.
    within: program => [
      program('unshare'),
      '--user',
      `--map-user=${process.getuid?.()}`,
      `--map-group=${process.getgid?.()}`,
      '--',
    ],
  },
];

/** What reaches around the wall: mounts, other processes, files by handle, kernel memory, devices; and the clock, by which what is new is known. */
const DROPPED = [
  'sys_admin',
  'sys_ptrace',
  'dac_read_search',
  'sys_module',
  'sys_rawio',
  'mknod',
  'sys_time',
];

const dropped = (capability: string) => ['--cap-drop', `CAP_${capability.toUpperCase()}`];

const isRoot = () => process.getuid?.() === 0;

const diesWithRalph = (program: Programs) => [program('setpriv'), '--pdeathsig', 'KILL', '--'];

function inNamespaces(program: Programs, { isApart }: Seen, user: readonly string[]): readonly string[] {
  const more = isApart ? ['--ipc'] : [];
  return [program('unshare'), ...user, ...more, '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
}

/**
 * PID 1 of the namespace. It covers the folders where that is left to it, keeps its own remarks on how the command died to itself, gives what
 * is left a moment to end, and ends: with it the kernel ends the namespace. A request to stop that meets it while it covers a folder
 * is a stop like any other. It may have rights that the command has not: it starts nothing but what it was given by its path.
 * What is to be seen somewhere may be below a folder that is covered by then: so the whole tree is put aside first, and covered last.
 * Where it stands is looked up again: from the folder that it was started in, `..` would lead to what lies below.
 * What is shown where it was, or where something lies over it, may have gone since somebody looked, as files of a cache do: then there is
 * nothing to show. One program mounts all by a table; where that fails, each is mounted over it by one, which says whether it had gone.
 */
const INIT = `sleep=$1 mount=$2 mkdir=$3 all=$4 binds=$5 covers=$6; shift 6
must() { "$@" || { [ $? -gt 128 ] && exit 143; echo "ralph: cannot put up the containment: --containment off works without" >&2; exit 125; } }
cover() { [ ! -d "$1" ] || must "$mount" -t tmpfs -o "$2" none "$1"; }
is_gone() { [ ! -e "$1" ] && [ ! -L "$1" ]; }
bind() { is_gone "$2" || { [ "$1" = "$2" ] && is_gone "$all/all$1"; } || "$mount" --rbind "$all/all$1" "$2" || is_gone "$2" || must false; }
if [ $binds -gt 0 ]; then
  cover "$all" mode=0700; must "$mkdir" "$all/all"; must "$mount" --rbind / "$all/all"
  n=0
  for each; do
    case $((n % 4)) in
      2) from=$each ;;
      3) [ "$from" = "$each" ] && may=,nofail || may=
        printf "%s\\n" "$all/all$from $each none rbind$may 0 0" ;;
    esac
    n=$((n + 1)); [ $n -lt $((binds * 4)) ] || break
  done > "$all/table"
  "$mount" --all --fstab "$all/table" 2>/dev/null; code=$?
  [ $code -le 128 ] || exit 143
  while [ $binds -gt 0 ]; do
    [ $code -eq 0 ] || bind "$1" "$2"
    shift 4; binds=$((binds - 1))
  done
  cover "$all" mode=1777; must cd -- "$PWD"
fi
while [ $covers -gt 0 ]; do
  cover "$2" "mode=0700,size=64m$1"; shift 2; covers=$((covers - 1))
done
exec 4>&2 2>/dev/null
(exec "$@" 2>&4 3>&- 4>&-)
code=$?
kill -s 0 -- -1 || exit $code
left() {
  n=0
  for each in /proc/[0-9]*; do
    read -r stat < "$each/stat" || continue
    case $stat in '1 '* | *') Z '*) ;; *) n=$((n + 1)) ;; esac
  done
}
left
[ $n -eq 0 ] && exit $code
echo $n >&3
kill -s TERM -- -1
for each in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
  "$sleep" 0.02
  left
  [ $n -eq 0 ] && break
done
exit $code`;

function prefixOf(
  recipe: Recipe,
  { tree, env }: ContainmentWorld,
  seen: Seen,
): readonly string[] | undefined {
  if (recipe.forRoot && !isRoot()) return undefined;
  const program = (name: string) => wallProgram(name, tree, env);
  const aside = asideOf(seen);
  if (aside === undefined) return undefined;
  const cover = recipe.within
    ? [program('mount'), program('mkdir'), aside, ...mountWords(seen, aside), ...recipe.within(program)]
    : ['', '', '', '0', '0'];
  return [...recipe.words(program, seen), program('sh'), '-c', INIT, 'sh', program('sleep'), ...cover];
}

/** For the init: what is bound, each as it is and as a table of mounts has it, and then what is covered. */
function mountWords({ mounts }: Seen, aside: string): readonly string[] {
  const binds = mounts.flatMap(({ at, from }) =>
    from === undefined ? [] : [from, at, inTable(from), inTable(at)],
  );
  const covers = mounts.flatMap(({ at, from, writable }) =>
    from !== undefined || at === aside ? [] : [writable ? '' : ',ro', at],
  );
  return [String(binds.length / 4), String(covers.length / 2), ...binds, ...covers];
}

const inTable = (path: string) =>
  path.replace(/[\s\\#]/g, sign => `\\${sign.charCodeAt(0).toString(8).padStart(3, '0')}`);

/** In nobody's home: a command that is kept apart has memory of its own in any case; else a folder in which nothing is, or is to be seen. */
function asideOf({ mounts, cwd = '/', isApart }: Seen): string | undefined {
  if (isApart) return IN_MEMORY[0];
  const covered = mounts.flatMap(({ at, from }) => (from === undefined ? [at] : []));
  const bound = mounts.flatMap(({ at, from }) => (from === undefined ? [] : [at, from]));
  const seen = [realpathSync(cwd), ...bound];
  const isFree = (folder: string) => !seen.some(path => path !== folder && isBelow(path, folder));
  return [...IN_MEMORY, '/run/lock', ...covered].find(folder => existsSync(folder) && isFree(folder));
}

const SYSTEM = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Where the system keeps its programs comes first. Throws where there is none outside of the work tree. */
function wallProgram(name: string, tree: string, { PATH = '' }: Env): string {
  const program = findProgram(name, { PATH: [...SYSTEM, PATH].join(delimiter) }, tree);
  if (typeof program !== 'string') throw new Error(program.what);
  return program;
}

/** The wall is right when the command sees an init as its parent and nothing in the folder. */
const PROBE = `[ $PPID -eq 1 ] || exit 1
for file in "$1"/* "$1"/.[!.]*; do [ -e "$file" ] && exit 2; done
exit 42`;
const PROVEN = 42;
const PROBE_TIME = 10_000;

function probe(wall: Confinement, { env, hide }: ContainmentWorld) {
  const argv = ['/bin/sh', '-c', PROBE, 'sh', hide] as const;
  return capture(argv, { cwd: '/', env, timeout: PROBE_TIME, confinement: wall });
}

function wallOf(
  rooms: readonly string[],
  prefix: (command: Command) => readonly string[] | undefined,
): Confinement {
  return {
    rooms: rooms.length > 0 ? rooms : [tmpdir(), '/var/tmp'],
    async wrap(command) {
      const code = whyNotStarted(command);
      if (code !== undefined) return { code };
      const [first, ...words] = tryTo(() => prefix(command)) ?? [];
      if (first === undefined) return { code: 'what it may see of the files cannot be laid out' };
      const { env, loader } = splitEnv(command.env);
      const again = loader.length > 0 ? ['/usr/bin/env', ...loader] : [];
      return { ...command, env, argv: [first, ...words, ...again, ...command.argv], init: true };
    },
  };
}

/** What may make a program load code from the work tree is for the command alone, not for the programs of the wall. */
function splitEnv(env: Env): { readonly env: Env; readonly loader: readonly string[] } {
  const isLoader = (name: string) => /^(LD_|GCONV_PATH$|GLIBC_TUNABLES$)/.test(name);
  const names = Object.keys(env).filter(isLoader);
  if (names.length === 0) return { env, loader: [] };
  return {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isLoader(name))),
    loader: names.flatMap(name => (env[name] === undefined ? [] : [`${name}=${env[name]}`])),
  };
}

/** Behind a wall a program that is not there would be an exit code like any other. */
function whyNotStarted({ argv: [name], cwd, env }: Command): string | undefined {
  if (name.includes('/')) return whyNotExecutable(resolve(cwd, name));
  const codes = (env.PATH ?? '/usr/bin:/bin')
    .split(delimiter)
    .map(folder => whyNotExecutable(resolve(cwd, folder, name)));
  if (codes.includes(undefined)) return undefined;
  return codes.find(code => code === 'EACCES') ?? 'ENOENT';
}

function whyNotExecutable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? undefined : 'EACCES';
  } catch (error) {
    return errorCode(error) ?? errorWords(error);
  }
}
