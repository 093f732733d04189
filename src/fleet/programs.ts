/** The programs of PostgreSQL on this machine: few distributions put the server's own on the PATH. */

import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { askProgram } from '../platform/ask.ts';
import { tryTo } from '../platform/files.ts';
import { findProgram } from '../platform/programs.ts';

/** All are needed, and all of one version: from one folder. */
const PROGRAMS = ['initdb', 'pg_ctl', 'postgres'] as const;

/** Where packages install a server: a folder for each version, and in it `bin`. */
const PLACES: readonly { readonly folder: string; readonly name: RegExp }[] = [
  { folder: '/usr/lib/postgresql', name: /^\d+$/ }, // Debian, Ubuntu
  { folder: '/usr', name: /^pgsql-\d+$/ }, // Red Hat, from postgresql.org
  { folder: '/opt/homebrew/opt', name: /^postgresql(@\d+)?$/ },
  { folder: '/usr/local/opt', name: /^postgresql(@\d+)?$/ }, // Homebrew on Intel
  { folder: '/home/linuxbrew/.linuxbrew/opt', name: /^postgresql(@\d+)?$/ },
  { folder: '/Applications/Postgres.app/Contents/Versions', name: /^\d+$/ },
];

/** The folder with the programs of a server: the one on the PATH, else the newest that a package has installed. */
export function findPostgres(env: Env, cwd: string): string | undefined {
  return findAll(env, cwd)[0];
}

/** The same of the version that made the data; without data the first that is found. */
export function findPostgresFor(data: string | undefined, env: Env, cwd: string): string | Problem {
  return chooseServer(
    findAll(env, cwd).map(bin => ({ bin, version: majorVersion(bin, env, cwd) })),
    data,
  );
}

export function chooseServer(
  found: readonly { readonly bin: string; readonly version: string }[],
  data: string | undefined,
): string | Problem {
  const chosen = data === undefined ? found[0] : found.find(({ version }) => version === data);
  if (chosen) return chosen.bin;
  if (data === undefined || found.length === 0)
    return {
      where: 'PostgreSQL',
      what: 'no server is installed here',
      fix: `${INSTALL}; or use one that runs elsewhere: --database URL`,
    };
  return {
    where: 'PostgreSQL',
    what: `the data of the fleet was made by version ${data}, and installed is ${found.map(({ version }) => version).join(', ')}`,
    fix: `install version ${data} as well (Debian: postgresql-${data}; Homebrew: postgresql@${data}), or move the data as docs/how-to/use-many-machines.md says`,
  };
}

const INSTALL = '`apt install postgresql` (Debian, Ubuntu) or `brew install postgresql` (Homebrew)';

/** `15`, as in the file PG_VERSION of its data. */
function majorVersion(bin: string, env: Env, cwd: string): string {
  const { stdout } = askProgram({ argv: [join(bin, 'postgres'), '--version'], cwd, env }, '');
  return /\) (\d+)/.exec(stdout.toString())?.[1] ?? '';
}

function findAll(env: Env, cwd: string): readonly string[] {
  const onPath = findProgram('initdb', env, cwd);
  const folders = [
    ...(typeof onPath === 'string' ? [dirname(tryTo(() => realpathSync(onPath)) ?? onPath)] : []),
    ...PLACES.flatMap(installed),
  ];
  return folders.filter(folder => PROGRAMS.every(name => existsSync(join(folder, name))));
}

function installed({ folder, name }: (typeof PLACES)[number]): readonly string[] {
  const version = (entry: string) => Number(/\d+$/.exec(entry)?.[0] ?? 0);
  const entries = tryTo(() => readdirSync(folder)) ?? [];
  return entries
    .filter(entry => name.test(entry))
    .sort((a, b) => version(b) - version(a))
    .map(entry => join(folder, entry, 'bin'));
}
