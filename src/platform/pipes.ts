/** Named pipes where git expects a file: it would wait there for as long as whoever made them likes. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tryTo } from './files.ts';

/** Milliseconds. A git that takes longer may be waiting. To look costs time where there are many files, so it is done seldom. */
const FIRST_LOOK = 2_000;
const SECOND_LOOK = 30_000;

/** Calls `stop`, once, with the sentence for the user, where git works in one of these folders and waits. Returns how to end the watch. */
export function watchPipes(folders: readonly string[], stop: (why: string) => void): () => void {
  const look = () => {
    const pipe = folders.map(pipeNear).find(path => path !== undefined);
    if (pipe !== undefined) stop(`${pipe} is a named pipe, and git waits for it: remove it`);
  };
  const timers = [FIRST_LOOK, SECOND_LOOK].map(after => setTimeout(look, after));
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}

function pipeNear(folder: string): string | undefined {
  if (existsSync(join(folder, 'HEAD'))) return [...pipes(folder, 'objects')][0];
  const top = topOf(folder);
  if (top === undefined) return undefined;
  const [inTree] = pipes(top, '.git', name => READ_IN_TREES.has(name));
  return inTree ?? gitFolders(join(top, '.git')).flatMap(each => [...pipes(each, 'objects')])[0];
}

const READ_IN_TREES: ReadonlySet<string> = new Set(['.gitignore', '.gitattributes', '.gitmodules']);

function topOf(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder;
  return dirname(folder) === folder ? undefined : topOf(dirname(folder));
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
