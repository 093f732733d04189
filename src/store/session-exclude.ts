/** The line in a repository that keeps the state files of loops in sessions out of `git add --all`. */
import { appendFileSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { SESSION_FILES } from './session-file.ts';

const LINE = `**/${SESSION_FILES}`;

/** Never the reason that a loop does not start. */
export function keepOutOfCommits(root: string): void {
  tryTo(() => {
    const list = listOf(root);
    if (list === undefined) return;
    const text = readIfThere(list) ?? '';
    if (text.split('\n').includes(LINE)) return;
    ensureFolder(dirname(list));
    appendFileSync(list, `${text === '' || text.endsWith('\n') ? '' : '\n'}${LINE}\n`);
  });
}

/** As if there had never been a loop. */
export function forgetExclusion(root: string): void {
  tryTo(() => {
    const list = listOf(root);
    const before = list === undefined ? undefined : tryTo(() => readFileSync(list));
    if (list === undefined || before === undefined) return;
    // It need not be UTF-8.
    const lines = before.toString('latin1').split('\n');
    const kept = lines.filter(line => line !== LINE);
    if (kept.length < lines.length) writeAtomic(list, Buffer.from(kept.join('\n'), 'latin1'), 0o644);
  });
}

function listOf(root: string): string | undefined {
  const folder = gitFolder(root);
  const list = folder === undefined ? undefined : join(folder, 'info/exclude');
  const there = list === undefined ? undefined : lstatSync(list, { throwIfNoEntry: false });
  return there && !there.isFile() ? undefined : list; // a link may lead anywhere
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
