/**
 * A repository elsewhere, reached from Ralph's own git directory with the user's settings as they were kept when the place of work was
 * made: no hook, filter or setting of the work tree has a say.
 */
import type { Problem } from '../domain/problem.ts';
import { complaint, type Env, type Git, git as gitAt } from '../platform/git.ts';
import type { OwnGit } from './own-git.ts';
import { networkEnv, recordSettings } from './scm-network.ts';

export interface Remote {
  /** Writes a commit to a branch or another name there, whatever is there now. */
  put(commit: string, ref: string): Promise<Problem | undefined>;
  /** Moves it from one commit to another; `from` undefined: nothing is there yet. 'moved': somebody else was there. */
  swap(ref: string, from: string | undefined, to: string): Promise<'done' | 'moved' | Problem>;
  /** Where it stands; undefined: it is not there. */
  tip(ref: string): Promise<string | undefined | Problem>;
  /** Brings what these names hold, with all that it is built on, under the same names. */
  bring(refs: readonly string[]): Promise<Problem | undefined>;
}

/** git that may reach other repositories; only in a folder that no agent has worked in. */
export function reachingGit(cwd: string, env: Env): Git {
  return gitAt(cwd, env).with({ GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh' });
}

export async function openRemote(own: OwnGit, env: Env, url: string): Promise<Remote> {
  await recordSettings(own, env);
  const git = own.objects.at(own.top).with(networkEnv(own, env));
  return {
    put: (commit, ref) => push(git, url, [`+${commit}:${ref}`]),
    async swap(ref, from, to) {
      const lease = `--force-with-lease=${ref}:${from ?? ''}`;
      const problem = await push(git, url, [lease, `${to}:${ref}`]);
      if (!problem) return 'done';
      const now = await tip(git, url, ref);
      if (now === to) return 'done';
      return typeof now !== 'object' && now !== from ? 'moved' : problem;
    },
    tip: ref => tip(git, url, ref),
    async bring(refs) {
      const specs = refs.map(ref => `+${ref}:${ref}`);
      // Ralph's own directory begins without history; merging needs it.
      const { stdout } = await git.run(['rev-parse', '--is-shallow-repository']);
      const history = stdout.trim() === 'true' ? ['--unshallow'] : [];
      const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
      const flags = [...quiet, ...history];
      const { code, output } = await git.run([
        ...['-c', 'fetch.unpackLimit=1', 'fetch', ...flags],
        url,
        ...specs,
      ]);
      return code === 0 ? undefined : { where: url, what: complaint(output, code) };
    },
  };
}

async function push(git: Git, url: string, words: readonly string[]): Promise<Problem | undefined> {
  const { code, output } = await git.run(['push', '--quiet', '--no-verify', url, ...words]);
  return code === 0 ? undefined : { where: url, what: complaint(output, code) };
}

async function tip(git: Git, url: string, ref: string): Promise<string | undefined | Problem> {
  const { code, stdout, output } = await git.run(['ls-remote', '--quiet', url, ref]);
  if (code !== 0) return { where: url, what: complaint(output, code) };
  return /^([0-9a-f]{40,64})\t/.exec(stdout)?.[1];
}
