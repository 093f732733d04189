/** Task lists in Markdown: `- [ ]` items become stories, what is nested below them criteria, what is ticked is said to be done. */
import { type Draft, oneLine } from './import.ts';

export interface MarkdownTasks {
  /** The first heading. */
  readonly title?: string;
  readonly drafts: readonly MarkdownTask[];
}

/** Where an item stands: lines may come and go before it, and others may be ticked. */
interface TaskPlace {
  /** What it says, with its id. */
  readonly text: string;
  /** The how many of those that say the same, from 0. */
  readonly nth: number;
}

export interface MarkdownTask extends Draft {
  readonly place: TaskPlace;
}

interface Item {
  readonly indent: number;
  readonly text: string;
  /** The line of the source, from 0, and where its box begins in that. */
  readonly line: number;
  readonly box: number;
  /** undefined: it has no box. */
  readonly isTicked?: boolean;
}

const ITEM = /^(\s*(?:[-*+]|\d{1,9}[.)])\s+)(?:\[([ xX])\]\s+)?(\S.*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const FENCE = /^\s*(`{3,}|~{3,})(.*)$/;

export function readMarkdownTasks(source: string): MarkdownTasks {
  const { title, tasks } = grow(source);
  return { ...(title !== undefined && { title }), drafts: tasks.map(finish) };
}

/** The list with this task ticked; undefined: it is not there any more. */
export function tickTask(source: string, { text, nth }: TaskPlace): string | undefined {
  const task = grow(source).tasks.find(({ place }) => place.text === text && place.nth === nth);
  if (!task || task.isDone) return task && source;
  const parts = source.split(LINE_END);
  const line = parts[2 * task.line] ?? '';
  parts[2 * task.line] = `${line.slice(0, task.box)}[x]${line.slice(task.box + 3)}`;
  return parts.join('');
}

function grow(source: string): { readonly title: string | undefined; readonly tasks: readonly Growing[] } {
  const tasks: Growing[] = [];
  const counts = new Map<string, number>();
  let title: string | undefined;
  let group: string | undefined;
  let open: Growing | undefined;
  for (const [number, { seen: line }] of linesOf(source).entries()) {
    if (line === undefined) continue;
    const heading = HEADING.exec(line)?.[2];
    if (heading !== undefined) {
      if (title === undefined) title = oneLine(heading);
      else group = oneLine(heading);
      open = undefined;
      continue;
    }
    const item = itemOf(line, number);
    const isBelow = open !== undefined && (item?.indent ?? indentOf(line)) > open.indent;
    if (open && isBelow) addBelow(open, item, line);
    else if (item?.isTicked !== undefined) {
      const nth = counts.get(item.text) ?? 0;
      counts.set(item.text, nth + 1);
      open = begin(item, item.isTicked, group, nth);
      tasks.push(open);
    } else if (line.trim() !== '') open = undefined;
  }
  return { title, tasks };
}

/** All items with a box, as criteria; and the text without them. */
export function readCheckboxes(source: string): {
  readonly criteria: readonly string[];
  readonly text: string;
} {
  const lines = linesOf(source).map(({ raw, seen }) => ({ raw, seen, item: seen && itemOf(seen, 0) }));
  const isBox = ({ item }: (typeof lines)[number]) => item && item.isTicked !== undefined;
  return {
    criteria: lines.filter(isBox).flatMap(({ item }) => (item && item.text !== '' ? [item.text] : [])),
    text: lines
      .filter(line => !isBox(line))
      .map(({ raw, seen }) => (seen ?? raw).trimEnd())
      .join('\n')
      .trim(),
  };
}

interface Growing extends Pick<Item, 'indent' | 'line' | 'box'> {
  readonly place: TaskPlace;
  readonly id: string | undefined;
  readonly title: string;
  readonly isDone: boolean;
  readonly group: string | undefined;
  readonly criteria: string[];
  readonly words: string[];
}

/** `US-001: title`, `[US-001] title`, `**US-001** title`. */
const ID = /^(?:\*\*|\[)?([A-Za-z][A-Za-z0-9]*-\d+)(?:\*\*|\])?\s*[:.–—-]?\s+(\S.*)$/;

function begin({ text, ...item }: Item, isDone: boolean, group: string | undefined, nth: number): Growing {
  const [, id, rest] = ID.exec(text) ?? [];
  // On a screen and in a commit's subject, bold is two asterisks.
  const title = (rest ?? text).replace(/\*\*(?=\S)(.+?)(?<=\S)\*\*/g, '$1');
  return { ...item, place: { text, nth }, id, title, isDone, group, criteria: [], words: [] };
}

function addBelow(open: Growing, item: Item | undefined, line: string): void {
  if (item) open.criteria.push(item.text);
  else if (line.trim() !== '') open.words.push(oneLine(line));
}

function finish({ id, title, isDone, group, criteria, words, place }: Growing): MarkdownTask {
  const description = [...(group === undefined ? [] : [`Part of: ${group}`]), ...words].join('\n');
  return { ...(id !== undefined && { id }), title, isDone, criteria, description, place };
}

function itemOf(seen: string, line: number): Item | undefined {
  const [, before, box, text] = ITEM.exec(seen) ?? [];
  if (before === undefined || text === undefined) return undefined;
  const place = { line, box: before.length, indent: indentOf(seen) };
  return { ...place, text: oneLine(text), ...(box !== undefined && { isTicked: box !== ' ' }) };
}

function indentOf(line: string): number {
  return (/^\s*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;
}

const LINE_END = /(\r\n|\n|\r)/;

interface Line {
  readonly raw: string;
  /** As long as it is, with blanks for comments; undefined: a list in a code block is an example of one. */
  readonly seen: string | undefined;
}

function linesOf(source: string): readonly Line[] {
  const raws = source.split(LINE_END).filter((_, at) => at % 2 === 0);
  const lastEnd = raws.findLastIndex(raw => raw.includes('-->'));
  let fence: string | undefined;
  let isComment = false;
  return raws.map((raw, number) => {
    const [, mark, words = ''] = (isComment ? undefined : FENCE.exec(raw)) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && words.trim() === '') fence = undefined;
      return { raw, seen: undefined };
    }
    if (mark !== undefined) {
      fence = mark;
      return { raw, seen: undefined };
    }
    const blanked = blankComments(raw, isComment, number < lastEnd);
    isComment = blanked.isComment;
    return { raw, seen: blanked.line.replace(/^\uFEFF/, ' ') };
  });
}

/** A comment that begins a line may hide all that follows; within one it needs an end. In a code span it is none. */
function blankComments(raw: string, isInside: boolean, endsLater: boolean) {
  let line = raw;
  let isComment = isInside;
  for (let at = 0; ; ) {
    if (!isComment) {
      const from = beginOfComment(line, at);
      const isFirst = /^\s*$/.test(line.slice(0, from));
      if (from === -1 || !(isFirst || endsLater || line.includes('-->', from))) return { line, isComment };
      isComment = true;
      at = from;
    }
    const end = line.indexOf('-->', at);
    const until = end === -1 ? line.length : end + 3;
    line = line.slice(0, at) + ' '.repeat(until - at) + line.slice(until);
    if (end === -1) return { line, isComment };
    isComment = false;
    at = until;
  }
}

function beginOfComment(line: string, at: number): number {
  for (const match of line.slice(at).matchAll(/`+[^`]*`+|<!--/g))
    if (match[0] === '<!--') return at + match.index;
  return -1;
}
