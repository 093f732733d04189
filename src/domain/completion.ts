/**
 * Finds the agent's claim that it is done, in its own words, as they stream by.
 * Two rules: `response` (lenient, `ralph run`) and `promise` (exact, everything else). Memory is bounded.
 */

import { createTagScanner, type Tag, type TagScanner } from './tags.ts';

export interface CompletionRule {
  readonly kind: 'response' | 'promise';
  /** What must stand between the tags. */
  readonly text: string;
}

export type NearMiss =
  | 'other-text' // the tag is there with something else in it
  | 'case' // right but for upper and lower case
  | 'spaces' // right but for white space
  | 'unclosed' // the tag was opened and never closed
  | 'quoted'; // inside an inline code span: a mention, not a promise

export type Claim =
  | { readonly found: true }
  /** `said` is what stood in the tag that was not the claim. */
  | { readonly found: false; readonly nearMiss?: NearMiss; readonly said?: string };

export const NO_CLAIM: Claim = { found: false };

export interface ClaimScanner extends TagScanner {
  /** What has been claimed, when the turn is over. */
  claim(): Claim;
}

/** The marker as the agent must write it. */
export function markerOf(rule: CompletionRule): string {
  return `<${rule.kind}>${rule.text}</${rule.kind}>`;
}

/** The first well-formed tag in a text, for a reply that is read as a whole. */
export function firstTag(kind: CompletionRule['kind'], text: string): string | undefined {
  const found = new RegExp(`<${kind}>((?:(?!<${kind}>)[\\s\\S])*?)</${kind}>`, 'i').exec(text);
  return found?.[1]?.trim();
}

/** The agent's honest way out: why it cannot continue. */
export const BLOCKED_TAG = 'blocked';

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
    const nearMiss =
      squeeze(content) === squeeze(rule.text)
        ? 'spaces'
        : whole.toLowerCase() === marker.toLowerCase()
          ? 'case'
          : 'other-text';
    return { found: false, nearMiss, said: content.slice(0, 200) };
  };
}
