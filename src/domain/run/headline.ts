/** The sentence at the head of a run that has ended. Every reader takes it from here, so that none contradicts the proof beside it. */

import { type Proven, type Support, supportOf } from '../checks/proof.ts';
import { listSome } from '../text/feedback.ts';
import { endingOf, isProven } from './stop-reason.ts';

/** `say`: how text from outside stands in it. */
export function headlineOf(run: Proven, say = (text: string) => text): string {
  const { sentence, unchecked = sentence, unreviewed } = endingOf(run.stopReason);
  if (!isProven(run.stopReason)) return sentence;
  const support = supportOf(run);
  const reviews = reviewRemarks(run, say);
  const checked = support === 'checked' ? sentence : unchecked;
  const first = reviews.length > 0 ? (unreviewed ?? checked) : checked;
  return [first, ...reviews, ...checkRemarks(support, run)].join(' ');
}

/** With the exact limit, the last error: what the headline does not say. */
export function endingSentence(run: Proven & { readonly detail: string | null }): string {
  return [headlineOf(run), run.detail].filter(Boolean).join(' ');
}

function reviewRemarks({ stories: report }: Proven, say: (text: string) => string): readonly string[] {
  const { stories = [] } = report ?? {};
  const skipped = stories.filter(({ done, reviewStatus }) => done && reviewStatus === null);
  const capped = stories.filter(({ autoApproved }) => autoApproved);
  const names = (some: typeof stories) => listSome(some.map(({ id }) => say(id)));
  return [
    ...(skipped.length > 0 ? [`Not reviewed: ${names(skipped)}.`] : []),
    ...(capped.length > 0 ? [`Let through at the review cap, and not approved: ${names(capped)}.`] : []),
  ];
}

function checkRemarks(support: Support, { stories }: Proven): readonly string[] {
  switch (support) {
    case 'checked':
      return [];
    case 'excused':
      return ['Every required check passes; the others failed before the run too.'];
    case 'failing':
      return ['No check passes: each failed before the run too, and is not required.'];
    case 'unchecked':
      return [`Nothing was checked: add \`--check\` or ${stories ? '`verifyCommands`' : 'a guardrail'}.`];
  }
}
