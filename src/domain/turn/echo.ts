/**
 * An agent without a structured stream may print its prompt back, and a prompt that explains a tag holds that tag. Such a tag is not the
 * agent's own word. It is known by what stands around it: by letters and digits alone, so that colours, boxes, quotes, prefixes and line
 * breaks of any kind make no difference. docs/adr/0039.
 */

export interface Passage {
  readonly text: string;
  readonly isEcho: boolean;
}

export interface EchoFilter {
  /** More of the output, as it is read: without what a reader does not see. What cannot be judged yet is held back. */
  push(text: string): readonly Passage[];
  end(): readonly Passage[];
}

/** As many letters before a tag, or behind it, are the same by no accident. */
const ENOUGH = 10;
/** As many are, where the line before the tag has no more, or the output begins with them. */
const FEWEST = 4;
/** An echo that breaks off shows fewer behind its tag. */
const BROKEN_OFF = 3;
/** Characters of the output that are kept to look back at, or waited for. */
const WINDOW = 4_000;
const LONGEST_PREFIX = 16;
const MOST_TAGS = 200;

/** undefined: the prompt speaks of no such tag. */
export function createEchoFilter(prompt: string, tags: readonly string[]): EchoFilter | undefined {
  const opening = new RegExp(`<(${tags.join('|')})(?:\\s[^<>]{0,200})?>`, 'gi');
  const places = placesOf(prompt, opening);
  if (places.length === 0) return undefined;
  /** What was passed last, to look back at, and from `at` on what is not judged yet. */
  let kept = '';
  let at = 0;
  const nextTag = () => {
    opening.lastIndex = at;
    return opening.exec(kept);
  };
  const read = (isOver: boolean): readonly Passage[] => {
    const passed: Passage[] = [];
    const pass = (from: number, isEcho = false) => {
      if (at > from) passed.push({ text: kept.slice(from, at), isEcho });
      return at;
    };
    let from = at;
    for (let tag = nextTag(); tag; tag = nextTag()) {
      at = tag.index;
      const end = at + tag[0].length;
      const isEcho = judge(places, { tag: nameOf(tag), kept, at, end, isOver });
      if (isEcho === undefined) {
        pass(from);
        return passed;
      }
      if (isEcho) from = pass(from);
      at = isEcho ? at + wholeTag(kept.slice(at), tag) : end;
      if (isEcho) from = pass(from, true);
    }
    const pending = kept.slice(at);
    at += isOver ? pending.length : beforeHalfTag(pending);
    pass(from);
    return passed;
  };
  return {
    push(text) {
      const passed = Math.max(0, at - WINDOW);
      kept = kept.slice(passed) + text;
      at -= passed;
      return read(false);
    },
    end: () => read(true),
  };
}

interface Place {
  readonly tag: string;
  /** Letters before the tag, as many as are looked at; all there are, where there are fewer. */
  readonly before: string;
  /** So many of them are enough: a whole line says it as well. */
  readonly enough: number;
  /** Letters behind the opening tag: its content, the closing tag, and what follows. */
  readonly after: string;
  /** How many of `after` are content and closing tag: those the agent's own tag has, too. */
  readonly own: number;
}

function placesOf(prompt: string, opening: RegExp): readonly Place[] {
  const found = [...prompt.matchAll(opening)].slice(0, MOST_TAGS);
  return found.map(tag => {
    const rest = prompt.slice(tag.index + tag[0].length, tag.index + tag[0].length + WINDOW);
    const end = rest.toLowerCase().indexOf(`</${nameOf(tag)}>`);
    const own = letters(rest.slice(0, end === -1 ? 0 : end + nameOf(tag).length + 3)).length;
    const lines = prompt
      .slice(Math.max(0, tag.index - WINDOW), tag.index)
      .split('\n')
      .map(letters);
    const line = lines.findLast(each => each !== '') ?? '';
    return {
      tag: nameOf(tag),
      before: lines.join('').slice(-ENOUGH),
      enough: Math.max(FEWEST, Math.min(ENOUGH, line.length)),
      after: letters(rest).slice(0, own + ENOUGH),
      own,
    };
  });
}

function nameOf(tag: RegExpExecArray): string {
  return (tag[1] ?? '').toLowerCase();
}

/** A tag in what is kept, from `at` to `end`. */
interface Found {
  readonly tag: string;
  readonly kept: string;
  readonly at: number;
  readonly end: number;
  readonly isOver: boolean;
}

/** undefined: what is still to come decides. */
function judge(places: readonly Place[], found: Found): boolean | undefined {
  const same = places.filter(({ tag }) => tag === found.tag);
  if (same.length === 0) return false;
  const before = found.kept.slice(Math.max(0, found.at - WINDOW), found.at);
  const after = found.kept.slice(found.end);
  const lines = linesBack(before);
  const looks = same.flatMap(place => {
    if (isCloseBefore(before, place)) return [true];
    const prefixes = prefixesOf(lines, place);
    if (prefixes.some(prefix => isBefore(lines, place, prefix))) return [true];
    return prefixes.map(prefix => compareAfter(after, { ...place, isOver: found.isOver }, prefix));
  });
  if (looks.includes(true)) return true;
  return looks.includes(undefined) ? undefined : false;
}

/** What of the tag's own line may be a prefix: all of it but for the end that the prompt has, too. */
function prefixesOf(lines: LinesBack, { before }: Place): readonly string[] {
  const [line = '', alone = ''] = [lines.at(0), lines.at(1)];
  const same = commonEnd(line, before);
  const own = Array.from({ length: same + 1 }, (_, kept) => line.slice(0, line.length - kept));
  // One that the line break parted from the tag is that of an earlier line, too.
  const isShort = line === '' && alone !== '' && alone.length <= LONGEST_PREFIX;
  const isCommon = isShort && lines.some(2, each => withoutPrefix(each, alone) !== undefined);
  return isCommon ? [...own, alone] : own;
}

/** Backwards from the tag, line by line, without the prefix or a number before each. */
function isBefore(lines: LinesBack, { before: wanted, enough, after, own }: Place, prefix: string): boolean {
  // A prompt that is nothing but the tag: so is its echo.
  if (wanted === '') return after.length === own && !lines.some(0, line => line !== '');
  const spare = Math.max(0, wanted.length - enough);
  const tried = new Set<string>();
  /** From this line back, `left` letters are still to be found. */
  const fits = (at: number, left: number): boolean => {
    const line = lines.at(at);
    if (line === undefined) return wanted.length - left >= FEWEST;
    if (tried.has(`${at} ${left}`)) return false;
    tried.add(`${at} ${left}`);
    // What looks like the prefix may be of the text, where its lines were broken after they were numbered.
    return [withoutPrefix(line, prefix), line].some(text => {
      const same = text === undefined ? -1 : commonEnd(text, wanted.slice(0, left));
      if (text === undefined || left - same <= spare) return text !== undefined;
      return /^\p{N}*$/u.test(text.slice(0, text.length - same)) && fits(at + 1, left - same);
    });
  };
  return fits(0, wanted.length);
}

/** A prefix may stand between them where the lines were joined. What another tag parts is not close. */
function isCloseBefore(before: string, { before: all, enough, tag }: Place): boolean {
  const wanted = all.slice(-enough);
  if (wanted.length <= FEWEST) return false;
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const since = letters(line.slice(line.toLowerCase().lastIndexOf(`${tag}>`) + 1));
  const at = since.lastIndexOf(wanted);
  return at !== -1 && since.length - at - wanted.length <= LONGEST_PREFIX;
}

function compareAfter(
  after: string,
  { after: wanted, own, isOver }: Place & Pick<Found, 'isOver'>,
  prefix: string,
): boolean | undefined {
  if (wanted.length === own) return false;
  let at = 0;
  for (const [index, raw] of after.slice(0, WINDOW).split(LINE_END).entries()) {
    const line = lettersAtLeast(raw, prefix.length + wanted.length - at);
    const length = Math.min(wanted.length - at, line.length);
    if (line.startsWith(wanted.slice(at, at + length))) at += length;
    else {
      const rest = index === 0 ? undefined : (withoutPrefix(line, prefix) ?? line.replace(/^\p{N}+/u, ''));
      const fits = rest !== undefined && Math.min(wanted.length - at, rest.length);
      if (fits === false || !rest?.startsWith(wanted.slice(at, at + fits))) return false;
      at += fits;
    }
    if (at === wanted.length) return true;
  }
  if (isOver || after.length >= WINDOW) return at >= Math.min(own + BROKEN_OFF, wanted.length);
  return undefined;
}

function withoutPrefix(line: string, prefix: string): string | undefined {
  const head = line.slice(0, prefix.length);
  return prefix !== '' && shapeOf(head) === shapeOf(prefix) ? line.slice(prefix.length) : undefined;
}

/** Times and line numbers count up. */
function shapeOf(text: string): string {
  return text.replace(/\p{N}/gu, '0');
}

function commonEnd(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one[one.length - 1 - length] === other[other.length - 1 - length]) length++;
  return length;
}

/** In JSON a line ends in two letters. */
const LINE_END = /\n|\\n/;

type LinesBack = ReturnType<typeof linesBack>;

/** The lines by their letters, the last one first. Few are looked at, so each is read when it is. */
function linesBack(text: string) {
  const raw = text.split(LINE_END);
  const known: string[] = [];
  const at = (index: number): string | undefined => {
    const line = raw[raw.length - 1 - index];
    if (line !== undefined) known[index] ??= letters(line);
    return known[index];
  };
  return {
    at,
    some: (from: number, isWanted: (line: string) => boolean) =>
      raw.slice(0, raw.length - from).some((_, index) => isWanted(at(from + index) ?? '')),
  };
}

/** All letters of a line, or its first ones, if they are as many behind a number at its start. */
function lettersAtLeast(line: string, count: number): string {
  const first = letters(line.slice(0, 4 * count));
  const wanted = count + (/^\p{N}+/u.exec(first)?.[0].length ?? 0);
  // An escape that is cut off has letters, which the whole one has not.
  return first.length >= wanted + LONGEST_ESCAPE ? first.slice(0, wanted) : letters(line);
}

const LONGEST_ESCAPE = 10;

/** What no formatting changes. Escapes of HTML and JSON have letters of their own. */
function letters(text: string): string {
  return text.replace(/&(?:[a-z]{2,6}|#x?[\da-f]{1,6});|\\[nrt]|[^\p{L}\p{N}\\&]+|[\\&]/giu, '');
}

/** With its content and its closing tag, where they are there. */
function wholeTag(text: string, tag: RegExpExecArray): number {
  const end = text.toLowerCase().indexOf(`</${nameOf(tag)}>`);
  const inner = text.slice(tag[0].length, end);
  return end === -1 || inner.length > WINDOW || inner.includes('<')
    ? tag[0].length
    : end + nameOf(tag).length + 3;
}

/** The longest opening tag that is waited for. */
const HALF_TAG = 256;

function beforeHalfTag(text: string): number {
  const bracket = text.lastIndexOf('<');
  const isOpen = bracket !== -1 && text.length - bracket < HALF_TAG && !text.includes('>', bracket);
  return isOpen ? bracket : text.length;
}
