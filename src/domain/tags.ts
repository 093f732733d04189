/** Finds `<name>…</name>` in words that come in pieces, without keeping the words. */

export interface Tag {
  /** The tag as it was written. */
  readonly whole: string;
  readonly content: string;
  /** Directly inside an inline code span: a mention rather than a statement. */
  readonly quoted: boolean;
}

export interface TagScanner {
  /** More words, continuing where the last piece ended. */
  feed(text: string): void;
  /** A message has ended: a tag does not continue in the next one. */
  boundary(): void;
}

export interface TagSink {
  /** A well-formed tag, the innermost one where they nest. Answer `enough` to hear of no more. */
  found(tag: Tag): 'enough' | undefined;
  /** A message ended with a tag still open. */
  unclosed?(): void;
}

/** An opening without an end is given up after this much. */
const MAX_TAG_CHARS = 65_536;

export function createTagScanner(name: string, sink: TagSink): TagScanner {
  const tags = new RegExp(`<(/?)${name}>`, 'gi');
  const openLength = name.length + 2;
  let pending = '';
  let enough = false;

  /** Reads every whole tag in `pending` and keeps only what may still become one. */
  const read = (final: boolean) => {
    let open = -1;
    tags.lastIndex = 0;
    for (let tag = tags.exec(pending); tag && !enough; tag = tags.exec(pending)) {
      const after = tags.lastIndex;
      if (tag[1] === '') {
        open = tag.index;
        continue;
      }
      if (after === pending.length && !final) break; // the next character decides whether it is quoted
      if (open !== -1) enough = sink.found(tagAt(pending, open, after, openLength)) === 'enough';
      open = -1;
    }
    if (final && open !== -1 && !enough) sink.unclosed?.();
    pending = final || enough ? '' : keep(pending, open, openLength);
  };

  return {
    feed(text) {
      if (enough || text === '') return;
      pending += text;
      if (pending.includes('<')) read(false);
      else pending = pending.slice(-1);
    },
    boundary() {
      if (pending !== '') read(true);
    },
  };
}

function tagAt(text: string, start: number, end: number, openLength: number): Tag {
  return {
    whole: text.slice(start, end),
    content: text.slice(start + openLength, end - openLength - 1),
    quoted: text[start - 1] === '`' && text[end] === '`',
  };
}

/** What of the unread text may still become a tag: an open one, or the beginning of one at the very end. */
function keep(pending: string, open: number, openLength: number): string {
  if (open !== -1) {
    return pending.length - open > MAX_TAG_CHARS ? '' : pending.slice(Math.max(0, open - 1));
  }
  const bracket = pending.lastIndexOf('<');
  const from = pending.length - bracket < openLength ? bracket : pending.length;
  return pending.slice(Math.max(0, from - 1));
}
