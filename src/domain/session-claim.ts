/**
 * The claim in an agent's final message, which is there as a whole. Seed 003 counts the exact marker anywhere in it; what only talks about
 * the marker is told as a near miss: inside a code block, in quotes, or in a sentence that says "not", "when" or "until".
 */
import {
  BLOCKED_TAG,
  type Claim,
  type CompletionRule,
  createClaimScanner,
  createStatement,
  markerOf,
  NO_CLAIM,
} from './completion.ts';

export function claimIn(texts: readonly string[], rule: CompletionRule | undefined): Claim {
  if (!rule) return NO_CLAIM;
  const places = texts.flatMap(text => placesOf(markerOf(rule), text));
  if (places.includes('said')) return { found: true };
  const nearMiss = (['mentioned', 'fenced', 'quoted'] as const).find(place => places.includes(place));
  if (nearMiss) return { found: false, nearMiss, said: rule.text };
  const scanner = createClaimScanner(rule);
  for (const text of texts) {
    scanner.feed(text);
    scanner.boundary();
  }
  return scanner.claim();
}

type PlaceOf = 'said' | 'mentioned' | 'fenced' | 'quoted';

function placesOf(marker: string, text: string): readonly PlaceOf[] {
  const fences = fencesIn(text);
  const found: PlaceOf[] = [];
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + marker.length))
    found.push(placeAt(text, at, at + marker.length, fences));
  return found;
}

type Span = readonly [start: number, end: number];

function placeAt(text: string, start: number, end: number, fences: readonly Span[]): PlaceOf {
  if (fences.some(([from, to]) => start >= from && start < to)) return 'fenced';
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const newline = text.indexOf('\n', end);
  const before = text.slice(lineStart, start);
  const after = text.slice(end, newline < 0 ? text.length : newline);
  if (isQuoted(before, after)) return 'quoted';
  const sentence = `${before.split(/[.!?;]\s|<\/promise>/i).at(-1) ?? ''} ${after.split(/[.!?;](?:\s|$)|<promise>/i)[0] ?? ''}`;
  return TALK.test(sentence) ? 'mentioned' : 'said';
}

/** Somebody else's words: in backticks, in quotation marks, in a line of a quotation, or in a tag that only shows. */
function isQuoted(before: string, after: string): boolean {
  const ticks = (text: string) => text.split('`').length - 1;
  return (
    (ticks(before) % 2 === 1 && ticks(after) > 0) ||
    (before.endsWith('`') && after.startsWith('`')) ||
    (/["'“”‘’«»]$/.test(before) && /^["'“”‘’«»]/.test(after)) ||
    /^\s*>/.test(before) ||
    /(?:<(?:code|pre|q|blockquote|del|s)>|<!--|~~)\s*$/i.test(before)
  );
}

/** In the sentence around the marker, another tag being the end of it: it is denied, put off, or hangs on something. */
const TALK =
  /\b(?:not|never|cannot|without|until|till|unless|yet|before|if|when|whenever|(?<!\bat )once(?= \w)|later|soon|eventually|pending|would|instead of|rather than|at the end|after (?:i|we|it|they|the|all|every|everything|this|that)|next (?:turn|iteration|time)|no(?= *$| {2})|refus\w*|declin\w*|withh\w*|premature\w*|a lie|lying|untrue|is false)\b|n['’]t\b/i;

/** Code blocks: from a line that begins with three backticks or tildes to the next one of the same kind, or to the end. */
function fencesIn(text: string): readonly Span[] {
  const spans: Span[] = [];
  let open: { readonly start: number; readonly mark: string } | undefined;
  for (const found of text.matchAll(/^[ \t>]*(`{3,}|~{3,})(.*)$/gm)) {
    const [line, mark = '', rest = ''] = found;
    if (!open) open = { start: found.index, mark };
    else if (mark.startsWith(open.mark) && rest.trim() === '') {
      spans.push([open.start, found.index + line.length]);
      open = undefined;
    }
  }
  return open ? [...spans, [open.start, text.length]] : spans;
}

/** Why the agent says that it cannot continue; undefined: it does not say so. */
export function blockedIn(texts: readonly string[]): string | undefined {
  const statement = createStatement(BLOCKED_TAG);
  for (const text of texts) {
    const fences = fencesIn(text);
    statement.feed(fences.reduceRight((left, [from, to]) => left.slice(0, from) + left.slice(to), text));
    statement.boundary();
  }
  return statement.said();
}
