/**
 * What an iteration may change in a story list, seed 002's Checks 2 and 2.5. Pure: a list before, a list after, and
 * everything that is not allowed, each with the way to undo it. The hook reports it to the agent while it can still fix
 * it; the loop undoes it, whichever agent it is.
 */
import { formatValue } from '../text/json.ts';
import type { ReviewPolicy, StoryMode } from './assignment.ts';
import { type Story, UNTOUCHED } from './story.ts';

/** What is known of a story from before the iteration; `.ralph-active` may hold no more than seed 002's three fields. */
export type Before = Pick<Story, 'passes' | 'reviewStatus' | 'reviewCount'> & Partial<Story>;

export type StoriesBefore = ReadonlyMap<string, Before>;

export interface StoryRules extends ReviewPolicy {
  readonly mode: StoryMode;
  /** The story that the iteration is for. */
  readonly story?: string;
}

export interface ForbiddenChange {
  /** To the agent, in the words of the seed where it has any. */
  readonly message: string;
  readonly undo: Undo;
}

type Undo =
  | { readonly kind: 'fields'; readonly story: string; readonly fields: Partial<Story> }
  /** A story that was removed is restored. */
  | { readonly kind: 'restore'; readonly story: string }
  /** Something that should have been done was not: there is nothing to undo. */
  | { readonly kind: 'none' };

/** Check 2: what must be true of a list at any time. */
export function findInvalidStories(
  stories: readonly Story[],
  { skipReview, reviewCap }: ReviewPolicy,
  before: StoriesBefore = new Map(),
): readonly string[] {
  if (skipReview) return [];
  return stories.flatMap(({ id, passes, reviewStatus, reviewCount, reviewFeedback }) => {
    const most = Math.max(reviewCap, before.get(id)?.reviewCount ?? 0) + 1;
    const faults: readonly (readonly [isWrong: boolean, what: string])[] = [
      [
        passes && reviewStatus !== 'approved',
        `Story ${id} has passes=true but reviewStatus is '${reviewStatus}', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle.`,
      ],
      [
        reviewStatus === 'approved' && !passes,
        `Story ${id} has reviewStatus 'approved' but passes=false: these fields are out of sync.`,
      ],
      [
        reviewStatus === 'changes_requested' && reviewFeedback.trim() === '',
        `Story ${id} has reviewStatus 'changes_requested' but its reviewFeedback is empty: feedback required. Say what must be fixed, and where.`,
      ],
      [reviewCount > most, `Story ${id} has reviewCount ${reviewCount}, and the review cap is ${reviewCap}.`],
    ];
    return faults.flatMap(([isWrong, what]) => (isWrong ? [what] : []));
  });
}

/** Check 2.5, and what no iteration may do: lose a story, or change what was asked for. */
export function findForbiddenChanges(
  before: StoriesBefore,
  stories: readonly Story[],
  rules: StoryRules,
): readonly ForbiddenChange[] {
  const known = stories.flatMap(after => {
    const was = before.get(after.id);
    return was ? [{ was, after }] : [];
  });
  const fresh = stories.filter(story => !before.has(story.id));
  const there = new Set(stories.map(story => story.id));
  return [
    ...(rules.skipReview ? [] : [...REVIEW_RULES[rules.mode](known, rules), ...checkNewStories(fresh)]),
    ...known.flatMap(change => checkContract(change, fresh, rules.mode)),
    ...[...before.keys()].filter(id => !there.has(id)).map(removed),
  ];
}

interface Change {
  readonly was: Before;
  readonly after: Story;
}

type Field = 'passes' | 'reviewStatus' | 'reviewCount' | 'reviewFeedback';

/** Before a verdict of a review the fields are one thing. */
export const REVIEW_FIELDS: readonly Field[] = ['passes', 'reviewStatus', 'reviewCount', 'reviewFeedback'];

const REVIEW_RULES: Record<
  StoryMode,
  (changes: readonly Change[], rules: StoryRules) => readonly ForbiddenChange[]
> = {
  implement: changes =>
    checkWork(changes, {
      from: null,
      what: field =>
        field === 'reviewCount'
          ? 'Implement iterations cannot increment reviewCount'
          : 'Implement iterations cannot set passes=true or approve stories',
      tail: (id, field, words) =>
        `${field === 'reviewCount' ? 'Only review iterations may count.' : 'Only review iterations may approve.'} Story ${id} had illegal transition: ${words}.`,
    }),
  'review-fix': checkFix('Review-fix'),
  'merge-fix': (changes, rules) => [...checkFix('Merge-fix')(changes), ...notHandedIn(changes, rules)],
  review: checkReview,
};

function checkFix(mode: string) {
  return (changes: readonly Change[]) =>
    checkWork(changes, {
      from: 'changes_requested',
      what: field =>
        field === 'reviewCount'
          ? `${mode} iterations cannot increment reviewCount`
          : `${mode} iterations cannot approve stories`,
      tail: (id, _field, words) =>
        `Story ${id} must go back to needs_review for re-review. Illegal transition: ${words}.`,
    });
}

/** A merge that is solved and not handed in is worked on for ever. */
function notHandedIn(changes: readonly Change[], { story }: StoryRules): readonly ForbiddenChange[] {
  const own = changes.find(({ after }) => after.id === story);
  if (own?.was.reviewStatus !== 'changes_requested' || own.after.reviewStatus !== 'changes_requested')
    return [];
  const message = `Story ${story} was not handed in: its reviewStatus in tasks.json is still "changes_requested". If the merge is solved, set it to "needs_review"; nothing else is missing for its review.`;
  return [{ message, undo: { kind: 'none' } }];
}

interface WorkRule {
  /** The status from which one story may go to `needs_review`. */
  readonly from: Story['reviewStatus'];
  what(field: Field): string;
  tail(id: string, field: Field, words: string): string;
}

/** Implement and review-fix: one story may be handed in for review, and nothing else of a review may change. */
function checkWork(changes: readonly Change[], rule: WorkRule): readonly ForbiddenChange[] {
  const isHandedIn = ({ was, after }: Change) =>
    was.reviewStatus === rule.from && !was.passes && after.reviewStatus === 'needs_review';
  const handedIn = changes.find(isHandedIn);
  return changes.flatMap(change => {
    const { was, after } = change;
    const isThis = change === handedIn;
    return REVIEW_FIELDS.flatMap((field): readonly ForbiddenChange[] => {
      const old = was[field];
      if (old === undefined || old === after[field]) return [];
      if (isThis && field === 'reviewStatus') return [];
      // The feedback of a story that goes back to its review is answered: it may be cleared, and nothing else.
      if (isThis && field === 'reviewFeedback' && after.reviewFeedback.trim() === '') return [];
      const value = isThis && field === 'reviewFeedback' ? '' : old;
      const words = `${field} ${formatValue(old)} → ${formatValue(after[field])}`;
      const message =
        isHandedIn(change) && !isThis
          ? `One story per iteration: ${handedIn?.after.id} was handed in for review already. Story ${after.id} had illegal transition: ${words}.`
          : `${rule.what(field)}. ${rule.tail(after.id, field, words)}`;
      return [{ message, undo: { kind: 'fields', story: after.id, fields: { [field]: value } } }];
    });
  });
}

function checkReview(changes: readonly Change[], { story: wanted }: StoryRules): readonly ForbiddenChange[] {
  const touched = changes.filter(({ was, after }) =>
    REVIEW_FIELDS.some(field => isChanged(was, after, field)),
  );
  const fair = touched.filter(change => findVerdictFault(change) === undefined);
  const judged = fair.find(({ after }) => after.id === wanted) ?? fair[0];
  const forbidden = touched
    .filter(change => change !== judged)
    .map(change => {
      const { was, after } = change;
      const details =
        findVerdictFault(change) ?? `a review may only modify one story, and ${judged?.after.id} was judged`;
      const fields = Object.fromEntries(
        REVIEW_FIELDS.filter(field => was[field] !== undefined).map(field => [field, was[field]]),
      );
      const message = illegalReview(after.id, details);
      return { message, undo: { kind: 'fields', story: after.id, fields } } as const;
    });
  const waiting = changes.find(({ after, was }) =>
    wanted === undefined ? was.reviewStatus === 'needs_review' : after.id === wanted,
  );
  if (touched.length > 0 || waiting?.was.reviewStatus !== 'needs_review') return forbidden;
  const missing =
    'review must increment reviewCount by 1 and set reviewStatus to "approved" (with passes=true) or "changes_requested" (with reviewFeedback); nothing was changed';
  return [{ message: illegalReview(waiting.after.id, missing), undo: { kind: 'none' } }];
}

function illegalReview(id: string, details: string): string {
  return `Review iteration made illegal transition on story ${id}: ${details}.`;
}

function isChanged(was: Before, after: Story, field: Field): boolean {
  return was[field] !== undefined && was[field] !== after[field];
}

/** Why a change is no verdict of a review; undefined when it is one. */
function findVerdictFault({ was, after }: Change): string | undefined {
  const { passes, reviewStatus, reviewCount, reviewFeedback } = after;
  if (was.reviewStatus !== 'needs_review') {
    const field = REVIEW_FIELDS.find(each => isChanged(was, after, each)) ?? 'reviewStatus';
    return `it was not waiting for a review (reviewStatus ${formatValue(was.reviewStatus)}), and ${field} went ${formatValue(was[field])} → ${formatValue(after[field])}`;
  }
  if (reviewCount !== was.reviewCount + 1)
    return `review must increment reviewCount by 1, and it went ${was.reviewCount} → ${reviewCount}`;
  if (reviewStatus === 'approved') return passes ? undefined : 'approved without passes=true';
  if (reviewStatus !== 'changes_requested')
    return `reviewStatus must become "approved" or "changes_requested", not ${formatValue(reviewStatus)}`;
  if (passes) return 'changes requested with passes=true';
  return reviewFeedback.trim() === '' ? 'changes requested without feedback' : undefined;
}

function checkNewStories(fresh: readonly Story[]): readonly ForbiddenChange[] {
  return fresh
    .filter(({ passes, reviewStatus, reviewCount }) => passes || reviewStatus !== null || reviewCount !== 0)
    .map(({ id }) => ({
      message: `New story ${id} must start at passes=false, reviewStatus=null, reviewCount=0.`,
      undo: { kind: 'fields', story: id, fields: UNTOUCHED },
    }));
}

/** What was asked for. It may be sharpened until the story is done, and never weakened. */
function checkContract(
  { was, after }: Change,
  fresh: readonly Story[],
  mode: StoryMode,
): readonly ForbiddenChange[] {
  const isBegun = was.passes || was.reviewStatus !== null;
  const frozen = isBegun ? (['title', 'description'] as const) : [];
  const reworded = frozen.flatMap((field): readonly ForbiddenChange[] => {
    const old = was[field];
    if (old === undefined || old === after[field]) return [];
    const message = `Story ${after.id} is under way: its ${field} may not be changed any more.`;
    return [{ message, undo: { kind: 'fields', story: after.id, fields: { [field]: old } } }];
  });
  const { acceptanceCriteria: old = [] } = was;
  const lost = old.filter(criterion => !after.acceptanceCriteria.includes(criterion));
  // A story that is split keeps its id for the first part and gives criteria to the new ones.
  const moved = (criterion: string) =>
    !isBegun && mode === 'implement' && fresh.some(story => story.acceptanceCriteria.includes(criterion));
  const missing = lost.filter(criterion => !moved(criterion));
  const added = was.passes && after.acceptanceCriteria.length > old.length;
  if (missing.length === 0 && !(added && old.length > 0)) return reworded;
  const message =
    missing.length > 0
      ? `Story ${after.id} lost an acceptance criterion: ${missing.map(formatValue).join(', ')}. Criteria may be added, or moved to a new story when an untouched story is split; they are never weakened.`
      : `Story ${after.id} is done: its acceptance criteria may not be changed any more.`;
  return [
    ...reworded,
    { message, undo: { kind: 'fields', story: after.id, fields: { acceptanceCriteria: old } } },
  ];
}

function removed(id: string): ForbiddenChange {
  return {
    message: `Story ${id} was removed. Stories are never removed: to split one, keep its id for the first part and add new stories for the rest.`,
    undo: { kind: 'restore', story: id },
  };
}
