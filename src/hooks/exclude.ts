/** Keeps the state files of loops out of `git add --all`, by the list that git has for what is one user's own. */
import { appendFileSync, lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ensureFolder, readIfThere, tryTo } from '../platform/files.ts';
import { SESSION_FILES } from '../store/session-file.ts';

/** Never the reason that a loop does not start. */
export function keepOutOfCommits(root: string): void {
  tryTo(() => {
    const folder = gitFolder(root);
    if (folder === undefined) return;
    const list = join(folder, 'info/exclude');
    const there = lstatSync(list, { throwIfNoEntry: false });
    if (there && !there.isFile()) return; // a link may lead anywhere
    const line = `**/${SESSION_FILES}`;
    const text = readIfThere(list) ?? '';
    if (text.split('\n').includes(line)) return;
    ensureFolder(dirname(list));
    appendFileSync(list, `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`);
  });
}

/** The repository's own folder, which its worktrees share; undefined: there is none that is surely its own. */
function gitFolder(root: string): string | undefined {
  for (let top = root; ; top = dirname(top)) {
    const git = join(top, '.git');
    const there = lstatSync(git, { throwIfNoEntry: false });
    if (there?.isDirectory()) return git;
    if (there?.isFile()) return sharedFolder(git);
    if (there || dirname(top) === top) return undefined;
  }
}

/** `.git` of a worktree is a file that names a folder, which must name it, too: anything else may be a trap. */
function sharedFolder(file: string): string | undefined {
  const [, named] = /^gitdir: (.+)$/m.exec(readIfThere(file) ?? '') ?? [];
  if (named === undefined) return undefined;
  const own = resolve(dirname(file), named.trim());
  const back = readIfThere(join(own, 'gitdir'))?.trim();
  const shared = readIfThere(join(own, 'commondir'))?.trim();
  if (back === undefined || shared === undefined || resolve(own, back) !== resolve(file)) return undefined;
  const folder = resolve(own, shared);
  return lstatSync(join(folder, 'HEAD'), { throwIfNoEntry: false })?.isFile() ? folder : undefined;
}
