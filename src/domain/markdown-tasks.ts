/** Task lists in Markdown: `- [ ]` items become stories, what is nested below them criteria, what is ticked is said to be done. */
import { type Draft, oneLine } from './story-import.ts';

export interface MarkdownTasks {
  /** The first heading. */
  readonly title?: string;
  readonly drafts: readonly Draft[];
}

interface Item {
  readonly indent: number;
  readonly text: string;
  /** undefined: it has no box. */
  readonly isTicked?: boolean;
}

const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const FENCE = /^\s*(```|~~~)/;

export function readMarkdownTasks(source: string): MarkdownTasks {
  const drafts: Growing[] = [];
  let title: string | undefined;
  let group: string | undefined;
  let open: Growing | undefined;
  for (const line of linesOutsideCode(source)) {
    const heading = HEADING.exec(line)?.[2];
    if (heading !== undefined) {
      if (title === undefined) title = oneLine(heading);
      else group = oneLine(heading);
      open = undefined;
      continue;
    }
    const item = itemOf(line);
    const isBelow = open !== undefined && (item?.indent ?? indentOf(line)) > open.indent;
    if (open && isBelow) addBelow(open, item, line);
    else if (item?.isTicked !== undefined) {
      open = begin(item, item.isTicked, group);
      drafts.push(open);
    } else if (line.trim() !== '') open = undefined;
  }
  return { ...(title !== undefined && { title }), drafts: drafts.map(finish) };
}

/** All items with a box, as criteria; and the text without them. */
export function readCheckboxes(source: string): {
  readonly criteria: readonly string[];
  readonly text: string;
} {
  const criteria = linesOutsideCode(source).flatMap(line => {
    const item = itemOf(line);
    return item?.isTicked === undefined ? [] : [oneLine(item.text)];
  });
  const rest = withoutComments(source)
    .split('\n')
    .filter(line => itemOf(line)?.isTicked === undefined);
  return { criteria: criteria.filter(each => each !== ''), text: rest.join('\n').trim() };
}

interface Growing {
  readonly indent: number;
  readonly id: string | undefined;
  readonly title: string;
  readonly isDone: boolean;
  readonly group: string | undefined;
  readonly criteria: string[];
  readonly words: string[];
}

/** `US-001: title`, `[US-001] title`, `**US-001** title`. */
const ID = /^(?:\*\*|\[)?([A-Za-z][A-Za-z0-9]*-\d+)(?:\*\*|\])?\s*[:.–—-]?\s+(\S.*)$/;

function begin({ indent, text }: Item, isDone: boolean, group: string | undefined): Growing {
  const [, id, rest] = ID.exec(text) ?? [];
  return { indent, id, title: oneLine(rest ?? text), isDone, group, criteria: [], words: [] };
}

function addBelow(open: Growing, item: Item | undefined, line: string): void {
  if (item) open.criteria.push(oneLine(item.text));
  else if (line.trim() !== '') open.words.push(oneLine(line));
}

function finish({ id, title, isDone, group, criteria, words }: Growing): Draft {
  const description = [...(group === undefined ? [] : [`Part of: ${group}`]), ...words].join('\n');
  return { ...(id !== undefined && { id }), title, isDone, criteria, description };
}

function itemOf(line: string): Item | undefined {
  const [, indent, box, text] = ITEM.exec(line) ?? [];
  if (indent === undefined || text === undefined) return undefined;
  return { indent: indentOf(line), text, ...(box !== undefined && { isTicked: box !== ' ' }) };
}

function indentOf(line: string): number {
  return (/^\s*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;
}

function withoutComments(source: string): string {
  return source
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '');
}

/** A list in a code block is an example of one. */
function linesOutsideCode(source: string): readonly string[] {
  let fence: string | undefined;
  return withoutComments(source)
    .split('\n')
    .filter(line => {
      const mark = FENCE.exec(line)?.[1];
      if (fence === undefined) {
        fence = mark;
        return mark === undefined;
      }
      if (mark === fence) fence = undefined;
      return false;
    });
}

/** The list with the first open item of this title ticked. */
export function tickTask(source: string, title: string): string {
  let isDone = false;
  const tick = (line: string) => {
    const item = isDone ? undefined : itemOf(line);
    if (item?.isTicked !== false || oneLine(item.text) !== title) return line;
    isDone = true;
    return line.replace('[ ]', '[x]');
  };
  return source.split('\n').map(tick).join('\n');
}
