/** What a reviewer says of a story in its own words, and whether the verdict that it left in the list counts. */
import type { TurnOutcome } from '../run/evidence.ts';
import { ATTRIBUTES, createTagScanner, isMention } from '../turn/spoken-tags.ts';

export type ReviewVerdict = 'approved' | 'changes_requested';

export interface SpokenReview {
  readonly story: string;
  readonly verdict: ReviewVerdict;
}

/** As the prompt asks for it. It holds no verdict, so that whoever prints the prompt back has given none. */
export function reviewMarker(story: string): string {
  return `<review story="${story}">VERDICT</review>`;
}

const TAG =
  /<review\s+story\s*=\s*["']([^"'<>]{1,200})["']\s*>\s*(approved|changes_requested)\s*<\/review\s*>/gi;

/** Text of others in a prompt: what looks like a verdict there is none. */
export function withoutVerdicts(text: string): string {
  return text.replace(TAG, tag => tag.replace('<', '< '));
}

/** Nobody says more; a stream that does says nothing. */
const MOST = 50;

/** Finds verdicts in words as they stream by. One in a quotation or in code is a mention; an approval is a sentence of its own, which no words can deny or put off in any language. */
export function createReviewScanner() {
  const found: SpokenReview[] = [];
  const scanner = createTagScanner(
    'review',
    {
      found({ whole, place }) {
        const [[, story = '', verdict = ''] = []] = whole.matchAll(TAG);
        const given = { story, verdict: verdict.toLowerCase() as ReviewVerdict };
        const where = place();
        if (story !== '' && (given.verdict === 'approved' ? where === 'said' : !isMention(where)))
          found.push(given);
        return found.length < MOST ? undefined : 'enough';
      },
    },
    ATTRIBUTES,
  );
  return { ...scanner, spoken: (): readonly SpokenReview[] => found };
}

export interface ReviewEvidence {
  /** undefined: the turn is not over. */
  readonly outcome: TurnOutcome | undefined;
  /** It said why it could not continue. */
  readonly isBlocked?: boolean;
  readonly spoken: readonly SpokenReview[];
  /** What changed outside of the folder of the list, and may not in a review. */
  readonly touched: readonly string[];
  /** Why the reviewer was not shown what changed; absent: it was. */
  readonly unshown?: string | undefined;
  /** Nothing of an earlier turn can still be alive. */
  readonly isContained: boolean;
  /** `--strict`: only what was said counts. */
  readonly mustSay?: boolean;
  /** The review cap decides, whichever of the two it said. */
  readonly isCapped?: boolean;
}

/** Why a verdict in the list does not count, a sentence without its end; undefined: it does. */
export function whyVoid(
  story: string,
  listed: ReviewVerdict,
  {
    outcome,
    isBlocked,
    spoken,
    touched,
    unshown,
    isContained,
    mustSay = false,
    isCapped = false,
  }: ReviewEvidence,
): string | undefined {
  if (outcome?.kind !== 'completed') return 'its turn did not end well';
  if (isBlocked) return 'it also said that it could not continue';
  if (touched.length > 0) return `it changed files: ${touched.join('; ')}. A review only judges`;
  if (unshown !== undefined && listed === 'approved')
    return `what changed could not be shown to it: ${unshown}`;
  const said = saidOf(story, spoken);
  if (said.size > 1) return 'it said both approved and changes_requested';
  const [verdict] = said;
  if (verdict !== undefined && verdict !== listed && !isCapped)
    return `it said ${verdict}, and the list says ${listed}`;
  if (verdict === undefined && (mustSay || !isContained)) {
    const why = isContained
      ? 'Whatever a review runs can write the list'
      : 'Nothing keeps an earlier process from writing the list here';
    return `it did not say its verdict. ${why}, so say it on a line of its own: ${reviewMarker(story)}, where VERDICT is approved or changes_requested`;
  }
  return undefined;
}

/** The verdicts on a story that its reviewer gave in words. */
export function saidOf(story: string, spoken: readonly SpokenReview[]): ReadonlySet<ReviewVerdict> {
  return new Set(spoken.filter(each => each.story === story).map(({ verdict }) => verdict));
}
