/**
 * Keeps the story list of a `ralph prd run`. Ralph's own copy is here, in the memory of the loop, where no agent can write.
 * After every iteration what the agent left is held against it: what is not allowed is undone, told, and set aside.
 */
import { dirname } from 'node:path';
import type { Emit } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import { formatProblem } from '../domain/problem.ts';
import type { Story, StoryList } from '../domain/story.ts';
import {
  type Assignment,
  nextAssignment,
  openStories,
  type ReviewPolicy,
  type StoryMode,
} from '../domain/story-mode.ts';
import { repairList, storiesById } from '../domain/story-repair.ts';
import type { StoryRules } from '../domain/transitions.ts';
import { warn } from '../engine/plan.ts';
import { ensureFolder, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { type NewActive, removeActive } from '../store/active-file.ts';
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
  /** `isWhole`: the turn ended by itself, so that what it left out counts against it. */
  settle(iteration: number, isWhole: boolean): Settlement;
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
  let assignment = options.begun ? assignmentOf(options.begun, list) : nextAssignment(list, policy);
  let moved: Story | undefined;
  let recorded: { readonly list: StoryList; readonly hash: string } | undefined;

  return {
    list: () => list,
    assignment: () => assignment,
    begin() {
      assignment = nextAssignment(list, policy);
      files.mark(termsOf(assignment, policy), list.userStories);
      return assignment;
    },
    settle(iteration, isWhole) {
      if (options.begun?.isSettled && options.begun.iteration === iteration) return NOTHING_LEFT;
      const left = files.left();
      const settled = repairList(list, left, termsOf(assignment, policy));
      const restored = !settled.repaired || files.write(settled.list, iteration);
      if (!settled.repaired) files.believe(settled.list);
      const rules = settled.forbidden.map(what => ({ what, restored, isSentence: true }) as const);
      moved = movedStory(list, settled.list);
      assignment = { ...assignment, ...(moved && { story: moved }) };
      list = settled.list;
      const { autoApproved, missing } = settled;
      if (autoApproved) warn(emit, letThrough(autoApproved, policy));
      return { violations: [...rules, ...files.restore(iteration)], missing: isWhole ? missing : [] };
    },
    trust() {
      const own = loadStories(paths, policy);
      if (isList(own)) list = own;
      else {
        const what = own.map(formatProblem).join('; ');
        warn(emit, `The story list stays as it was before the pause: ${what}`);
      }
      files.keepAgain();
    },
    record(iteration) {
      if (recorded?.list !== list) recorded = { list, hash: keepCopy(list, options.stories) };
      const { hash } = recorded;
      const { length: total } = list.userStories;
      const done = total - openStories(list, policy).length;
      const move = moved && { moved: standOf(moved) };
      emit({ type: 'stories-settled', iteration, hash, done, total, ...move });
    },
    release() {
      files.close();
      removeActive(paths.active);
    },
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

function letThrough({ id, reviewFeedback }: Story, { reviewCap }: ReviewPolicy): string {
  return `${id} has had ${reviewCap} reviews and was let through: ${reviewFeedback}`;
}
