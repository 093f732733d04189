/**
 * Keeps the story list of a `ralph prd run`. Ralph's own copy is here, in the memory of the loop, where no agent can write.
 * After every iteration what the agent left is held against it: what is not allowed is undone, told, and set aside.
 */
import { dirname } from 'node:path';
import type { CheckResult } from '../domain/check.ts';
import type { Emit } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import { pick } from '../domain/fields.ts';
import { formatProblem } from '../domain/problem.ts';
import { type ReviewEvidence, whyVoid } from '../domain/review.ts';
import type { Story, StoryList } from '../domain/story.ts';
import { type Round, weighChecks } from '../domain/story-checks.ts';
import {
  type Assignment,
  nextAssignment,
  openStories,
  type ReviewPolicy,
  type StoryMode,
} from '../domain/story-mode.ts';
import { repairList, storiesById } from '../domain/story-repair.ts';
import { REVIEW_FIELDS, type StoryRules } from '../domain/transitions.ts';
import { warn } from '../engine/plan.ts';
import { ensureFolder, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { type NewActive, removeActive } from '../store/active-file.ts';
import { writeApprovals } from '../store/approvals.ts';
import type { RunPaths } from '../store/paths.ts';
import type { PrdPaths } from '../store/prd-paths.ts';
import { formatTasks, isList } from '../store/tasks-file.ts';
import { createKeptFiles } from './kept-files.ts';
import { loadStories } from './load.ts';

export interface KeeperOptions
  extends Pick<NewActive, 'runId' | 'maxIterations' | 'isolation'>,
    Pick<RunPaths, 'aside' | 'stories'> {
  readonly paths: PrdPaths;
  readonly list: StoryList;
  readonly policy: ReviewPolicy;
  /** The checks of the settings. */
  readonly checks: readonly string[];
  /** Where approvals are on record, outside of the project. */
  readonly approvals: string;
  /** The iteration that a resumed run was in. */
  readonly begun: Begun | undefined;
  readonly emit: Emit;
  now(): number;
}

export interface Begun {
  readonly iteration: number;
  readonly mode: StoryMode;
  readonly story?: string;
  /** What its agent left is in the list already. */
  readonly isSettled: boolean;
}

export interface Settlement {
  readonly violations: readonly Violation[];
  readonly missing: readonly string[];
}

export interface StoryKeeper {
  /** Ralph's own copy. */
  list(): StoryList;
  /** What the iteration is for; the story is the one that it really moved, once it is over. */
  assignment(): Assignment;
  /** Chooses what the next iteration is for and tells the hooks. */
  begin(): Assignment;
  /** Before each attempt at a review: the list as it is trusted, so that a verdict of an attempt that failed is not counted twice. */
  restoreList(iteration: number): void;
  /** What the agent left, without what it may not do. It counts when the checks have been weighed. */
  settle(iteration: number, evidence: ReviewEvidence): Settlement;
  /** What the list would become. */
  round(after?: StoryList): Round;
  /** The checks have run: what they take back is taken back, and the list is trusted. Answers what that was. */
  weigh(iteration: number, results: readonly CheckResult[]): readonly string[];
  /** The user has had his hands on the files: what he left is trusted, if it is in order. */
  trust(): void;
  /** Writes Ralph's copy down, under its hash, and has the ledger vouch for it. */
  record(iteration: number): void;
  release(): void;
}

export function createStoryKeeper(options: KeeperOptions): StoryKeeper {
  const { paths, policy, emit } = options;
  const files = createKeptFiles(options);
  let list = options.list;
  /** What it becomes when the checks have been weighed. */
  let next = list;
  let autoApproved: Story | undefined;
  let assignment = options.begun ? assignmentOf(options.begun, list) : nextAssignment(list, policy);
  let moved: Story | undefined;
  const record = createRecord(options);

  return {
    list: () => list,
    assignment: () => assignment,
    begin() {
      assignment = nextAssignment(list, policy);
      files.mark(termsOf(assignment, policy), list.userStories);
      return assignment;
    },
    restoreList(iteration) {
      if (assignment.mode === 'review' && !isSame(files.left(), list)) files.write(list, iteration);
    },
    settle(iteration, evidence) {
      if (options.begun?.isSettled && options.begun.iteration === iteration) return NOTHING_LEFT;
      const left = files.left();
      const settled = repairList(list, left, termsOf(assignment, policy));
      const judged = judgeReview(this.round(settled.list), evidence);
      next = judged.list;
      // Whoever builds may build another story than the one that was proposed.
      const built = assignment.mode === 'review' ? undefined : movedStory(list, next);
      if (built) assignment = { ...assignment, story: built };
      const repaired = settled.repaired || judged.void !== undefined;
      const restored = !repaired || files.write(next, iteration);
      if (!repaired) files.believe(next);
      const rules = settled.forbidden.map(what => ({ what, restored, isSentence: true }) as const);
      const isWhole = evidence.outcome?.kind === 'completed';
      const missing = [
        ...(isWhole ? settled.missing : []),
        ...(judged.void === undefined ? [] : [judged.void]),
      ];
      autoApproved = judged.void === undefined ? settled.autoApproved : undefined;
      return { violations: [...rules, ...files.restore(iteration)], missing };
    },
    round: (after = next) => ({ before: list, after, assignment, policy, checks: options.checks }),
    weigh(iteration, results) {
      const weighed = weighChecks(this.round(), results);
      if (weighed.list !== next && !isSame(weighed.list, next)) files.write(weighed.list, iteration);
      moved = movedStory(list, weighed.list);
      list = weighed.list;
      next = list;
      for (const what of weighed.refused) warn(emit, what);
      if (autoApproved && isStillApproved(list, autoApproved)) warn(emit, letThrough(autoApproved, policy));
      autoApproved = undefined;
      return weighed.refused;
    },
    trust() {
      const own = loadStories(paths, policy);
      if (isList(own)) [list, next] = [own, own];
      else {
        const what = own.map(formatProblem).join('; ');
        warn(emit, `The story list stays as it was before the pause: ${what}`);
      }
      files.keepAgain();
    },
    record: iteration => record(iteration, list, moved),
    release() {
      files.close();
      removeActive(paths.active);
    },
  };
}

function createRecord({ emit, policy, approvals, runId, stories }: KeeperOptions) {
  let recorded: { readonly list: StoryList; readonly hash: string } | undefined;
  return (iteration: number, list: StoryList, moved: Story | undefined): void => {
    if (recorded?.list !== list) {
      recorded = { list, hash: keepCopy(list, stories) };
      const trouble = writeApprovals(approvals, list, runId);
      if (trouble !== undefined) warn(emit, unrecorded(approvals, trouble));
    }
    const { hash } = recorded;
    const { length: total } = list.userStories;
    const done = total - openStories(list, policy).length;
    const move = moved && { moved: standOf(moved) };
    emit({ type: 'stories-settled', iteration, hash, done, total, ...move });
  };
}

/** A copy of the list under its hash, which it answers. */
function keepCopy(list: StoryList, pathOf: RunPaths['stories']): string {
  const text = formatTasks(list);
  const hash = storiesHash(text);
  const copy = pathOf(hash);
  ensureFolder(dirname(copy));
  writeAtomic(copy, text);
  return hash;
}

const NOTHING_LEFT: Settlement = { violations: [], missing: [] };

function assignmentOf({ mode, story: id }: Begun, { userStories }: StoryList): Assignment {
  const story = userStories.find(each => each.id === id);
  return { mode, ...(story && { story }) };
}

function standOf({ id, passes, reviewStatus, reviewFeedback }: Story) {
  return { id, passes, reviewStatus, reviewFeedback };
}

export function storiesHash(text: string): string {
  return sha256(text).slice(0, 32);
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
  const was = storiesById(before).get(judged.id);
  const userStories = after.userStories.map(each =>
    each.id === judged.id && was ? { ...each, ...pick(was, ...REVIEW_FIELDS) } : each,
  );
  return { list: { ...after, userStories }, void: `The review of ${judged.id} does not count: ${why}.` };
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
