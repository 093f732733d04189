/**
 * Everything that changed since a run began, as one diff, committed or not: git compares two trees in Ralph's own directory. The user's
 * index and objects stay as they are. Whoever reads it sees no secret: it goes into prompts, files and onto screens.
 */
import { StringDecoder } from 'node:string_decoder';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { createRedactor, type Redact } from '../domain/text/secrets.ts';
import { complaint } from '../platform/git.ts';
import { type Look, notCompared, remarksOn, type Sorted, sortChanges } from './changes.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import { type ChangedPath, readRaw } from './own-objects.ts';
import { LARGE, type Place, shownPath } from './repository.ts';

export interface DiffOptions extends Place {
  /** The commit that the files are compared with. */
  readonly startRef?: string;
  /** A tree in Ralph's own git directory, instead of it. */
  readonly startTree?: string | undefined;
  /** Globs of what is left out, from `cwd`. Ralph's own folder always is. */
  readonly exclude?: readonly string[];
  /** The most that is shown of it; a line that says what is missing comes on top. */
  readonly maxChars: number;
  /** What was just seen with the same `exclude`, to save another look. */
  readonly status?: Look;
}

export async function accumulatedDiff(options: DiffOptions): Promise<Excerpt | Problem> {
  const found = await diffWithPaths(options);
  return isProblem(found) ? found : found.diff;
}

/** With the paths that it is of, for people. */
export async function diffWithPaths(
  options: DiffOptions,
): Promise<{ readonly diff: Excerpt; readonly paths: readonly string[] } | Problem> {
  const { startRef: commit, startTree, exclude = [], maxChars } = options;
  const own = await openOwnGit(options);
  if (isProblem(own)) return own;
  const taken = options.status ?? (await own.snapshot({ exclude }));
  if (isProblem(taken)) return taken;
  const start = startTree ?? (await own.treeOf(commit));
  if (isProblem(start)) return notCompared(commit, start);
  const look = { ...taken, own };
  const excerpt = startExcerpt(maxChars, createRedactor(options.env));
  const sorted = await compare(look, start, exclude, excerpt.read);
  if (isProblem(sorted)) return { ...sorted, where: options.cwd };
  for (const remark of await remarksOn(look, start, sorted)) excerpt.remark(remark);
  const paths = [...sorted.shown, ...sorted.summarized.map(({ change }) => change)];
  return { diff: excerpt.end(sorted.shown.length), paths: paths.map(({ path }) => shownPath(path)) };
}

/** What a run is compared with: the commit of HEAD, or the empty tree before the first commit. */
export async function startRef(place: Place): Promise<string | Problem> {
  const own = await openOwnGit(place);
  if (isProblem(own)) return own;
  const { commit } = await own.head();
  return commit ?? own.treeOf(undefined);
}

/** Whatever a user or an agent has set must not change how the diff looks or what runs to make it. */
const FLAGS = [
  '-z',
  '--raw',
  '--patch',
  '--no-abbrev',
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--no-relative',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--unified=3',
  '--inter-hunk-context=0',
  '--diff-algorithm=myers',
  '--ignore-submodules=none',
  '--submodule=short',
  '--find-renames',
  '-l200',
  '-O/dev/null',
];
/** Nobody is shown more of a file. */
const LIMITS = ['-c', `core.bigFileThreshold=${LARGE}`];

type Read = (chunk: Buffer) => 'more' | 'enough';

/** The last diff of each work tree: what is kept of a turn is what the next prompt begins with. */
const latest = new WeakMap<
  OwnGit,
  { readonly key: string; readonly sorted: Sorted; readonly patch: Buffer }
>();
const MOST_KEPT = 256 * 1024;

/** Shows the changes to `read`. */
async function compare(
  look: Look,
  from: string,
  exclude: readonly string[],
  read: Read,
): Promise<Sorted | Problem> {
  const { own, tree, skipped } = look;
  if (from === tree) return sortChanges(look, []);
  const key = JSON.stringify([from, tree, exclude, skipped]);
  const known = latest.get(own);
  if (known?.key === key) {
    read(known.patch);
    return known.sorted;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  const reader = createReader(look, chunk => {
    size += chunk.length;
    if (size <= MOST_KEPT) chunks.push(chunk);
    return read(chunk);
  });
  const scope = [
    ...exclude.map(glob => `:(exclude,top,glob)${own.prefix}${glob}`),
    `:(exclude,top,literal)${own.root}.ralph`,
  ];
  const { code, errors } = await own.objects.stream(
    [...LIMITS, 'diff-tree', '-r', ...FLAGS, from, tree, '--', ':/', ...scope],
    reader.read,
  );
  if (code !== 0) return { where: '', what: `git cannot show the changes: ${complaint(errors, code)}` };
  reader.end();
  const sorted = reader.sorted();
  if (size <= MOST_KEPT) latest.set(own, { key, sorted, patch: Buffer.concat(chunks) });
  return sorted;
}

/** Reads the list of paths, and then the patch of each; what is summarized in a line is left out. A character for each byte. */
function createReader(look: Look, read: Read) {
  let text = '';
  let sorted: Sorted | undefined;
  let shown: readonly boolean[] = [];
  let section = -1;
  /** Up to `end`, which is no place inside of a heading. */
  const pass = (end: number): 'more' | 'enough' => {
    const piece = text.slice(0, end);
    text = text.slice(end);
    return shown[section] ? read(Buffer.from(piece, 'latin1')) : 'more';
  };
  const readPatch = (): 'more' | 'enough' => {
    for (let at = text.indexOf(HEADING); at >= 0; at = text.indexOf(HEADING)) {
      if (pass(at + 1) === 'enough') return 'enough';
      section++;
      if (pass(HEADING.length - 1) === 'enough') return 'enough';
    }
    return pass(Math.max(0, text.length - HEADING.length));
  };
  return {
    read(chunk: Buffer): 'more' | 'enough' {
      text += chunk.toString('latin1');
      if (sorted) return readPatch();
      const end = text.indexOf('\0\0');
      if (end < 0) return 'more';
      const listed = readRaw(text.slice(0, end).split('\0'));
      sorted = sortChanges(look, listed);
      const isShown = new Set(sorted.shown);
      shown = listed.flatMap(change => Array<boolean>(patchesOf(change)).fill(isShown.has(change)));
      text = `\n${text.slice(end + 2)}`;
      return readPatch();
    },
    end: () => pass(text.length),
    sorted: () => sorted ?? sortChanges(look, []),
  };
}

/** Every line of content has a sign before it: only a patch begins so. */
const HEADING = '\ndiff --git ';

/** What became something else, such as a link, is shown as deleted and as new. */
function patchesOf({ before, after }: ChangedPath): number {
  return before && after && before.mode.slice(0, 3) !== after.mode.slice(0, 3) ? 2 : 1;
}

export interface Excerpt {
  /** When it was cut, the last line says so. */
  readonly text: string;
  readonly cut: boolean;
  /** How long the whole would have been; at least so long where it was too long to be counted. */
  readonly chars: number;
}

/** So far beyond what is shown we still count. */
const COUNTED = 1_000_000;
/** So far beyond it we keep: a secret through which the cut goes is found whole. */
const BEYOND = 10_000;

export function startExcerpt(maxChars: number, redact: Redact) {
  const decoder = new StringDecoder('utf8');
  let text = '';
  let chars = 0;
  let remarks = 0;
  const add = (piece: string) => {
    if (text.length < maxChars + BEYOND) text += piece.slice(0, maxChars + BEYOND - text.length);
    chars += piece.length;
  };
  return {
    read(chunk: Buffer): 'more' | 'enough' {
      add(decoder.write(chunk));
      return chars > maxChars + COUNTED ? 'enough' : 'more';
    },
    /** A line after the diff about one file more. */
    remark(line: string): void {
      remarks++;
      add(`${line}\n`);
    },
    /** `files` is how many the diff is of. */
    end(files: number): Excerpt {
      const clean = redact(text);
      if (chars <= maxChars) return { text: clean, cut: false, chars };
      const shown = wholeLines(clean, maxChars);
      const left = files + remarks - filesIn(shown);
      const notice = cutNotice(chars - shown.length, left, chars > maxChars + COUNTED);
      return { text: `${shown}${notice}\n`, cut: true, chars };
    },
  };
}

/** What whoever reads only this has not seen: lines of content have a sign before them. */
export function unseenIn({ text, cut }: Excerpt): readonly string[] {
  const binary = [...text.matchAll(/^Binary files (?:.* and )?(.*) differ$/gm)].map(
    ([, path = '']) => `${path.replace(/^"?b\//, '').replace(/"$/, '')} (binary, or a NUL byte in a text)`,
  );
  const pointers = [...text.matchAll(POINTER)].map(([, path = '']) => `${path} (content in git-lfs)`);
  const remarks = [...text.matchAll(/^(?:new|changed): (.*)$/gm)].map(([, what = '']) => what);
  const rest = cut ? [/^\[the diff is cut here: (.*)\]$/m.exec(text)?.[1] ?? 'the end of it'] : [];
  return [...binary, ...pointers, ...remarks, ...rest];
}

const POINTER = /^\+\+\+ "?b\/(.*)\n@@ .*\n(?:[ -].*\n)*[+ ]version https:\/\/git-lfs\.github\.com\/spec\//gm;

/** Cut where a line ends, unless a very long line would be lost by that. */
function wholeLines(text: string, maxChars: number): string {
  const end = text.lastIndexOf('\n', maxChars - 1) + 1;
  if (end * 4 >= maxChars * 3) return text.slice(0, end);
  const half = /[\ud800-\udbff]$/.test(text.slice(0, maxChars)) ? 1 : 0;
  return `${text.slice(0, maxChars - half)}\n`;
}

/** Every line of content has a sign before it: only headers and remarks begin so. */
function filesIn(text: string): number {
  return text.match(/^(diff --git |new: |changed: )/gm)?.length ?? 0;
}

function cutNotice(chars: number, files: number, uncounted: boolean): string {
  const much = `${uncounted ? 'more than ' : ''}${Math.max(0, chars)} characters`;
  const many =
    files > 0 ? `, among them ${files} ${files === 1 ? 'file' : 'files'} of which nothing is shown` : '';
  return `[the diff is cut here: ${much} are missing${many}]`;
}
