/**
 * Finds the agent's claim that it is done, in its own words, as they stream by.
 * Two rules: `response` (lenient, `ralph run`) and `promise` (exact, everything else). Memory is bounded.
 */

export interface CompletionRule {
  readonly kind: 'response' | 'promise';
  /** What must stand between the tags. */
  readonly text: string;
}

/** A tag that is almost a claim, and why it is none. */
export type NearMiss =
  | 'other-text' // the tag is there with something else in it
  | 'case' // right but for upper and lower case
  | 'spaces' // right but for white space
  | 'unclosed' // the tag was opened and never closed
  | 'quoted' // inside an inline code span, in a session also in quotation marks: a mention, not a promise
  | 'fenced' // inside a code block
  | 'mentioned'; // in a sentence about it: "not yet", "when", "until"

/** Whether the agent's own words hold the completion tag, and what was almost one. */
export type Claim =
  | { readonly found: true }
  /** `said` is what stood in the tag that was not the claim. */
  | { readonly found: false; readonly nearMiss?: NearMiss; readonly said?: string };

export const NO_CLAIM: Claim = { found: false };

/** Looks for the completion tag in words as they come. */
export interface ClaimScanner extends TagScanner {
  /** What has been claimed, when the turn is over. */
  claim(): Claim;
}

/** The marker as the agent must write it. */
export function markerOf(rule: CompletionRule): string {
  return `<${rule.kind}>${rule.text}</${rule.kind}>`;
}

/**
 * What a prompt says of the marker. An agent whose whole output is plain text may print its prompt back: to it the marker is described and not
 * shown, so that no formatting of the prompt can make one. docs/adr/0039.
 */
export function markerWords(rule: CompletionRule, isPlain = false): string {
  if (!isPlain) return markerOf(rule);
  return `the text ${rule.text} in a tag named ${rule.kind} (as in HTML: the opening tag, the text, the closing tag, with nothing between them)`;
}

/** The first well-formed tag in a text, for a reply that is read as a whole. */
export function firstTag(kind: CompletionRule['kind'], text: string): string | undefined {
  const found = new RegExp(`<${kind}>((?:(?!<${kind}>)[\\s\\S])*?)</${kind}>`, 'i').exec(text);
  return found?.[1]?.trim();
}

/** The agent's honest way out: why it cannot continue. */
export const BLOCKED_TAG = 'blocked';

/** In `ralph prd`: what a person must decide before the story can continue. */
export const QUESTION_TAG = 'question';

/** Every tag that means something in an agent's own words: an echo of one means nothing. */
export const SPOKEN_TAGS: readonly string[] = ['response', 'promise', BLOCKED_TAG, QUESTION_TAG];

/** Makes a scanner for one turn. */
export function createClaimScanner(rule: CompletionRule): ClaimScanner {
  const decide = rule.kind === 'response' ? responseDecision(rule) : promiseDecision(rule);
  let claim: Claim = NO_CLAIM;
  const scanner = createTagScanner(rule.kind, {
    found(tag) {
      const next = decide(tag);
      if (next.found || !claim.found) claim = next;
      // Of responses the first one counts, of promises the first right one.
      return next.found || rule.kind === 'response' ? 'enough' : undefined;
    },
    unclosed() {
      if (!claim.found) claim = { found: false, nearMiss: 'unclosed' };
    },
  });
  return {
    ...scanner,
    claim() {
      scanner.boundary();
      return claim;
    },
  };
}

type Decide = (tag: Tag) => Claim;

function responseDecision(rule: CompletionRule): Decide {
  const wanted = rule.text.trim().toLowerCase();
  return ({ content }) => {
    const said = content.trim();
    if (said.toLowerCase() === wanted) return { found: true };
    return { found: false, nearMiss: 'other-text', said: said.slice(0, 200) };
  };
}

function promiseDecision(rule: CompletionRule): Decide {
  const marker = markerOf(rule);
  const squeeze = (text: string) => text.replace(/\s+/g, ' ').trim();
  return ({ whole, content, quoted }) => {
    if (whole === marker)
      return quoted ? { found: false, nearMiss: 'quoted', said: content } : { found: true };
    const isOther = squeeze(content).toLowerCase() !== squeeze(rule.text).toLowerCase();
    const hasSpaces = squeeze(content) === squeeze(rule.text) && content !== rule.text;
    const nearMiss = isOther ? 'other-text' : hasSpaces ? 'spaces' : 'case';
    return { found: false, nearMiss, said: content.slice(0, 200) };
  };
}

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

/** More of a statement is no reason. */
const MAX_STATEMENT = 2_000;

/** The first tag of this name that says something and is no mention. */
export function createStatement(name: string) {
  let said: string | undefined;
  const scanner = createTagScanner(name, {
    found({ content, quoted }) {
      if (quoted || content.trim() === '') return undefined;
      said = content.trim().slice(0, MAX_STATEMENT);
      return 'enough';
    },
  });
  return { ...scanner, said: () => said };
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
