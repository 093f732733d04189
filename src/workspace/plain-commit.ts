/** Whether anything of the user's has a part in a commit: a hook, a filter, a setting. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CommitPlan } from './commit-plan.ts';
import { readSettings } from './own-folder.ts';
import type { OwnGit } from './own-git.ts';

/** Hooks that a commit starts. */
const HOOKS = [
  ...['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit'],
  ...['reference-transaction', 'post-index-change'],
];

/** Settings that could make it another commit. */
const SPECIAL = /^(hook|commit|i18n|author|committer|gpg)\.|^user\.(useconfigonly|signingkey)$/;

const ROLES = ['AUTHOR', 'COMMITTER'];

/** Asked anew for each commit: the agent may have installed a hook, and it counts. */
export async function isPlainCommit(
  { repository, top, env }: OwnGit,
  { filtered }: CommitPlan,
): Promise<boolean> {
  if (filtered.length > 0 || env.GIT_AUTHOR_DATE || env.GIT_COMMITTER_DATE) return false;
  // git would find a name for whoever has none, in ways of its own.
  const known = new Map(repository.settings);
  const isNamed = (part: string) =>
    known.get(`user.${part}`) || ROLES.every(role => env[`GIT_${role}_${part.toUpperCase()}`]);
  if (!isNamed('name') || !isNamed('email')) return false;
  // What Ralph itself says to git is no setting of the user's.
  const settings = (await readSettings(repository)).filter(({ scope }) => scope !== 'command');
  if (settings.length === 0 || settings.some(({ key }) => SPECIAL.test(key))) return false;
  const named = settings.findLast(({ key }) => key === 'core.hookspath')?.value;
  if (named?.startsWith('%') || /^~[^/]/.test(named ?? '')) return false;
  const home = named?.replace(/^~(?=\/)/, env.HOME || homedir());
  const folder = home === undefined ? join(repository.commonDir, 'hooks') : resolve(top, home);
  return !HOOKS.some(name => existsSync(join(folder, name)));
}
