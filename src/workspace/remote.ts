/**
 * A repository elsewhere, reached from Ralph's own git directory with the user's settings as they were kept when the place of work was
 * made: no hook, filter or setting of the work tree has a say.
 */
import { type RemoteProblem, remoteProblem } from '../domain/run/remote-answer.ts';
import { isProblem } from '../domain/text/problem.ts';
import { TOO_LONG } from '../platform/ask.ts';
import { tryTo } from '../platform/files.ts';
import { complaint, type Env, type Git, git as gitAt, withConfig } from '../platform/git.ts';
import { createTurns } from '../platform/in-turn.ts';
import type { OwnGit } from './own-git.ts';
import { networkEnv, recordSettings } from './scm-network.ts';

export interface Shown {
  readonly ref: string;
  readonly to: string;
  /** A pattern of names that only Ralph writes to. */
  readonly ours: string;
}

export interface Remote {
  /** Writes a commit to a name of this holder's own there, whatever is there now. */
  put(commit: string, ref: string): Promise<RemoteProblem | undefined>;
  /** Moves it from one commit to another; `from` undefined: nothing is there yet. 'moved': somebody else was there. */
  swap(ref: string, from: string | undefined, to: string): Promise<'done' | 'moved' | RemoteProblem>;
  /** Moves it forward, or makes it; what is there and not in the commit is never pushed away. 'moved': there is such a thing. */
  advance(ref: string, to: string): Promise<'done' | 'moved' | RemoteProblem>;
  /** Moves a branch that people see forward, or on from what `ours` names there. What somebody else has put there stays. */
  show(branch: Shown): Promise<RemoteProblem | undefined>;
  /** Where it stands; undefined: it is not there. */
  tip(ref: string): Promise<string | undefined | RemoteProblem>;
  /** Brings what these names hold, with all that it is built on, under the same names. */
  bring(refs: readonly string[]): Promise<RemoteProblem | undefined>;
}

/** What a forge needs of it: branches only move forward; `put` writes to names that nobody else has. */
export type ForwardRemote = Omit<Remote, 'swap' | 'show'>;

/** git that may reach other repositories; only in a folder that no agent has worked in. */
export function reachingGit(cwd: string, env: Env): Git {
  return gitAt(cwd, env).with({ GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh' });
}

/** Milliseconds for one exchange: a network that swallows everything and says nothing must not hold a worker up; a slow one gets more. */
const FIRST_PATIENCE = 60_000;
const LONGEST_PATIENCE = 600_000;

/** Who may write to the repositories of a host. */
export interface Access {
  readonly host: string;
  readonly token: string;
}

/** `abort`: whatever is under way is ended. */
export async function openRemote(
  own: OwnGit,
  env: Env,
  url: string,
  abort: AbortSignal,
  access?: Access,
): Promise<Remote> {
  await recordSettings(own, env);
  const network = { ...networkEnv(own, env), ...(access && accessEnv(networkEnv(own, env), url, access)) };
  const git = patient(own.objects.at(own.top).with(network), abort);
  const inTurn = createTurns();
  return {
    async put(commit, ref) {
      const problem = await push(git, url, [`+${commit}:${ref}`]);
      // Whoever was quicker may have put the same there.
      const isThere = problem?.answer === 'rebuild' && (await tip(git, url, ref)) === commit;
      return isThere ? undefined : problem;
    },
    async swap(ref, from, to) {
      const lease = `--force-with-lease=${ref}:${from ?? ''}`;
      const problem = await push(git, url, [`${to}:${ref}`], lease);
      if (!problem) return 'done';
      const now = await tip(git, url, ref);
      if (now === to) return 'done';
      return !isProblem(now) && now !== from ? 'moved' : problem;
    },
    async advance(ref, to) {
      const problem = await push(git, url, [`${to}:${ref}`]);
      if (!problem || (await tip(git, url, ref)) === to) return 'done';
      return problem.answer === 'rebuild' ? 'moved' : problem;
    },
    show: branch => show(git, url, branch),
    tip: ref => tip(git, url, ref),
    // One at a time: git locks what it knows of the history that is missing, and does not wait.
    bring: refs => inTurn(() => bring(git, url, refs)),
  };
}

/**
 * The token is only in the environment of git, and git gives it to this host alone. No other helper is asked: one that keeps passwords
 * would keep it.
 */
function accessEnv(env: Env, url: string, { host, token }: Access): Env {
  const isThere = tryTo(() => new URL(url))?.protocol === 'https:' && new URL(url).host === host;
  if (!isThere) return {};
  const helper = `!f() { test "$1" = get && printf 'username=x-access-token\\npassword=%s\\n' "$RALPH_FORGE_TOKEN"; }; f`;
  const config = { 'credential.helper': '', [`credential.https://${host}.helper`]: helper };
  return { ...withConfig(env, config), RALPH_FORGE_TOKEN: token };
}

/** What a remote that does not do what it is asked says, and what is done then. */
export function refused(url: string, output: string, code: number): RemoteProblem {
  return remoteProblem(url, output, complaint(output, code));
}

type Running = Pick<Git, 'run'>;

/** No exchange lasts for ever. */
export function patient(git: Git, signal: AbortSignal): Running {
  let timeout = FIRST_PATIENCE;
  return {
    async run(args) {
      const captured = await git.run(args, { timeout, signal });
      if (captured.code === TOO_LONG) timeout = Math.min(LONGEST_PATIENCE, timeout * 2);
      return captured;
    },
  };
}

async function push(
  git: Running,
  url: string,
  refs: readonly string[],
  ...flags: readonly string[]
): Promise<RemoteProblem | undefined> {
  const { code, output } = await git.run(['push', '--quiet', '--no-verify', ...flags, '--', url, ...refs]);
  return code === 0 ? undefined : refused(url, output, code);
}

export async function show(
  git: Running,
  url: string,
  { ref, to, ours }: Shown,
): Promise<RemoteProblem | undefined> {
  const problem = await push(git, url, [`${to}:${ref}`]);
  if (problem?.answer !== 'rebuild') return problem;
  const { code, stdout, output } = await git.run(['ls-remote', '--quiet', '--', url, ref, ours]);
  if (code !== 0) return refused(url, output, code);
  const names = stdout.split('\n').map(line => line.split('\t'));
  const [there] = names.find(([, name]) => name === ref) ?? [];
  if (there === to || there === undefined) return there === to ? undefined : problem;
  if (names.some(([commit, name]) => commit === there && name !== ref))
    return push(git, url, [`${to}:${ref}`], `--force-with-lease=${ref}:${there}`);
  const what = `${ref.replace('refs/heads/', '')} has ${there.slice(0, 12)} of somebody else, and that stays`;
  return { where: url, what, answer: 'stop' };
}

async function tip(git: Running, url: string, ref: string): Promise<string | undefined | RemoteProblem> {
  const { code, stdout, output } = await git.run(['ls-remote', '--quiet', '--', url, ref]);
  if (code !== 0) return refused(url, output, code);
  return /^([0-9a-f]{40,64})\t/.exec(stdout)?.[1];
}

async function bring(git: Running, url: string, refs: readonly string[]): Promise<RemoteProblem | undefined> {
  const specs = refs.map(ref => `+${ref}:${ref}`);
  // Ralph's own directory begins without history; merging needs it.
  const { stdout } = await git.run(['rev-parse', '--is-shallow-repository']);
  const history = stdout.trim() === 'true' ? ['--unshallow'] : [];
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
  const words = ['-c', 'fetch.unpackLimit=1', 'fetch', ...quiet, ...history, '--', url, ...specs];
  const { code, output } = await git.run(words);
  if (code === 0) return undefined;
  // git calls it a failure to get no history where no name fits, and says nothing.
  const there = await git.run(['ls-remote', '--quiet', '--', url, ...refs]);
  const isNothing = there.code === 0 && there.stdout === '';
  return isNothing ? undefined : refused(url, output, code);
}
