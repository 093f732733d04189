/**
 * Finds the agent's claim that it is done, in its own words, as they stream by.
 * Two rules: `response` (lenient, `ralph run`) and `promise` (exact, everything else). Memory is bounded.
 */

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

export interface ClaimScanner {
  /** More of the agent's own words, continuing where the last piece ended. */
  feed(text: string): void;
  /** A message has ended: a tag does not go on in the next one. */
  boundary(): void;
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

const MAX_TAG_CHARS = 65_536;

export function createClaimScanner(rule: CompletionRule): ClaimScanner {
  const decide = rule.kind === 'response' ? responseDecision(rule) : promiseDecision(rule);
  const open = `<${rule.kind}>`;
  const close = `</${rule.kind}>`;
  let pending = '';
  let claim: Claim = NO_CLAIM;
  let settled = false;

  const note = (next: Claim) => {
    if (next.found || rule.kind === 'response') settled = true;
    if (next.found || !claim.found) claim = next;
  };

  /** Reads every whole tag in `pending` and keeps only what may still become one. */
  const read = (final: boolean) => {
    let lower = pending.toLowerCase();
    while (!settled) {
      const end = lower.indexOf(close);
      if (end === -1) break;
      const after = end + close.length;
      if (after === pending.length && !final) break; // the next character decides whether it is quoted
      const start = lower.lastIndexOf(open, end);
      if (start !== -1) note(decide(pending, start, after));
      pending = pending.slice(after - 1);
      lower = lower.slice(after - 1);
    }
    const start = lower.lastIndexOf(open);
    if (final && start !== -1 && !settled && !claim.found) claim = { found: false, nearMiss: 'unclosed' };
    pending = final || settled ? '' : keep(pending, start, open.length);
  };

  return {
    feed(text) {
      if (settled || text === '') return;
      pending += text;
      if (pending.includes('<')) read(false);
      else pending = pending.slice(-1);
    },
    boundary: () => read(true),
    claim() {
      if (pending !== '') read(true);
      return claim;
    },
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

type Decide = (text: string, start: number, end: number) => Claim;

function responseDecision(rule: CompletionRule): Decide {
  const wanted = rule.text.trim().toLowerCase();
  return (text, start, end) => {
    const said = text.slice(start + '<response>'.length, end - '</response>'.length).trim();
    if (said.toLowerCase() === wanted) return { found: true };
    return { found: false, nearMiss: 'other-text', said: said.slice(0, 200) };
  };
}

function promiseDecision(rule: CompletionRule): Decide {
  const marker = markerOf(rule);
  const squeeze = (text: string) => text.replace(/\s+/g, ' ').trim();
  return (text, start, end) => {
    const whole = text.slice(start, end);
    const said = whole.slice('<promise>'.length, -'</promise>'.length);
    if (whole === marker) {
      const quoted = text[start - 1] === '`' && text[end] === '`';
      return quoted ? { found: false, nearMiss: 'quoted', said } : { found: true };
    }
    const nearMiss =
      squeeze(said) === squeeze(rule.text)
        ? 'spaces'
        : whole.toLowerCase() === marker.toLowerCase()
          ? 'case'
          : 'other-text';
    return { found: false, nearMiss, said: said.slice(0, 200) };
  };
}
