/** Machines of every kind that Ralph is tried on, and what becomes of each way to work there. */
import { execFileSync, spawnSync } from 'node:child_process';
import { clockMissing, machineWithClock } from '../rig/clock.ts';
import { unprivileged } from '../rig/postgres.ts';
import type { RalphOptions } from '../rig/ralph.ts';
import type { Repo } from '../rig/repo.ts';
import type { Outcome, Way } from './kinds.ts';

export interface Machine {
  /** How Ralph is started there. `spare`: a folder for whatever it needs. */
  options(project: Repo, spare: Repo): Partial<RalphOptions>;
  /** Why this machine cannot be made here; undefined: it can. */
  impossible?(): string | undefined;
  /** What the agent does besides its work. */
  readonly script?: (spare: Repo) => string;
  /** Whose files these are; absent: of whoever runs the test. */
  readonly owner?: () => { readonly uid: number; readonly gid: number } | undefined;
  /** Where it is not `works`. */
  readonly outcome?: Outcome | Partial<Readonly<Record<Way, Outcome>>>;
  readonly note?: string;
}

const inNamespace = (script: string) =>
  ['unshare', '-m', 'sh', '-c', `${script} && exec "$@"`, 'sh'] as const;
const quoted = (dir: string) => `'${dir}'`;
const disk = (dir: string, options: string) => `mount -t tmpfs -o ${options} none ${quoted(dir)}`;
const readOnly = (dir: string) =>
  `mount --bind ${quoted(dir)} ${quoted(dir)} && mount -o remount,bind,ro ${quoted(dir)}`;
const fill = (dir: string) => `{ dd if=/dev/zero of=${quoted(`${dir}/filler`)} bs=1k 2>/dev/null; cd .; }`;

/** The project, on a disk of its own. */
const moved = (project: Repo, spare: Repo, options: string) =>
  [
    disk(spare.dir, options),
    `cp -a ${quoted(`${project.dir}/.`)} ${quoted(spare.dir)}`,
    `mount --bind ${quoted(spare.dir)} ${quoted(project.dir)}`,
    `cd ${quoted(project.dir)}`,
  ].join(' && ');

function cannotMount(): string | undefined {
  const { status } = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt']);
  return status === 0 ? undefined : 'it needs root and a mount namespace';
}

const NO_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces';
const WITHOUT_RIGHTS = 'setpriv --bounding-set=-all --inh-caps=-all';

function cannotForbidNamespaces(): string | undefined {
  const { status } = spawnSync('unshare', ['-r', 'sh', '-c', `${NO_NAMESPACES} && ${WITHOUT_RIGHTS} true`]);
  return status === 0 ? undefined : 'it needs a user namespace in which others can be forbidden';
}

export const MACHINES: Readonly<Record<string, Machine>> = {
  'a home that cannot be written': {
    impossible: cannotMount,
    options: (_, { dir }) => ({ env: { HOME: dir }, prefix: inNamespace(readOnly(dir)) }),
    outcome: 'the file system is read-only',
  },
  'the same, with `XDG_STATE_HOME` elsewhere': {
    impossible: cannotMount,
    options(_, spare) {
      for (const name of ['home/x', 'state/x']) spare.write(name, '');
      const [home, state] = [spare.path('home'), spare.path('state')];
      return { env: { HOME: home, XDG_STATE_HOME: state }, prefix: inNamespace(readOnly(home)) };
    },
  },
  '`XDG_STATE_HOME` on another file system': {
    impossible: cannotMount,
    options: (_, { dir }) => ({ env: { XDG_STATE_HOME: dir }, prefix: inNamespace(disk(dir, 'mode=700')) }),
  },
  'a small `TMPDIR` (256 kB)': {
    impossible: cannotMount,
    options: (_, { dir }) => ({ env: { TMPDIR: dir }, prefix: inNamespace(disk(dir, 'size=256k')) }),
    note: 'a clean checkout that does not fit ends the run',
  },
  'a `TMPDIR` with `noexec`': {
    impossible: cannotMount,
    options: (_, { dir }) => ({ env: { TMPDIR: dir }, prefix: inNamespace(disk(dir, 'noexec')) }),
    note: 'clean checkouts are made in `/var/tmp`; where that has `noexec`, too, a check that starts a program of the project fails',
  },
  'a full disk below the state folder': {
    impossible: cannotMount,
    options: (_, { dir }) => ({
      env: { XDG_STATE_HOME: dir },
      prefix: inNamespace(`${disk(dir, 'size=64k,mode=700')} && ${fill(dir)}`),
    }),
    outcome: 'the disk is full',
  },
  'a full disk below the project': {
    impossible: cannotMount,
    options: (project, spare) => ({
      prefix: inNamespace(`${moved(project, spare, 'size=2m')} && ${fill(project.dir)}`),
    }),
    outcome: 'the disk is full',
  },
  'a project that cannot be written': {
    impossible: cannotMount,
    options: ({ dir }) => ({ prefix: inNamespace(`${readOnly(dir)} && cd ${quoted(dir)}`) }),
    outcome: 'the file system is read-only',
  },
  'umask 077': { options: () => ({ prefix: ['sh', '-c', 'umask 077; exec "$@"', 'sh'] }) },
  'no user namespaces': {
    impossible: cannotForbidNamespaces,
    options: () => ({
      prefix: ['unshare', '-r', 'sh', '-c', `${NO_NAMESPACES}; exec ${WITHOUT_RIGHTS} "$@"`, 'sh'],
    }),
    note: 'programs are not confined, and Ralph says so',
  },
  'an ordinary user': {
    impossible: () => (unprivileged().owner ? undefined : 'the test is not run as root'),
    owner: () => unprivileged().owner,
    options: (_, { dir }) => ({ env: { HOME: dir }, prefix: unprivileged().prefix }),
  },
  root: {
    impossible: () => (process.getuid?.() === 0 ? undefined : 'the test is not run as root'),
    options: () => ({}),
  },
  'the C locale': { options: () => ({ env: { LANG: 'C', LC_ALL: 'C' } }) },
  'a Turkish locale': { options: () => ({ env: { LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' } }) },
  '`TERM=dumb`': { options: () => ({ env: { TERM: 'dumb' } }) },
  'no terminal': { options: () => ({ env: { TERM: '' }, prefix: ['setsid', '--wait'] }) },
  'a clock that jumps a day ahead': jumping('+1d'),
  'a clock that jumps a day back': jumping('-1d'),
};

function jumping(by: string): Machine {
  return {
    impossible: clockMissing,
    options(_, spare) {
      spare.write('clock', '+0\n');
      const { FAKETIME: _unused, ...env } = machineWithClock('+0').env ?? {};
      return { env: { ...env, FAKETIME_TIMESTAMP_FILE: spare.path('clock'), FAKETIME_NO_CACHE: '1' } };
    },
    script: spare => `echo ${by} > '${spare.path('clock')}'`,
  };
}

/** Gives everything in a folder to somebody. */
export function giveTo(dir: string, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  execFileSync('chown', ['-R', `${uid}:${gid}`, dir]);
}
