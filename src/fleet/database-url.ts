/** Which database the fleet uses, and its URL as it may be shown: a password in it reaches no message. */

import type { Problem } from '../domain/text/problem.ts';
import { decodeUri } from '../domain/text/secret-values.ts';
import { ensureFolder, readIfThere, writeAtomic } from '../platform/files.ts';
import { type Env, statePaths } from '../store/state.ts';

/** The one that was named, else that of the environment, else the one that `ralph fleet up` has remembered. */
export function databaseUrl({ database }: { readonly database?: unknown }, env: Env): string | Problem {
  if (typeof database === 'string') return checkUrl('--database', database);
  if (env.RALPH_DATABASE_URL) return checkUrl('RALPH_DATABASE_URL', env.RALPH_DATABASE_URL);
  const kept = rememberedUrl(env);
  if (kept !== undefined) return kept;
  return {
    where: 'database',
    what: 'the fleet needs a PostgreSQL database, and none is known here',
    fix: 'start one with `ralph fleet up`, or name one with --database URL or RALPH_DATABASE_URL',
  };
}

export function rememberedUrl(env: Env): string | undefined {
  return readIfThere(statePaths(env).fleet.database)?.trim() || undefined;
}

/** For this user alone: the URL may have a password in it. */
export function rememberUrl(url: string, env: Env): void {
  const { folder, database } = statePaths(env).fleet;
  ensureFolder(folder);
  writeAtomic(database, `${url}\n`);
}

export function checkUrl(where: string, url: string): string | Problem {
  if (/^postgres(ql)?:\/\//.test(url) && parseUrl(url)) return url;
  return {
    where,
    what: 'is not the URL of a PostgreSQL database',
    fix: 'such as postgres://USER@HOST:5432/DATABASE',
  };
}

/** A host that is missing, as with a socket, is no URL to Node unless there is no user either. */
export function parseUrl(url: string): URL | undefined {
  for (const each of [url, url.replace('@/', '@localhost/')]) if (URL.canParse(each)) return new URL(each);
  return undefined;
}

/** The URL with its passwords hidden. What cannot be read for certain is hidden whole. */
export function showUrl(url: string): string {
  const parsed = parseUrl(url);
  if (!parsed) return HIDDEN;
  // An `@`, a `#` or a `?` that was not encoded puts the rest of a password where none is looked for.
  if (/@/.test(parsed.pathname + parsed.search) || parsed.hash !== '') return HIDDEN;
  if (parsed.password !== '') parsed.password = '***';
  for (const name of parsed.searchParams.keys())
    if (/pass|secret|key/i.test(name)) parsed.searchParams.set(name, '***');
  return parsed.href;
}

const HIDDEN = 'postgres://***';

/** The passwords of a URL, as they stand in it and as they are meant. */
export function passwordsOf(url: string): readonly string[] {
  const parsed = parseUrl(url);
  if (!parsed) return [];
  const given = [
    parsed.password,
    ...['password', 'sslpassword'].flatMap(name => parsed.searchParams.getAll(name)),
  ];
  return [...new Set(given.flatMap(each => [each, decodeUri(each)]))].filter(each => each !== '');
}
