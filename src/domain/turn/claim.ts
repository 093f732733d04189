/**
 * The agent's claim that it is done, in its own words, as they stream by: one rule for every command and for sessions. The marker counts
 * where it stands for itself. `promise` is exact; `response` (`ralph run`, seed 001) does not mind case and spaces.
 */
import { KEEP_TAG } from '../lanes/conflict.ts';
import { createTagScanner, isMention, isStated, type Tag, type TagScanner } from './spoken-tags.ts';

/** What the agent says when it is done. */
export interface CompletionRule {
  readonly kind: 'response' | 'promise';
  /** What must stand between the tags. */
  readonly text: string;
  /** Counts as well; prompts ask for the first. */
  readonly or?: CompletionRule;
}

/** A tag that is almost a claim, and why it is none. */
export type NearMiss =
  | 'other-text' // the tag is there with something else in it
  | 'case' // right but for upper and lower case
  | 'spaces' // right but for white space
  | 'unclosed' // the tag was opened and never closed
  | 'quoted' // in a code span, in quotation marks, in a block quote: a mention
  | 'fenced' // in a code block
  | 'negated' // in a sentence that denies it: "not", "cannot"
  | 'postponed' // in a sentence that promises it for later: "when", "once", "will"
  | 'asked' // in a question
  | 'unread'; // in a sentence that is not English, which may say anything

/** Whether the agent's own words hold the completion tag, and what was almost one. */
export type Claim =
  | { readonly found: true }
  /** `said` is what stood in the tag that was not the claim. */
  | { readonly found: false; readonly nearMiss?: NearMiss; readonly said?: string };

const NO_CLAIM: Claim = { found: false };

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

/** What may stand between the tags. */
export function textsOf({ text, or }: CompletionRule): readonly string[] {
  return [text, ...(or ? textsOf(or) : [])];
}

/** Whether a prompt names a marker that counts, in whatever sentence. */
export function asksFor({ or, ...rule }: CompletionRule, prompt: string): boolean {
  const squeeze = (text: string) => text.replace(/\s+/g, '').toLowerCase();
  const isThere = squeeze(prompt).includes(squeeze(markerOf(rule)));
  return isThere || (or !== undefined && asksFor(or, prompt));
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
export const SPOKEN_TAGS: readonly string[] = ['response', 'promise', BLOCKED_TAG, QUESTION_TAG, KEEP_TAG];

/** The claim in messages that are there as a whole. */
export function claimIn(messages: readonly string[], rule: CompletionRule | undefined): Claim {
  if (!rule) return NO_CLAIM;
  const scanner = createClaimScanner(rule);
  feedAll(scanner, messages);
  return scanner.claim();
}

/** Why the agent says that it cannot continue; undefined: it does not say so. */
export function blockedIn(messages: readonly string[]): string | undefined {
  const statement = createStatement(BLOCKED_TAG);
  feedAll(statement, messages);
  return statement.said();
}

function feedAll(scanner: TagScanner, messages: readonly string[]): void {
  for (const message of messages) {
    scanner.feed(message);
    scanner.boundary();
  }
}

/** Makes a scanner for one turn. Of promises the first right one counts, of responses the first that stands for itself. */
export function createClaimScanner(rule: CompletionRule): ClaimScanner {
  const first = scanFor(rule);
  const other = rule.or && createClaimScanner(rule.or);
  if (!other) return first;
  return {
    feed(text) {
      first.feed(text);
      other.feed(text);
    },
    boundary() {
      first.boundary();
      other.boundary();
    },
    claim() {
      const [own, others] = [first.claim(), other.claim()];
      return own.found || (!others.found && own.nearMiss) ? own : others;
    },
  };
}

function scanFor(rule: CompletionRule): ClaimScanner {
  let claim = NO_CLAIM;
  const scanner = createTagScanner(rule.kind, {
    found(tag) {
      claim = judgeTag(rule, tag);
      return claim.found || (rule.kind === 'response' && isStated(tag.place())) ? 'enough' : undefined;
    },
    unclosed() {
      claim = { found: false, nearMiss: 'unclosed' };
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

function judgeTag(rule: CompletionRule, tag: Tag): Claim {
  const nearMiss = rule.kind === 'response' ? responseMiss(rule, tag) : promiseMiss(rule, tag);
  const place = nearMiss ?? tag.place();
  if (place === 'said' || place === 'within') return { found: true };
  const said = rule.kind === 'response' ? tag.content.trim() : tag.content;
  return { found: false, nearMiss: place, said: said.slice(0, 200) };
}

function responseMiss({ text }: CompletionRule, { content }: Tag): NearMiss | undefined {
  return content.trim().toLowerCase() === text.trim().toLowerCase() ? undefined : 'other-text';
}

function promiseMiss(rule: CompletionRule, { whole, content }: Tag): NearMiss | undefined {
  if (whole === markerOf(rule)) return undefined;
  const squeeze = (text: string) => text.replace(/\s+/g, ' ').trim();
  if (squeeze(content).toLowerCase() !== squeeze(rule.text).toLowerCase()) return 'other-text';
  return squeeze(content) === squeeze(rule.text) && content !== rule.text ? 'spaces' : 'case';
}

/** More of a statement is no reason. */
const MAX_STATEMENT = 2_000;

/** The first tag of this name that says something and is no mention. Whoever cannot continue says "not": the sentence around it does not matter. */
export function createStatement(name: string) {
  let said: string | undefined;
  const scanner = createTagScanner(name, {
    found(tag) {
      const content = tag.content.trim();
      if (content === '' || isMention(tag.place())) return undefined;
      said = content.slice(0, MAX_STATEMENT);
      return 'enough';
    },
  });
  return {
    ...scanner,
    /** What has been said, when the turn is over. */
    said() {
      scanner.boundary();
      return said;
    },
  };
}
