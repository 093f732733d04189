/** Takes back commits of somebody who may make none: branch and HEAD stand where they stood, and the commits are kept under their names. */
import { complaint } from '../platform/git.ts';
import type { FilesAtStart } from './protected-files.ts';
import type { GitFolders } from './refs.ts';

/** Throws where git refuses, and where somebody else has committed since these were seen: theirs is never taken back. */
export function standBack(
  { git }: Pick<GitFolders, 'git'>,
  { base, branch }: Pick<FilesAtStart, 'base' | 'branch'>,
  commits: readonly string[],
  keepIn: string,
): void {
  const kept = commits.map(commit => `update ${keepIn}/${commit} ${commit}`);
  const ask = (args: readonly string[], input = '') => {
    const { code, errors } = git.ask(args, input);
    if (code !== 0) throw new Error(complaint(errors, code));
  };
  const ref = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  const now = git.ask(['rev-parse', '--verify', '--quiet', ref], '').stdout.toString().trim();
  if (now !== '' && now !== base && !commits.includes(now))
    throw new Error('somebody else has just committed there: nothing is taken back');
  const back = [
    ...(branch === undefined ? ['option no-deref'] : []),
    `update ${ref} ${base} ${now || '0'.repeat(base?.length ?? 40)}`,
  ];
  ask(['update-ref', '--stdin'], `${[...kept, ...back].join('\n')}\n`);
  if (branch !== undefined) ask(['symbolic-ref', 'HEAD', `refs/heads/${branch}`]);
}
