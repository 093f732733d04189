/** Which forge, which repository, which token: from flags, the environment and the remote, each looked at before it is used. */

import { tmpdir } from 'node:os';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { capture } from '../platform/capture.ts';
import { tryTo } from '../platform/files.ts';
import { findProgram, outsideEnv } from '../platform/programs.ts';

export interface ForgePlace {
  /** Of the API, without a slash at its end. */
  readonly base: string;
  /** Where its repositories and pages are. */
  readonly host: string;
  readonly owner: string;
  readonly name: string;
}

/** What Ralph keeps from agents and checks. */
export const FORGE_SECRETS = ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN'];

/** The environment for agents and checks of a run that has a pull request. */
export function withoutToken<E extends Env>(env: E): E {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !FORGE_SECRETS.includes(name))) as E;
}

export function findPlace(
  repo: string | undefined,
  remoteUrl: string,
  remote: string,
  env: Env,
): ForgePlace | Problem {
  const base = baseOf(env);
  if (isProblem(base)) return base;
  const host = webHost(base);
  const named = repo ?? (env.GITHUB_REPOSITORY || undefined);
  const [at, there] = repositoryAt(remoteUrl) ?? [];
  const own = at === host.replace(/:\d+$/, '') ? there : undefined;
  const full = named ?? own;
  if (full === undefined) return notThere(remote, host, at, env);
  const [, owner = '', name = ''] = REPOSITORY.exec(full) ?? [];
  const where =
    repo === undefined ? (named === undefined ? `remote ${remote}` : 'GITHUB_REPOSITORY') : '--repo';
  if (owner === '' || /^\.{1,2}$/.test(name))
    return { where: `${where} ${full.slice(0, 100)}`, what: 'is no repository', fix: 'write OWNER/NAME' };
  if (own !== undefined && REPOSITORY.test(own) && own.toLowerCase() !== full.toLowerCase())
    return {
      where: `remote ${remote}`,
      what: `it is ${own}, and the pull request would be one of ${full}: both must be the same repository, from a fork it does not work yet`,
      fix: `--remote NAME, with the remote that is ${full}`,
    };
  return { base, host, owner, name };
}

/** Of its address only the host is said: what else stands there may be a password. */
function notThere(remote: string, host: string, at: string | undefined, env: Env): Problem {
  const isElsewhere = at?.includes('.') === true && !env.GITHUB_API_URL;
  return {
    where: `remote ${remote}`,
    what: `its address is none of a repository at ${host}${at === undefined ? '' : `, but at ${at}`}`,
    fix: `${isElsewhere ? `where ${at} is a GitHub Enterprise Server: GITHUB_API_URL=https://${at}/api/v3 in the environment; ` : ''}where it is the same as a repository at ${host}: --repo OWNER/NAME`,
  };
}

const REPOSITORY = /^([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))\/([A-Za-z0-9._-]{1,100})$/;

/** The token goes there: in clear text only on this machine. */
function baseOf(env: Env): string | Problem {
  const given = env.GITHUB_API_URL || 'https://api.github.com';
  const url = tryTo(() => new URL(given));
  const isLoopback = url !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback))
    return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  return { where: 'GITHUB_API_URL', what: 'must be an https address', fix: 'https://HOST/api/v3' };
}

function webHost(base: string): string {
  const { host } = new URL(base);
  return host.replace(/^api\./, '');
}

/** `https://HOST/OWNER/NAME.git`, `git@HOST:OWNER/NAME`, `ssh://git@HOST:22/OWNER/NAME`: the host, and the rest. */
function repositoryAt(url: string): readonly [string, string] | undefined {
  const plain = /^(?:[\w.-]+@)?([\w.-]+):(?!\/)(.+)$/.exec(url);
  const full = tryTo(() => new URL(url));
  const isWeb = full !== undefined && /^(https?|ssh|git):$/.test(full.protocol);
  const found = isWeb ? [full.hostname, full.pathname.slice(1)] : plain?.slice(1);
  if (!found) return undefined;
  // By this name GitHub takes SSH where only the port of https is open.
  const host = (found[0] ?? '').toLowerCase().replace(/^ssh\.(?=github\.com$)/, '');
  return [host, (found[1] ?? '').replace(/\/+$/, '').replace(/\.git$/, '')];
}

/** From the environment, else from the user's own `gh`. `root`: the project, in which no program is looked for. */
export async function findToken(host: string, root: string, env: Env): Promise<string | Problem> {
  const given = [env.GH_TOKEN, env.GITHUB_TOKEN].find(each => each !== undefined && each.trim() !== '');
  const token = given ?? (await askGh(host, root, env));
  if (isProblem(token)) return token;
  // Anything else could end the header and begin another.
  if (/^[\x21-\x7e]{1,1000}$/.test(token.trim())) return token.trim();
  return { where: 'the token', what: 'holds characters that no token has', fix: 'set GH_TOKEN' };
}

async function askGh(host: string, root: string, env: Env): Promise<string | Problem> {
  const missing = (what: string): Problem => ({
    where: 'token',
    what,
    fix: 'set GH_TOKEN, or log in: gh auth login',
  });
  const gh = findProgram('gh', env, root);
  if (isProblem(gh)) return missing('neither GH_TOKEN nor GITHUB_TOKEN is set');
  const { code, stdout } = await capture([gh, 'auth', 'token', '--hostname', host], {
    cwd: tmpdir(),
    env: { ...outsideEnv(env, root), GH_PROMPT_DISABLED: '1', NO_COLOR: '1' },
    timeout: 60_000,
  });
  return code === 0 && stdout.trim() !== '' ? stdout.trim() : missing(`gh is not logged in to ${host}`);
}

/** What git takes for the name of a branch, and no more than that. */
export function isBranchName(name: string): boolean {
  return (
    name !== '' &&
    name.length <= 200 &&
    !/^[-/.]|[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/[/.]|\.lock(\/|$)|[/.]$|^@$/.test(name) &&
    !/^(HEAD|refs(\/.*)?)$/.test(name)
  );
}
