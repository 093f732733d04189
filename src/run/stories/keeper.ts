/**
 * Keeps the story list of a `ralph prd run`. Ralph's own copy is here, in the memory of the loop, where no agent can write.
 * After every iteration what the agent left is held against it: what is not allowed is undone, reported, and set aside.
 */
import type { CheckResult } from '../../domain/checks/check.ts';
import type { Emit } from '../../domain/run/event.ts';
import type { Violation } from '../../domain/run/evidence.ts';
import { type Round, type Weighed, weighChecks } from '../../domain/stories/approval.ts';
import {
  type Assignment,
  nextAssignment,
  openStories,
  type ReviewPolicy,
  type StoryMode,
  sendBackStory,
} from '../../domain/stories/assignment.ts';
import { repairList, storiesById } from '../../domain/stories/repair.ts';
import { type ReviewEvidence, saidOf, whyVoid } from '../../domain/stories/review.ts';
import type { Story, StoryList } from '../../domain/stories/story.ts';
import { REVIEW_FIELDS, type StoryRules } from '../../domain/stories/transitions.ts';
import { listSome } from '../../domain/text/feedback.ts';
import { pick } from '../../domain/text/fields.ts';
import { formatProblem } from '../../domain/text/problem.ts';
import { type NewActive, removeActive } from '../../store/active-file.ts';
import { writeApprovals } from '../../store/approvals.ts';
import { keepStories } from '../../store/kept.ts';
import type { RunPaths } from '../../store/paths.ts';
import type { PrdPaths } from '../../store/prd-paths.ts';
import { formatTasks, isList } from '../../store/tasks-file.ts';
import { warn } from '../steps.ts';
import { createKeptFiles } from './kept-files.ts';
import { loadStories } from './load.ts';

export interface KeeperOptions extends Pick<NewActive, 'runId' | 'maxIterations' | 'isolation'> {
  readonly run: RunPaths;
  readonly paths: PrdPaths;
  readonly list: StoryList;
  readonly policy: ReviewPolicy;
  /** The checks of the settings. */
  readonly checks: readonly string[];
  /** Where approvals are on record, outside of the project. */
  readonly approvals: string;
  /** The iteration that a resumed run was in. */
  readonly begun: Begun | undefined;
  /** Ids of stories that wait for an answer of the user. */
  asking(): ReadonlySet<string>;
  readonly emit: Emit;
  now(): number;
}

export interface Begun {
  readonly iteration: number;
  readonly mode: StoryMode;
  readonly story?: string;
  /** What its agent left is in the list already. */
  readonly isApplied: boolean;
}

export interface TurnApplied {
  readonly violations: readonly Violation[];
  readonly missing: readonly string[];
}

export interface StoryKeeper {
  /** Ralph's own copy. */
  list(): StoryList;
  /** What the iteration is for; the story is the one that it really moved, once it is over. */
  assignment(): Assignment;
  /** Whether an iteration has something to do: not where all that is left waits for an answer. */
  isReady(): boolean;
  /** Chooses what the next iteration is for and tells the hooks. */
  begin(): Assignment;
  /** A story does not fit what others have landed: it is worked on again. Returns what the iteration is for now. */
  sendBack(id: string, words: string): Assignment;
  /** Before each attempt at a review: the list as it is trusted, so that a verdict of an attempt that failed is not counted twice. */
  restoreList(iteration: number): void;
  /** What the agent left, without what it may not do. It counts when the checks have been weighed. */
  applyTurn(iteration: number, evidence: ReviewEvidence): TurnApplied;
  /** What the list would become. */
  round(): Round;
  /**
   * The checks have run: what they take back is taken back, and the list is trusted. Returns what that was. `unreviewed`: files that are not
   * as the review saw them.
   */
  applyChecks(
    iteration: number,
    results: readonly CheckResult[],
    unreviewed?: readonly string[],
  ): readonly string[];
  /** The user has had his hands on the files: what he left is trusted, if it is in order. */
  acceptUserEdits(): void;
  /** Writes Ralph's copy down, under its hash, and has the ledger vouch for it. */
  save(iteration: number): void;
  release(): void;
}

/** What changes from iteration to iteration. */
interface KeeperState {
  /** Ralph's own copy. */
  list: StoryList;
  /** What it becomes when the checks have been weighed. */
  next: StoryList;
  assignment: Assignment;
  /** The story whose state changed last. */
  moved: Story | undefined;
  autoApproved: Story | undefined;
  /** Approved in the list, and not in words. */
  unsaid: string | undefined;
}

export function createStoryKeeper(options: KeeperOptions): StoryKeeper {
  const { paths, policy, emit, list, begun } = options;
  const files = createKeptFiles(options);
  const save = createSave(options);
  const state: KeeperState = {
    list,
    next: list,
    assignment: begun ? assignmentOf(begun, list) : nextAssignment(list, policy, options.asking()),
    moved: undefined,
    autoApproved: undefined,
    unsaid: undefined,
  };
  return {
    list: () => state.list,
    assignment: () => state.assignment,
    isReady() {
      const isOpen = openStories(state.list, policy).length > 0;
      return !isOpen || nextAssignment(state.list, policy, options.asking()).story !== undefined;
    },
    begin() {
      state.assignment = nextAssignment(state.list, policy, options.asking());
      files.mark(termsOf(state.assignment, policy), state.list.userStories);
      return state.assignment;
    },
    sendBack(id, words) {
      const again = (story: Story) => (story.id === id ? sendBackStory(story, words, policy) : story);
      state.list = { ...state.list, userStories: state.list.userStories.map(again) };
      state.next = state.list;
      files.write(state.list, 0);
      files.believe(state.list);
      return this.begin();
    },
    restoreList(iteration) {
      const isOther = state.assignment.mode === 'review' && !isSame(files.left(), state.list);
      if (isOther) files.write(state.list, iteration);
    },
    applyTurn: (iteration, evidence) =>
      begun?.isApplied && begun.iteration === iteration
        ? NOTHING_LEFT
        : applyTurn(state, { ...options, files, iteration }, evidence),
    round: () => roundOf(state, options),
    applyChecks: (iteration, results, unreviewed = []) =>
      applyChecks(state, { ...options, files, iteration }, results, unreviewed),
    acceptUserEdits() {
      const own = loadStories(paths, policy);
      if (isList(own)) [state.list, state.next] = [own, own];
      else {
        const what = own.map(formatProblem).join('; ');
        warn(emit, `The story list stays as it was before the pause: ${what}`);
      }
      files.keepAgain();
    },
    save: iteration => save(iteration, state),
    release: () => removeActive(paths.active),
  };
}

function roundOf(
  { list: before, next, assignment }: KeeperState,
  { policy, checks }: Pick<KeeperOptions, 'policy' | 'checks'>,
  after = next,
): Round {
  return { before, after, assignment, policy, checks };
}

interface KeeperWorld extends KeeperOptions {
  readonly files: ReturnType<typeof createKeptFiles>;
  readonly iteration: number;
}

function applyTurn(state: KeeperState, world: KeeperWorld, evidence: ReviewEvidence): TurnApplied {
  const { files, iteration, policy } = world;
  const { list, assignment } = state;
  const repairs = repairList(list, files.left(), termsOf(assignment, policy));
  const judged = judgeReview(roundOf(state, world, repairs.list), evidence);
  const isVoid = judged.void !== undefined;
  state.next = judged.list;
  // Whoever builds may build another story than the one that was proposed.
  const built = assignment.mode === 'review' ? undefined : movedStory(list, state.next);
  if (built) state.assignment = { ...assignment, story: built };
  const repaired = repairs.repaired || isVoid;
  const restored = !repaired || files.write(state.next, iteration);
  if (!repaired) files.believe(state.next);
  const rules = repairs.forbidden.map(what => ({ what, restored, isSentence: true }) as const);
  state.autoApproved = isVoid ? undefined : repairs.autoApproved;
  const reviewed = assignment.mode === 'review' ? movedStory(list, state.next)?.id : undefined;
  state.unsaid = reviewed && saidOf(reviewed, evidence.spoken).size === 0 ? reviewed : undefined;
  const isWhole = evidence.outcome?.kind === 'completed';
  const missing = [...(isWhole ? repairs.missing : []), ...(judged.void === undefined ? [] : [judged.void])];
  return { violations: [...rules, ...files.restore(iteration)], missing };
}

function applyChecks(
  state: KeeperState,
  world: KeeperWorld,
  results: readonly CheckResult[],
  unreviewed: readonly string[],
): readonly string[] {
  const { files, iteration, policy, emit } = world;
  const weighed = weighChecks(roundOf(state, world), results);
  const { list, refused } = weighReviewed(roundOf(state, world, weighed.list), unreviewed, weighed.refused);
  if (!isSame(list, state.next)) files.write(list, iteration);
  state.moved = movedStory(state.list, list);
  state.list = list;
  state.next = list;
  for (const what of refused) warn(emit, what);
  const { autoApproved } = state;
  if (autoApproved && isStillApproved(list, autoApproved)) warn(emit, letThrough(autoApproved, policy));
  state.autoApproved = undefined;
  return refused;
}

/** A review is of the files that it saw: where others would be handed over, its approval is of something else. */
function weighReviewed(
  { before, after, assignment: { mode } }: Round,
  unreviewed: readonly string[],
  refused: readonly string[],
): Weighed {
  const judged = mode === 'review' && unreviewed.length > 0 ? movedStory(before, after) : undefined;
  if (judged?.reviewStatus !== 'approved') return { list: after, refused };
  const why = `${judged.id} is not approved: files changed after its review (${listSome(unreviewed)}). It is reviewed again.`;
  return { list: withReviewOf(after, before, judged.id), refused: [...refused, why] };
}

/** The list with the state of this story as it was before. */
function withReviewOf(after: StoryList, before: StoryList, id: string): StoryList {
  const was = storiesById(before).get(id);
  const userStories = after.userStories.map(each =>
    each.id === id && was ? { ...each, ...pick(was, ...REVIEW_FIELDS) } : each,
  );
  return { ...after, userStories };
}

function createSave({ emit, policy, approvals, runId, run }: KeeperOptions) {
  let recorded: { readonly list: StoryList; readonly hash: string } | undefined;
  return (iteration: number, { list, moved, unsaid }: KeeperState): void => {
    if (recorded?.list !== list) {
      recorded = { list, hash: keepStories(run, formatTasks(list)) };
      const trouble = writeApprovals(approvals, list, runId);
      if (trouble !== undefined) warn(emit, unrecorded(approvals, trouble));
    }
    const { hash } = recorded;
    const { length: total } = list.userStories;
    const done = total - openStories(list, policy).length;
    const isUnsaid = moved?.reviewStatus === 'approved' && moved.id === unsaid;
    const said = isUnsaid ? ({ unsaid: true } as const) : {};
    const move = moved && { moved: { ...standOf(moved, policy), ...said } };
    emit({ type: 'stories-updated', iteration, hash, done, total, ...move });
  };
}

const NOTHING_LEFT: TurnApplied = { violations: [], missing: [] };

function assignmentOf({ mode, story: id }: Begun, { userStories }: StoryList): Assignment {
  const story = userStories.find(each => each.id === id);
  return { mode, ...(story && { story }) };
}

function standOf(story: Story, { skipReview, reviewCap }: ReviewPolicy) {
  const stand = pick(story, 'id', 'passes', 'reviewStatus', 'reviewFeedback');
  return skipReview ? stand : { ...stand, reviewCount: story.reviewCount, reviewCap };
}

function termsOf({ mode, story }: Assignment, policy: ReviewPolicy): StoryRules {
  return { ...policy, mode, ...(story && { story: story.id }) };
}

/** The story whose review state changed in this iteration. */
function movedStory(before: StoryList, after: StoryList): Story | undefined {
  if (before === after) return undefined;
  const known = storiesById(before);
  return after.userStories.find(now => {
    const was = known.get(now.id);
    return was && (was.reviewStatus !== now.reviewStatus || was.passes !== now.passes);
  });
}

interface Judged {
  readonly list: StoryList;
  /** Why the verdict of the review does not count, a sentence. */
  readonly void?: string;
}

/** The list without a verdict that does not count. */
function judgeReview({ before, after, assignment, policy }: Round, evidence: ReviewEvidence): Judged {
  const { mode, story } = assignment;
  const judged = mode === 'review' ? movedStory(before, after) : undefined;
  if (!judged || (judged.reviewStatus !== 'approved' && judged.reviewStatus !== 'changes_requested'))
    return { list: after };
  const { reviewStatus, reviewCount } = judged;
  const isCapped =
    reviewCount >= policy.reviewCap && (policy.atCap === 'approve' || reviewStatus === 'changes_requested');
  const why =
    judged.id === story?.id
      ? whyVoid(judged.id, reviewStatus, { ...evidence, isCapped })
      : `this review was for ${story?.id ?? 'no story'}`;
  if (why === undefined) return { list: after };
  const list = withReviewOf(after, before, judged.id);
  return { list, void: `The review of ${judged.id} does not count: ${why}.` };
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function isStillApproved({ userStories }: StoryList, { id }: Story): boolean {
  return userStories.some(story => story.id === id && story.passes);
}

function unrecorded(path: string, trouble: string): string {
  return `Approvals cannot be recorded in ${path}: ${trouble}. The next run will take them for claims and review those stories again.`;
}

function letThrough({ id, reviewFeedback }: Story, { reviewCap }: ReviewPolicy): string {
  return `${id} has had ${reviewCap} reviews and was let through: ${reviewFeedback}`;
}
