/** Conflicts of a merge: what kind they are, what each side did, and what of them nobody has decided yet. Plain data. */
import { list, maybe, partOf, record, text } from '../run/shape.ts';
import { createTagScanner, isMention } from '../turn/spoken-tags.ts';

export type ConflictKind =
  | 'text'
  | 'binary'
  | 'mode'
  | 'type'
  | 'submodule'
  | 'delete/change'
  | 'rename/rename'
  | 'rename/delete'
  | 'file/folder'
  | 'folder renamed'
  | 'other';

/** A file of a tree: what git calls its mode and its content. */
export interface FileEntry {
  readonly mode: string;
  readonly oid: string;
}

export interface ConflictPath {
  readonly path: string;
  /** What git has put there; absent: nothing. */
  readonly left?: FileEntry;
  /** Before both sides, in what has landed, and in the work of the lane; absent: it is not there. */
  readonly base?: FileEntry;
  readonly landed?: FileEntry;
  readonly own?: FileEntry;
}

/** One thing to decide, and all paths that it is about. */
export interface Conflict {
  readonly kind: ConflictKind;
  readonly paths: readonly ConflictPath[];
}

const entry = maybe(partOf<FileEntry>(record({ mode: text, oid: text })));

export const conflict = partOf<Conflict>(
  record({
    kind: text,
    paths: list(
      partOf<ConflictPath>(record({ path: text, left: entry, base: entry, landed: entry, own: entry })),
    ),
  }),
);

export function pathsOf(conflicts: readonly Conflict[]): readonly string[] {
  return [...new Set(conflicts.flatMap(({ paths }) => paths.map(({ path }) => path)))];
}

/** All of them; of two about the same path the later one counts. */
export function withConflicts(
  before: readonly Conflict[] = [],
  later: readonly Conflict[] = [],
): readonly Conflict[] {
  const paths = new Set(pathsOf(later));
  return [...before.filter(({ paths: own }) => !own.some(({ path }) => paths.has(path))), ...later];
}

/** Without those that an agent has named a path of, to keep it as it is. A name that git made up cannot be kept. */
export function withoutKept(
  conflicts: readonly Conflict[],
  keeps: readonly string[] = [],
): readonly Conflict[] {
  return conflicts.filter(({ paths }) => !paths.some(({ path }) => keeps.includes(path) && !isMadeUp(path)));
}

const MADE_UP = /~[0-9a-f]{40,64}(_\d+)?(?=\/|$)/;

/** Git puts a file that has no place of its own under such a name. */
export function isMadeUp(path: string): boolean {
  return MADE_UP.test(path);
}

/**
 * How many marks of conflicts a text has: one for each that is whole, and one for each line with the name of a commit, as Ralph's merges
 * write it, also where the lines that belong to it are gone.
 */
export function countMarks(text: string): number {
  if (!ANY_MARK.test(text)) return 0;
  let count = 0;
  let next = 0;
  for (const line of text.split(/\r?\n/)) {
    if (NAMED_MARK.test(line)) count++;
    // An opening line begins anew: of what was never closed nothing is left.
    if (WHOLE[0].test(line)) next = 1;
    else if (next > 0 && WHOLE[next]?.test(line)) next++;
    if (next < WHOLE.length) continue;
    next = 0;
    count++;
  }
  return count;
}

/** Seven, or as many as .gitattributes has. */
const WHOLE = [/^<{7,} /, /^={7,}$/, /^>{7,} /] as const;
const ANY_MARK = /^[<>|]{7,} /m;
const NAMED_MARK = /^(?:<{7,}|>{7,}|\|{7,}) (?:[0-9a-f]{40}|[0-9a-f]{64})(?::|$)/;

/** Those of which every path is as git has left it. `now`: what is there, by path. */
export function undecidedIn(
  conflicts: readonly Conflict[],
  now: ReadonlyMap<string, FileEntry>,
): readonly Conflict[] {
  const isLeft = ({ path, left }: ConflictPath) => {
    const there = now.get(path);
    return there?.oid === left?.oid && there?.mode === left?.mode;
  };
  return conflicts.filter(({ paths }) => paths.every(isLeft));
}

/** What the agent says to keep a file as git has left it. */
export const KEEP_TAG = 'keep';

/** Nobody says more; a stream that does says nothing. */
const MOST = 1_000;

/** Finds in words, as they stream by, which files the agent keeps as they are. */
export function createKeepScanner() {
  const keeps: string[] = [];
  const scanner = createTagScanner(KEEP_TAG, {
    found({ content, place }) {
      const path = content.trim().replace(/^\.\//, '');
      if (path !== '' && !isMention(place())) keeps.push(path);
      return keeps.length < MOST ? undefined : 'enough';
    },
  });
  return {
    ...scanner,
    /** What has been said, when the turn is over. */
    said(): readonly string[] | undefined {
      scanner.boundary();
      return keeps.length > 0 ? keeps : undefined;
    },
  };
}

/** For the agent that has to decide them. Its own way out holds no path, so that whoever prints the prompt back has kept nothing. */
export function conflictWords(conflicts: readonly Conflict[]): string {
  const lines = conflicts.map(each => `- ${oneWords(each)}`).join('\n');
  return `Decide each of these conflicts, keeping what both sides want:\n${lines}\nA conflict is open while its file is exactly as the merge left it. To keep one exactly so, say it in your answer, with its path in place of PATH: <${KEEP_TAG}>PATH</${KEEP_TAG}>`;
}

function oneWords({ kind, paths }: Conflict): string {
  const of = (side: 'base' | 'landed' | 'own') => paths.find(each => each[side])?.path;
  const [first] = paths;
  const path = first?.path ?? '';
  const show = (side: 'landed' | 'own') => `\`git cat-file -p ${first?.[side]?.oid}\``;
  switch (kind) {
    case 'text':
      return first?.base
        ? `${path} (text): both changed the same lines. The conflict marks are in the file: solve them.`
        : `${path} (text): both added it, with different content. The conflict marks are in the file: solve them.`;
    case 'binary':
      return `${path} (binary): both ${first?.base ? 'changed' : 'added'} it, and it cannot be merged line by line. There is the one that has landed; ${show('own')} prints yours.`;
    case 'mode':
      return `${path} (mode): what has landed has it as ${modeWords(first?.landed)}, this work as ${modeWords(first?.own)}. There is ${modeWords(first?.left)}.`;
    case 'submodule':
      return `${path} (submodule): what has landed is at ${first?.landed?.oid ?? 'nothing'}, this work at ${first?.own?.oid ?? 'nothing'}. There is ${first?.left?.oid ?? 'nothing'}.`;
    case 'delete/change':
      return first?.landed
        ? `${path} (delete/change): this work deleted it, what has landed changed it. The changed file is there: keep it, change it or delete it.`
        : `${path} (delete/change): what has landed deleted it, this work changed it. The changed file is there: keep it, change it or delete it.`;
    case 'rename/rename':
      return `${of('base')} (rename/rename): what has landed renamed it to ${of('landed')}, this work to ${of('own')}. Both are there: keep one of them, and what both sides changed in it.`;
    case 'rename/delete':
      return of('landed')
        ? `${of('landed')} (rename/delete): what has landed renamed it so, this work deleted it. It is there: keep it, change it or delete it.`
        : `${of('own')} (rename/delete): this work renamed it so, what has landed deleted it. It is there: keep it, change it or delete it.`;
    case 'file/folder':
    case 'type':
      return `${path.replace(MADE_UP, '')} (${kind}): ${of('landed') === path ? 'what has landed' : 'this work'} has a file under this name, ${of('landed') === path ? 'this work' : 'what has landed'} ${kind === 'type' ? 'a link or another type of file' : 'a folder'}. The file was put under ${path}, a name that cannot land: rename it, or delete it.`;
    case 'folder renamed':
      return `${path} (folder renamed): one side added it in a folder that the other side renamed. Leave it there, or move it.`;
    default:
      return `${paths.map(each => each.path).join(', ')} (conflict): both sides changed it, and git could not merge it.`;
  }
}

function modeWords(file: FileEntry | undefined): string {
  if (file?.mode === '100755') return 'a program (executable)';
  return file?.mode === '100644' ? 'a plain file (not executable)' : `mode ${file?.mode ?? 'none'}`;
}
