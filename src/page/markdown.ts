/**
 * The Markdown that agents write, as data. It becomes text nodes and a few harmless elements, never markup: tags, images and scripts
 * in it stay the text that they are. Every step takes time in proportion to the text, whatever it is.
 */
export type Block =
  | { readonly kind: 'heading' | 'quote' | 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Item[] };

export interface Item {
  /** `•`, or its number. */
  readonly sign: string;
  readonly depth: number;
  readonly text: string;
}

export type Span =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em'; readonly spans: readonly Span[] }
  | { readonly kind: 'link'; readonly spans: readonly Span[]; readonly url: string };

const FENCE = /^ {0,3}(```+|~~~+)[^`]*$/;
const HEADING = /^ {0,3}#{1,6} +/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)]) +/;
const DEEPEST = 3;

export function parseBlocks(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let fence: { readonly end: string; readonly lines: string[] } | undefined;
  let isApart = true;
  for (const line of text.split('\n')) {
    const found = FENCE.exec(line)?.[1];
    if (fence) {
      if (found?.startsWith(fence.end) && line.trim() === found) {
        blocks.push({ kind: 'code', text: fence.lines.join('\n') });
        fence = undefined;
      } else fence.lines.push(line);
    } else if (found !== undefined) fence = { end: found, lines: [] };
    else if (line.trim() !== '') add(blocks, line, isApart);
    isApart = line.trim() === '';
  }
  // One that is never closed: its agent may still be writing.
  return fence ? [...blocks, { kind: 'code', text: fence.lines.join('\n') }] : blocks;
}

/** `isApart`: a blank line is before it. */
function add(blocks: Block[], line: string, isApart: boolean): void {
  const last = blocks.at(-1);
  const item = ITEM.exec(line);
  if (HEADING.test(line)) blocks.push({ kind: 'heading', text: line.replace(HEADING, '') });
  else if (item) addItem(blocks, item, line.slice(item[0].length));
  else if (QUOTE.test(line)) append(blocks, 'quote', line.replace(QUOTE, ''), isApart);
  else if (last?.kind === 'list' && (!isApart || line.startsWith('  '))) {
    const items = last.items as Item[];
    const { text, ...before } = items.at(-1) ?? { sign: '•', depth: 0, text: '' };
    items[items.length - 1] = { ...before, text: `${text}\n${line.trim()}` };
  } else append(blocks, 'paragraph', line, isApart);
}

function addItem(blocks: Block[], [, indent = '', number]: RegExpExecArray, text: string): void {
  const item = {
    sign: number === undefined ? '•' : `${number}.`,
    depth: Math.min(DEEPEST, Math.floor(indent.length / 2)),
    text,
  };
  const last = blocks.at(-1);
  if (last?.kind === 'list') (last.items as Item[]).push(item);
  else blocks.push({ kind: 'list', items: [item] });
}

function append(blocks: Block[], kind: 'quote' | 'paragraph', text: string, isApart: boolean): void {
  const last = blocks.at(-1);
  if (last?.kind === kind && !isApart) blocks[blocks.length - 1] = { kind, text: `${last.text}\n${text}` };
  else blocks.push({ kind, text });
}

const MARK = /[`*_[h]/g;
const ADDRESS = /https?:\/\/[^\s<>"'`*)\]]+/y;
const MOST_NESTED = 3;

export function parseSpans(text: string, nested = 0): readonly Span[] {
  const spans: Span[] = [];
  /** Where each sign comes next: looked for once on the way to it. */
  const known = new Map<string, number>();
  let from = 0;
  const close = (sign: string, at: number) => {
    const before = known.get(sign) ?? 0;
    if (before === -1 || before >= at) return before;
    const end = text.indexOf(sign, at);
    known.set(sign, end);
    return end;
  };
  for (let mark = find(text, 0); mark !== -1; ) {
    const found = nested < MOST_NESTED ? spanAt(text, mark, close, nested) : undefined;
    if (found && mark > from) spans.push({ kind: 'text', text: text.slice(from, mark) });
    if (found) {
      spans.push(found.span);
      from = found.end;
    }
    mark = find(text, found?.end ?? mark + 1);
  }
  return from < text.length ? [...spans, { kind: 'text', text: text.slice(from) }] : spans;
}

function find(text: string, from: number): number {
  MARK.lastIndex = from;
  return MARK.exec(text)?.index ?? -1;
}

type Found = { readonly span: Span; readonly end: number } | undefined;
type Close = (sign: string, at: number) => number;

function spanAt(text: string, at: number, close: Close, nested: number): Found {
  switch (text[at]) {
    case '`': {
      const sign = text.startsWith('``', at) ? '``' : '`';
      const end = close(sign, at + sign.length);
      const inner = text.slice(at + sign.length, end);
      if (end === -1 || inner === '') return undefined;
      return { span: { kind: 'code', text: inner }, end: end + sign.length };
    }
    case '*':
    case '_':
      return emphasis(text, at, close, nested);
    case '[':
      return linkAt(text, at, close, nested);
    default: {
      ADDRESS.lastIndex = at;
      const url = ADDRESS.exec(text)?.[0];
      return url === undefined
        ? undefined
        : { span: { kind: 'link', url, spans: [{ kind: 'text', text: url }] }, end: at + url.length };
    }
  }
}

/** `snake_case` and `2 * 3` are none. */
function emphasis(text: string, at: number, close: Close, nested: number): Found {
  const letter = text[at] ?? '';
  const sign = text[at + 1] === letter ? letter + letter : letter;
  if (/\w/.test(text[at - 1] ?? '') || !/\S/.test(text[at + sign.length] ?? '')) return undefined;
  const end = close(sign, at + sign.length + 1);
  if (end === -1 || /\s/.test(text[end - 1] ?? '') || /\w/.test(text[end + sign.length] ?? ''))
    return undefined;
  const spans = parseSpans(text.slice(at + sign.length, end), nested + 1);
  return { span: { kind: sign.length === 2 ? 'strong' : 'em', spans }, end: end + sign.length };
}

const LONGEST_LINK = 2_000;

/** To an address of the web; anything else, such as `javascript:`, stays text. */
function linkAt(text: string, at: number, close: Close, nested: number): Found {
  const middle = close('](', at + 1);
  const end = middle === -1 ? -1 : close(')', middle + 2);
  if (end === -1 || end - at > LONGEST_LINK) return undefined;
  const url = text.slice(middle + 2, end);
  if (!/^https?:\/\/\S+$/.test(url)) return undefined;
  const spans = parseSpans(text.slice(at + 1, middle), Math.max(nested + 1, MOST_NESTED - 1));
  // Words that are an address themselves must not lead to another one.
  if (spans.some(({ kind }) => kind === 'link')) return undefined;
  return { span: { kind: 'link', url, spans }, end: end + 1 };
}
