/**
 * Push, fetch and pull of a sandboxed run: they need the user's keys, which are hidden inside, so they run outside, on Ralph's own git
 * directory. The address is that of the start of the run, the settings are the user's own ones of that time; nothing that the repository
 * says counts, neither its hooks nor `core.sshCommand`, `insteadOf` or `credential.helper`.
 */
import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RunStart, ScmResult } from '../domain/run/event.ts';
import { remoteProblem } from '../domain/run/remote-answer.ts';
import type { Confinement } from '../platform/confinement.ts';
import { readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { captureGit, complaint, type Env, type Git, git as gitAt, lastLine } from '../platform/git.ts';
import { deliver } from './commit-in-repository.ts';
import { fetchCommit } from './own-fetch.ts';
import { toConfig } from './own-folder.ts';
import type { OwnGit } from './own-git.ts';

export interface NetworkRound {
  readonly env: Env;
  readonly abort: AbortSignal;
  readonly confinement?: Confinement | undefined;
  /** Where the run began. */
  readonly start: RunStart | undefined;
}

export type TaskResult = Omit<ScmResult, 'task'>;

export function isForOutside(task: string): boolean {
  return /^(push|pull|fetch)$/.test(task);
}

const SETTINGS = 'settings-of-the-user';

/** Keeps what the user and the machine have set for git, as it is now; includes are resolved for this repository. */
export async function recordSettings(own: OwnGit, env: Env): Promise<void> {
  const git = gitAt(own.top, env);
  const scopes = await Promise.all(
    ['--system', '--global'].map(scope => git.list(['config', scope, '--includes', '--list', '-z'])),
  );
  const entries = scopes.flatMap(({ records }) =>
    records.map((record): readonly [string, string] => {
      const at = record.indexOf('\n');
      return at === -1 ? [record, 'true'] : [record.slice(0, at), record.slice(at + 1)];
    }),
  );
  const resolved = entries.filter(([key]) => !key.startsWith('include'));
  writeWhole(join(own.objects.cwd, SETTINGS), toConfig(resolved));
}

export async function runOutside(
  own: OwnGit,
  round: NetworkRound,
  words: readonly string[],
): Promise<TaskResult> {
  const [name = '', ...args] = words;
  const flags = args.filter(word => word.startsWith('-'));
  const [remote, ...refs] = args.filter(word => !word.startsWith('-'));
  const { branch, commit } = await own.head();
  if (branch === undefined || commit === undefined) return failed('HEAD is on no branch');
  const isNew = name === 'push' && branch === round.start?.branch;
  const place = remoteOf(own, branch, remote, name, isNew);
  if (typeof place === 'string') return failed(place);
  if (isWithin(place.url, own.top)) return inside(own, round, words);
  const git = own.objects.at(own.top).with(networkEnv(own, round.env));
  const order = { own, git, branch, commit, ...place };
  if (name === 'push') return push(order, flags, refs, round);
  if (refs.length > 0)
    return failed(`${words.join(' ')}: which branches are fetched is not a choice in a sandbox`);
  return fetch(order, name === 'pull', round);
}

export function failed(detail: string): TaskResult {
  return { outcome: 'failed', detail };
}

/** The remote's own words first: git may know no more than that a hook declined. */
function refusedBy(output: string, code: number): TaskResult {
  return failed(remoteProblem('', output, complaint(output, code)).what);
}

interface Remote {
  readonly remote: string;
  readonly url: string;
  /** The branch there. */
  readonly target: string;
}

/** By the settings of the repository as they were when the run began; a sentence where there is nothing to go by. */
function remoteOf(
  own: OwnGit,
  branch: string,
  named: string | undefined,
  task: string,
  /** Without an upstream it is pushed by its own name. */
  isNew: boolean,
): Remote | string {
  const settings = new Map(own.repository.remotes);
  const at = (key: string) => settings.get(key);
  const upstream = at(`branch.${branch}.remote`);
  const chosen =
    task === 'push' ? (at(`branch.${branch}.pushremote`) ?? at('remote.pushdefault')) : undefined;
  const remote = named ?? chosen ?? upstream ?? 'origin';
  const url = (task === 'push' ? at(`remote.${remote}.pushurl`) : undefined) ?? at(`remote.${remote}.url`);
  if (url === undefined) return `when the run began, there was no remote ${remote}`;
  const merge = at(`branch.${branch}.merge`);
  if (merge === undefined && named === undefined && !isNew)
    return `when the run began, ${branch} had no upstream: git push --set-upstream ${remote} ${branch}`;
  return { remote, url, target: merge ?? `refs/heads/${branch}` };
}

/** The hooks of a remote in the work tree are the agent's to write: it is pushed to from inside. */
function isWithin(url: string, top: string): boolean {
  if (/^[\w+.-]+:(?!\/\/)|^(?!file:)[\w+.-]+:\/\//.test(url) && !existsSync(resolve(top, url))) return false;
  const path = resolve(top, url.replace(/^file:\/\/[^/]*/, ''));
  const real = tryTo(() => realpathSync(path)) ?? path;
  return real === top || real.startsWith(`${top}/`);
}

function inside(own: OwnGit, round: NetworkRound, words: readonly string[]): Promise<TaskResult> {
  return runInside([own.git.program, ...words], { ...round, cwd: own.top });
}

/** A push that waits for a password would wait for ever. */
/** Its words are read: in English, whatever the language of the user is. */
export const QUIET_GIT = { GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true', LANGUAGE: 'en' };
export const TASK_TIMEOUT = 600_000;

/** A task of source control, behind the wall. */
export async function runInside(
  argv: readonly [string, ...string[]],
  { cwd, env, abort: signal, confinement }: NetworkRound & { readonly cwd: string },
): Promise<TaskResult> {
  const limits = { timeout: TASK_TIMEOUT, signal, confinement };
  const { code, output } = await captureGit(argv, { cwd, env: { ...env, ...QUIET_GIT }, ...limits });
  return code === 0 ? { outcome: 'done', detail: lastLine(output) } : refusedBy(output, code);
}

/** How the user reaches remotes: given to Ralph, or in the settings that were kept. */
const USERS =
  /^GIT_(SSH(_COMMAND|_VARIANT)?|ASKPASS|SSL_.*|HTTP_.*|PROXY.*|CONFIG_(COUNT|KEY_\d+|VALUE_\d+))$/;

export function networkEnv(own: OwnGit, env: Env): Env {
  const kept = join(own.objects.cwd, SETTINGS);
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => USERS.test(name))),
    ...(readIfThere(kept) !== undefined && { GIT_CONFIG_GLOBAL: kept }),
  };
}

interface Order extends Remote {
  readonly own: OwnGit;
  readonly git: Git;
  readonly branch: string;
  readonly commit: string;
}

async function push(
  { own, git, commit, branch, url, target, remote }: Order,
  flags: readonly string[],
  refs: readonly string[],
  round: NetworkRound,
): Promise<TaskResult> {
  const missing = await bringHistory(own, commit);
  if (missing !== undefined) return failed(missing);
  const sources = new Set(['HEAD', branch, `refs/heads/${branch}`]);
  const wanted = refs.map(ref => {
    const [from = '', to = from === 'HEAD' ? branch : from] = ref.replace(/^\+/, '').split(':');
    return sources.has(from) ? `${ref.startsWith('+') ? '+' : ''}${commit}:${fullName(to)}` : undefined;
  });
  if (wanted.includes(undefined)) return failed(`in a sandbox only ${branch} is pushed`);
  const specs = wanted.length > 0 ? wanted.map(String) : [`${commit}:${target}`];
  const { code, output } = await git.run(['push', '--no-verify', ...flags, '--', url, ...specs]);
  if (code !== 0) return refusedBy(output, code);
  await track(own, round, remote, target, commit);
  return { outcome: 'done', detail: lastLine(output) };
}

/** Ralph's own directory has only what it needed so far; a remote wants the whole history of a commit. Returns what is missing. */
function bringHistory(own: OwnGit, commit: string): Promise<string | undefined> {
  const { cwd: path } = own.objects;
  const whole = existsSync(join(path, 'shallow')) ? ['--depth=2147483647'] : [];
  return fetchCommit({ git: own.objects }, own.repository, commit, whole);
}

function fullName(ref: string): string {
  return ref.startsWith('refs/') ? ref : `refs/heads/${ref}`;
}

/** As git itself does after a push: what the user sees of the remote is as it is there now. */
async function track(
  own: OwnGit,
  round: NetworkRound,
  remote: string,
  target: string,
  commit: string,
): Promise<void> {
  const name = target.replace(/^refs\/heads\//, `refs/remotes/${remote}/`);
  await inside(own, round, ['update-ref', '--no-deref', name, commit]);
}

async function fetch(order: Order, merges: boolean, round: NetworkRound): Promise<TaskResult> {
  const { own, git, url, target, remote, commit } = order;
  const missing = await bringHistory(own, commit);
  if (missing !== undefined) return failed(missing);
  const arrived = 'refs/ralph/fetched';
  const { code, output } = await git.run([
    'fetch',
    '--quiet',
    '--no-tags',
    '--',
    url,
    `+${target}:${arrived}`,
  ]);
  if (code !== 0) return refusedBy(output, code);
  const found = (await own.objects.run(['rev-parse', arrived])).stdout.trim();
  const problem = await deliver(own, found, commit);
  if (problem) return failed(problem.what);
  await track(own, round, remote, target, found);
  return merges ? inside(own, round, ['merge', '--no-edit', found]) : { outcome: 'done', detail: found };
}
