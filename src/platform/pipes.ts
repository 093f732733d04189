/** Named pipes where git expects a file: it would wait there for as long as whoever made them likes. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tryTo } from './files.ts';

/** Milliseconds. A git that takes longer may be waiting. */
const LOOK_EVERY = 2_000;

/** Calls `stop`, once, with the sentence for the user, where git works in `cwd` and waits. Returns how to end the watch. */
export function watchPipes(cwd: string, stop: (why: string) => void): () => void {
  const timer = setInterval(() => {
    const pipe = pipeNear(cwd);
    if (pipe === undefined) return;
    clearInterval(timer);
    stop(`${pipe} is a named pipe, and git waits for it: remove it`);
  }, LOOK_EVERY);
  return () => clearInterval(timer);
}

function pipeNear(cwd: string): string | undefined {
  const top = topOf(cwd);
  const [inTree] = pipes(top, '.git', name => READ_IN_TREES.has(name));
  return inTree ?? gitFolders(join(top, '.git')).flatMap(folder => [...pipes(folder, 'objects')])[0];
}

const READ_IN_TREES: ReadonlySet<string> = new Set(['.gitignore', '.gitattributes', '.gitmodules']);

function topOf(folder: string): string {
  return existsSync(join(folder, '.git')) || dirname(folder) === folder ? folder : topOf(dirname(folder));
}

/** Of a worktree the directory of its own, and the one that all share. */
function gitFolders(path: string): readonly string[] {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return [path];
  const [, to] = /^gitdir: (.+)$/m.exec(tryTo(() => readFileSync(path, 'utf8')) ?? '') ?? [];
  return to === undefined ? [] : [resolve(dirname(path), to), resolve(dirname(path), to, '../..')];
}

const MOST_FOLDERS = 50_000;

function* pipes(top: string, passedBy: string, isMeant = (_: string) => true): Generator<string> {
  const folders = [top];
  for (let looked = 0; folders.length > 0 && looked < MOST_FOLDERS; looked++) {
    const folder = folders.pop() ?? top;
    for (const entry of tryTo(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
      const path = join(folder, entry.name);
      if (entry.isFIFO() && isMeant(entry.name)) yield path;
      if (entry.isDirectory() && entry.name !== passedBy) folders.push(path);
    }
  }
}
