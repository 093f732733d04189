/**
 * Everything that changed since a run began, as one diff, committed or not. Ralph's own git directory says which paths differ; only
 * those go into two small trees, and git compares the two. The user's index and objects stay as they are.
 */
import { StringDecoder } from 'node:string_decoder';
import { isProblem, type Problem } from '../domain/problem.ts';
import { complaint } from '../platform/git.ts';
import { type Changes, findChanges, type Since } from './changes.ts';
import { openOwnGit } from './own-git.ts';
import type { Place } from './repository.ts';
import { readStatus, type TreeStatus } from './tree-status.ts';

export interface DiffOptions extends Place, Since {
  /** The most that is shown of it; a line that says what is missing comes on top. */
  readonly maxChars: number;
  /** A status that was just read with the same `exclude`, to save another. */
  readonly status?: TreeStatus;
}

export async function accumulatedDiff(options: DiffOptions): Promise<Excerpt | Problem> {
  const status = options.status ?? (await readStatus(options));
  if ('what' in status) return status;
  const changes = await findChanges(status, options);
  if ('what' in changes) return changes;
  const excerpt = startExcerpt(options.maxChars);
  const trouble = changes.handed > 0 ? await compare(status, changes, excerpt.read) : undefined;
  if (trouble) return { where: options.cwd, what: `git cannot show the changes: ${trouble}` };
  for (const remark of changes.remarks) excerpt.remark(remark);
  return excerpt.end(changes);
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
  '--patch',
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--no-relative',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--unified=3',
  '--inter-hunk-context=0',
  '--diff-algorithm=myers',
  '--ignore-submodules=all',
  '--find-renames',
  '-l200',
  '-O/dev/null',
];

/** Shows the changes to `read`; says what went wrong, if something did. */
async function compare(
  { own }: TreeStatus,
  { before, after }: Changes,
  read: (chunk: Buffer) => 'more' | 'enough',
): Promise<string | undefined> {
  const [old, current] = await Promise.all([own.writeTree(before), own.writeTree(after)]);
  if (isProblem(old)) return old.what;
  if (isProblem(current)) return current.what;
  const { code, errors } = await own.objects.stream(['diff-tree', '-r', ...FLAGS, old, current], read);
  return code === 0 ? undefined : complaint(errors, code);
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

export function startExcerpt(maxChars: number) {
  const decoder = new StringDecoder('utf8');
  let text = '';
  let chars = 0;
  let remarks = 0;
  const add = (piece: string) => {
    if (text.length < maxChars + 1) text += piece.slice(0, maxChars + 1 - text.length);
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
    /** `handed` is how many files the diff is of, `left` how many it does not even begin with. */
    end({ handed, left }: Pick<Changes, 'handed' | 'left'>): Excerpt {
      const isLonger = chars > maxChars;
      if (!isLonger && left === 0) return { text, cut: false, chars };
      const shown = isLonger ? wholeLines(text, maxChars) : text;
      const files = (isLonger ? handed + remarks - filesIn(shown) : 0) + left;
      const uncounted = chars > maxChars + COUNTED || left > 0;
      const notice = cutNotice(chars - shown.length, files, uncounted);
      return { text: `${shown}${notice}\n`, cut: true, chars };
    },
  };
}

/** Cut where a line ends, unless a very long line would be lost by that. */
function wholeLines(text: string, maxChars: number): string {
  const end = text.lastIndexOf('\n', maxChars - 1) + 1;
  if (end * 4 >= maxChars * 3) return text.slice(0, end);
  const half = /[\ud800-\udbff]$/.test(text.slice(0, maxChars)) ? 1 : 0;
  return `${text.slice(0, maxChars - half)}\n`;
}

/** Every line of content has a sign before it: only headers and remarks begin so. */
function filesIn(text: string): number {
  return text.match(/^(diff --git |rename from |new: |changed: )/gm)?.length ?? 0;
}

function cutNotice(chars: number, files: number, uncounted: boolean): string {
  const much = `${uncounted ? 'more than ' : ''}${Math.max(0, chars)} characters`;
  const many =
    files > 0 ? `, among them ${files} ${files === 1 ? 'file' : 'files'} of which nothing is shown` : '';
  return `[the diff is cut here: ${much} are missing${many}]`;
}
