/** Finds tags in words as they come, in bounded memory, and says of each where it stands: for itself, or in what only talks about it. */

/**
 * Where a tag stands: as a sentence of its own (`said`), within an English one that does not make it none, in what only shows it, or in a
 * sentence that makes it no statement, or that nobody here can read.
 */
export type Place = 'said' | 'within' | 'quoted' | 'fenced' | 'negated' | 'postponed' | 'asked' | 'unread';

export interface Tag {
  /** The tag as it was written. */
  readonly whole: string;
  readonly content: string;
  /** Looked for when it is asked. */
  place(): Place;
}

export interface TagScanner {
  /** More words, continuing where the last piece ended. */
  feed(text: string): void;
  /** A message has ended: neither a tag nor a code block continues in the next one. */
  boundary(): void;
}

interface TagSink {
  /** A well-formed tag, the innermost one where they nest. Answer `enough` to hear of no more. */
  found(tag: Tag): 'enough' | undefined;
  /** A message ended with a tag still open. */
  unclosed?(): void;
}

/** An opening without an end is given up after this much; twice as much is kept at most. */
const LONGEST = 65_536;

/** What may stand behind the name of a tag that has some. */
export const ATTRIBUTES = '(?:\\s[^<>]*)?';

export function createTagScanner(name: string, sink: TagSink, attributes = ''): TagScanner {
  let pending = '';
  let layout = newLayout();
  let enough = false;
  const read = (isLast: boolean) => {
    const { tags, open } = tagsIn(pending, new RegExp(`</?${name}${attributes}>`, 'gi'));
    const end = isLast ? pending.length : cutOf(pending, open);
    const text = pending.slice(0, end);
    pending = pending.slice(end);
    const isPlain = tags.length === 0 && open < 0 && (isLast || keepsLayout(text, layout));
    const blocks = isPlain ? [] : blocksOf(text, layout, isLast);
    let at = 0;
    const placeOf = (span: Span) => {
      while ((blocks[at]?.end ?? Number.POSITIVE_INFINITY) <= span.start) at++;
      return placeIn(text, name, span, blocks[at]);
    };
    for (const tag of tags) {
      if (enough || tag.end > end) break;
      const [whole, content] = [text.slice(tag.start, tag.end), text.slice(tag.from, tag.to)];
      enough = sink.found({ whole, content, place: () => placeOf(tag) }) === 'enough';
    }
    if (!isLast || open < 0 || enough) return;
    // Whoever only names the tag, in a code span, has not opened one.
    if (!isMention(placeOf({ start: open, end: open + name.length + 2 }))) sink.unclosed?.();
  };
  return {
    feed(text) {
      if (enough) return;
      pending += text;
      if (pending.length > 2 * LONGEST) read(false);
    },
    boundary() {
      if (pending !== '') read(true);
      layout = newLayout();
    },
  };
}

/** Whatever the sentence around it says. */
export function isMention(place: Place): boolean {
  return place === 'quoted' || place === 'fenced';
}

/** By all that is known of the sentence around it. */
export function isStated(place: Place): place is 'said' | 'within' {
  return place === 'said' || place === 'within';
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface FoundTag extends Span {
  /** Its content. */
  readonly from: number;
  readonly to: number;
}

/** The whole tags of a text, and where one is still open at its end; -1: none is. */
function tagsIn(text: string, tag: RegExp): { readonly tags: readonly FoundTag[]; readonly open: number } {
  const tags: FoundTag[] = [];
  if (!text.includes('<')) return { tags, open: -1 };
  let opening: Span | undefined;
  // A test makes no array of what it finds, and there may be thousands.
  while (tag.test(text)) {
    const end = tag.lastIndex;
    const start = text.lastIndexOf('<', end - 1);
    if (text[start + 1] !== '/') opening = { start, end };
    else if (opening) {
      tags.push({ start: opening.start, from: opening.end, to: start, end });
      opening = undefined;
    }
  }
  return { tags, open: opening?.start ?? -1 };
}

/** How much of a long text can be read now: up to a paragraph, or a line, and not beyond a tag that may still end. */
function cutOf(text: string, open: number): number {
  const least = text.length - LONGEST;
  const rest = text.slice(least);
  const places = [rest.lastIndexOf('\n\n') + 1, rest.lastIndexOf('\n') + 1, rest.lastIndexOf('<')].map(
    place => place + least,
  );
  const cut = places.find(place => place > least) ?? text.length;
  if (open < least || open >= cut) return cut;
  const line = text.lastIndexOf('\n', open) + 1;
  return line > least ? line : open;
}

/** What the lines before mean for the next one, as Markdown has it. */
interface Layout {
  fence: Fence | undefined;
  /** Behind an empty line, or in code: a line that is indented far enough is code. */
  mayIndent: boolean;
  /** How far the content of the list is indented that is open; 0: none is. */
  listIndent: number;
}

interface Fence {
  readonly mark: string;
  readonly isQuoted: boolean;
  /** Whether a line further down ends it. Where none does, an empty line has to: else one lost fence would hide every claim behind it. */
  readonly hasEnd: boolean;
}

const newLayout = (): Layout => ({ fence: undefined, mayIndent: true, listIndent: 0 });

/** Nothing in it opens or ends a code block. */
function keepsLayout(text: string, { fence }: Layout): boolean {
  return !fence?.isQuoted && !text.includes('```') && !text.includes('~~~');
}

type LineKind = 'fenced' | 'quoted' | 'blank' | 'item' | 'text';

/** Lines that belong together. */
interface Block {
  readonly kind: LineKind;
  readonly start: number;
  end: number;
}

function blocksOf(text: string, layout: Layout, isLast: boolean): readonly Block[] {
  const blocks: Block[] = [];
  const hasEnd = (mark: string, from: number) =>
    !isLast || new RegExp(`^[ \\t>]*${mark}${mark[0]}*[ \\t]*$`, 'm').test(text.slice(from));
  if (layout.fence) layout.fence = { ...layout.fence, hasEnd: hasEnd(layout.fence.mark, 0) };
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline + 1;
    const kind = kindOf(text.slice(start, end).trimEnd(), layout, mark => hasEnd(mark, end));
    const last = blocks.at(-1);
    if (kind === 'text' && (last?.kind === 'text' || last?.kind === 'item')) last.end = end;
    else blocks.push({ kind, start, end });
    start = end;
  }
  return blocks;
}

const FENCE = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}(?=[^`]*$)|~{3,})/;
const FENCE_END = /^[ \t>]*(`{3,}|~{3,})$/;
const QUOTE = /^(?:[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t])*>/;
const ITEM = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+/;

function kindOf(line: string, layout: Layout, hasEnd: (mark: string) => boolean): LineKind {
  const { fence } = layout;
  // A code block in a quotation ends with it.
  if (fence && (!fence.isQuoted || QUOTE.test(line)) && (fence.hasEnd || line !== '')) {
    if (FENCE_END.exec(line)?.[1]?.startsWith(fence.mark)) layout.fence = undefined;
    return 'fenced';
  }
  layout.fence = undefined;
  const wasApart = layout.mayIndent;
  layout.mayIndent = true;
  if (line === '') return 'blank';
  const indent = widthOf(/^[ \t]*/.exec(line)?.[0]);
  if (wasApart && indent >= layout.listIndent + 4) return 'fenced';
  const mark = FENCE.exec(line)?.[1];
  if (mark !== undefined) {
    layout.fence = { mark, isQuoted: QUOTE.test(line), hasEnd: hasEnd(mark) };
    return 'fenced';
  }
  layout.mayIndent = false;
  if (QUOTE.test(line)) return 'quoted';
  const item = ITEM.exec(line)?.[0];
  if (item !== undefined) layout.listIndent = widthOf(item);
  else if (wasApart && indent === 0) layout.listIndent = 0;
  // A heading is one line, too.
  if (/^ {0,3}#{1,6} /.test(line)) layout.mayIndent = true;
  return item === undefined && !layout.mayIndent ? 'text' : 'item';
}

const widthOf = (space = '') => space.replaceAll('\t', '    ').length;

/** As much around a tag is looked at, by whole lines where there are any: a quotation that is cut in two would look open. */
const AROUND = 2_000;

function linesBefore(text: string, from: number, to: number): string {
  if (to - from <= AROUND) return text.slice(from, to);
  const line = text.indexOf('\n', to - AROUND) + 1;
  return text.slice(line > 0 && line <= to ? line : to - AROUND, to);
}

function linesAfter(text: string, from: number, to: number): string {
  if (to - from <= AROUND) return text.slice(from, Math.max(from, to));
  const line = text.lastIndexOf('\n', from + AROUND);
  return text.slice(from, line >= from ? line : from + AROUND);
}

function placeIn(text: string, name: string, { start, end }: Span, block: Block | undefined): Place {
  if (!block) return 'said';
  if (block.kind === 'fenced' || block.kind === 'quoted') return block.kind;
  const before = linesBefore(text, block.start, start);
  const after = linesAfter(text, end, block.end);
  if (isQuoted(before, after)) return 'quoted';
  // Another tag ends the sentence.
  const own = before.split(new RegExp(`</${name}>`, 'i')).at(-1) ?? '';
  return sentencePlace(own, after.split(new RegExp(`<${name}>`, 'i'))[0] ?? '');
}

/** Pairs of which the first opens and the second closes, wherever they stand in a paragraph. */
const PAIRS = ['“”', '«»', '‹›', '„“', '„”', '「」'].map(pair => [...pair] as [string, string]);
const ANY_QUOTE = '["\'“”‘’«»‹›„‚「」]';
const HTML_QUOTE = /<(code|pre|kbd|samp|q|blockquote|del|s)\b[^<>]*>(?![\s\S]*<\/\1>)/gi;

/** Somebody else's words, or code. */
function isQuoted(before: string, after: string): boolean {
  const count = (mark: string) => before.split(mark).length - 1;
  return (
    isInCodeSpan(before, after) ||
    ['"', '~~'].some(mark => count(mark) % 2 === 1 && after.includes(mark)) ||
    PAIRS.some(([open, close]) => isOpen(before, open, close) && after.includes(close)) ||
    (isOpen(before, '<!--', '-->') && after.includes('-->')) ||
    [...before.matchAll(HTML_QUOTE)].some(([, name]) =>
      after.toLowerCase().includes(`</${name?.toLowerCase()}>`),
    ) ||
    // An apostrophe is one, too: only where it begins a word, and another ends one.
    (/(?:^|[\s([:])'(?=\S)(?:[^'\n]|'\w)*$/.test(before) && /^(?:[^'\n]|'\w)*'(?!\w)/.test(after)) ||
    (new RegExp(`${ANY_QUOTE}\\s?$`).test(before) && new RegExp(`^\\s?${ANY_QUOTE}`).test(after))
  );
}

function isOpen(before: string, open: string, close: string): boolean {
  return before.lastIndexOf(open) > before.lastIndexOf(close);
}

/** A run of backticks opens a code span that the next run of the same length closes. */
function isInCodeSpan(before: string, after: string): boolean {
  const runs = [...before.matchAll(/\\`|`+/g)].map(([run]) => run);
  const behind = new Set([...after.matchAll(/`+/g)].map(([run]) => run));
  for (let at = 0; at < runs.length; at++) {
    const run = runs[at] ?? '';
    const close = runs.indexOf(run, at + 1);
    if (run.startsWith('\\')) continue;
    if (close >= 0) at = close;
    else if (behind.has(run)) return true;
  }
  return false;
}

const SENTENCE_END = /(?<!\b\p{L}\.\p{L})[.!?;…](?=["'”’»)\]*_~`]*(?:\s|$))/u;
/** In place of the tag. */
const TAG = '\u0000';

/** What the sentence around the tag makes of it. On a line of its own it stands for itself. */
function sentencePlace(before: string, after: string): Place {
  const [head = '', tail = ''] = [before.split('\n').at(-1), after.split('\n')[0]];
  const line = head + tail;
  if (!WORDS.test(line.replace(ITEM, ''))) return QUESTION.test(line) ? 'asked' : 'said';
  if (isOwnSentence(bare(head), bare(tail))) return 'said';
  const end = SENTENCE_END.exec(continued(after));
  if (end?.[0] === '?' && !startsAnew(after)) return 'asked';
  const begin = leading(before, line).split(SENTENCE_END).at(-1) ?? '';
  const rest = startsAnew(after) ? '' : continued(after).slice(0, end?.index);
  const sentence = `${begin}${TAG}${rest}`.replace(/\s+/g, ' ');
  if (NEGATED.test(sentence)) return 'negated';
  if (POSTPONED.test(sentence)) return 'postponed';
  if (ASKED.test(sentence)) return 'asked';
  return isRead(sentence) ? 'within' : 'unread';
}

/** One of its commonest words, which no other large language has. */
const ENGLISH =
  /\b(?:the|this|that|these|those|its?|are|were|be|been|have|had|you|our|and|but|with|from|all|every\w*|each|both|now|here|there|what|which|nothing|left|done|yes|once|finally|finished|completed|(?:task|work|job) complete|ready|fixed|works|worked|pass(?:e[sd])?|result)\b/i;
/** A letter or one of the commonest words of another large language, which English does not have: its sentence may say anything. */
const FOREIGN =
  /(?![a-z])\p{L}|\b(?:das|der|dem|den|ein|eine|ich|ist|noch|sobald|und|wenn|werde|wird|le|les|une|est|je|ne|que|quand|sera|el|los|las|una|cuando|es|para|se|quando|uma|che|gli|il|sono|het|een|ik|nog|wanneer|wordt|zodra)\b/iu;
const OTHER_SCRIPT = /(?!\p{Script=Latin})\p{L}/u;
/** A name of what follows: not more than two words, as in `Final answer:`. */
const LABEL = /^(?:[^\p{L}]*[A-Za-z]+){0,2}[^\p{L}]*$/u;

/** Whether nothing shows that it is not English, as far as that matters: what stands behind a tag that begins it says less. */
function isRead(sentence: string): boolean {
  const [before = ''] = sentence.replace(/<\/?[\w-]+>/g, '').split(TAG);
  return (
    !OTHER_SCRIPT.test(sentence) && (LABEL.test(before) || ENGLISH.test(sentence) || !FOREIGN.test(sentence))
  );
}

const WORDS = /[\p{L}\p{N}]/u;
const QUESTION = /[?？؟]/;
/** What ends a sentence in any language; a colon and the like do not. */
const FULL_STOP = /(?<!\b\p{L}\.\p{L})[.!?؟](?=["'”’»)\]*_~`]*(?:\s|$))|[。！？।]/u;

/** Other tags are no words. */
const bare = (line: string) => line.replace(/<([\w-]+)(?:\s[^<>]*)?>[^<>]*<\/\1\s*>/g, '');

/** Nothing else is in it, whatever its language. */
function isOwnSentence(head: string, tail: string): boolean {
  const end = FULL_STOP.exec(tail);
  const around = `${head.split(FULL_STOP).at(-1)}${tail.slice(0, end?.index)}`;
  return !WORDS.test(around) && !QUESTION.test(end?.[0] ?? '');
}

/** Behind a tag a capital letter begins a sentence. */
const startsAnew = (after: string) => /^["'”’»)\]*_~`]*\s+[^\p{L}\p{N}]*\p{Lu}/u.test(after);

/** A line that begins with a small letter continues the one before. */
function continued(after: string): string {
  return after.split(/\n(?!\s*\p{Ll})/u)[0] ?? '';
}

function leading(before: string, line: string): string {
  const lines = before.split('\n');
  let from = lines.length - 1;
  for (let own = line; from > 0 && /^\s*\p{Ll}/u.test(own); own = lines[from] ?? '') from--;
  return lines.slice(from).join('\n');
}

/** In other languages what denies in two words, which may be a label. */
const NEGATED = new RegExp(
  `\\b(?:not|nor|never|neither|cannot|unable|nicht|kein\\w*|pas|jamais|non(?!-)|todavia|nunca|niet|geen|premature\\w*|too early|a lie|lying|untrue|is false|(?:ca|do|wo|is|are|was|does|did|have|has|would|could|should)nt)\\b|n['’]t\\b|\\bno(?: \\w+)? ?${TAG}|\\b(?:without|instead of|rather than|far from|short of|refus\\w*|declin\\w*|withh\\w*|hold\\w* off)(?: \\w+){0,3} ?${TAG}`,
  'i',
);
/** Words of which the clause says when, or on what terms. */
const WHEN =
  'after|before|following|pending|provided|providing|assuming|subject to|as long as|in case|the moment|by the time';
/** A sentence that is nothing but such a clause, and the tag: behind a comma it may have one of its own. */
const ONLY_WHEN = `^\\W*(?:${WHEN}|later|soon|eventually|tomorrow|todo)\\b[^,${TAG}]*,?[^\\w,${TAG}]*${TAG}`;
const POSTPONED = new RegExp(
  `\\b(?:will|i shall|we shall|as soon as|going to|gonna|about to|(?:plan|intend|want|hope|aim) to|when|whenever|until|till|unless|if|yet|(?<!\\bat )once(?= (?!more\\b|again\\b)\\w)|would|(?:later|soon|eventually),? (?:i|we)|only after|only then|at the end|next (?:turn|iteration|time))\\b|['’](?:ll|d)\\b|${TAG}.*\\b(?:later|soon|eventually|tomorrow)\\b|${TAG} (?:only )?(?:${WHEN})\\b|\\bbefore (?:(?:i|we|you)\\b[^${TAG}]*)?${TAG}|${ONLY_WHEN}`,
  'i',
);
const ASKED = /\b(?:should|shall|can|could|may|must|do) (?:i|we)\b|\bwhether\b/i;
