/** The programs of PostgreSQL on this machine: few distributions put the server's own on the PATH. */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tryTo } from '../platform/files.ts';
import type { Env } from '../platform/programs.ts';
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
  const onPath = findProgram('initdb', env, cwd);
  const folders = [
    ...(typeof onPath === 'string' ? [dirname(tryTo(() => realpathSync(onPath)) ?? onPath)] : []),
    ...PLACES.flatMap(installed),
  ];
  return folders.find(folder => PROGRAMS.every(name => existsSync(join(folder, name))));
}

function installed({ folder, name }: (typeof PLACES)[number]): readonly string[] {
  const version = (entry: string) => Number(/\d+$/.exec(entry)?.[0] ?? 0);
  const entries = tryTo(() => readdirSync(folder)) ?? [];
  return entries
    .filter(entry => name.test(entry))
    .sort((a, b) => version(b) - version(a))
    .map(entry => join(folder, entry, 'bin'));
}
