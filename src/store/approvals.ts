/**
 * Which stories were approved, on record outside of the project: a story list in it can be written by anybody, and one that says
 * "approved" without such a record only claims it.
 */
import { dirname, relative } from 'node:path';
import type { Story, StoryList } from '../domain/stories/story.ts';
import { isObject, parseObject } from '../domain/text/json.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import type { PrdPaths } from './prd-paths.ts';
import { type Env, statePaths } from './state.ts';

export interface Approval {
  /** Of what was asked for: a story that asks for something else now was never reviewed. */
  readonly hash: string;
  /** The run that has it on its ledger. */
  readonly run: string;
}

/** By the id of the story. */
export type Approvals = Readonly<Record<string, Approval>>;

/** Where those of a list are. `root`: the project, also where the list is in a worktree of it. */
export function approvalsPath(env: Env, root: string, { root: at, folder }: PrdPaths): string {
  return statePaths(env).approvals(root, relative(at, folder));
}

/** What cannot be read vouches for nothing. */
export function readApprovals(path: string): Approvals {
  const read = parseObject(tryTo(() => readIfThere(path)) ?? '');
  return Object.fromEntries(
    Object.entries(read ?? {}).flatMap(([id, value]): readonly (readonly [string, Approval])[] =>
      isObject(value) && typeof value.hash === 'string' && typeof value.run === 'string'
        ? [[id, { hash: value.hash, run: value.run }]]
        : [],
    ),
  );
}

/** Those that the list has now, and no others. Returns why it could not be written. */
export function writeApprovals(path: string, list: StoryList, run: string): string | undefined {
  const before = readApprovals(path);
  const approved = list.userStories.filter(isApproved).map(story => {
    const hash = contractHash(story);
    const known = Object.hasOwn(before, story.id) ? before[story.id] : undefined;
    return [story.id, known?.hash === hash ? known : { hash, run }] as const;
  });
  try {
    ensureFolder(dirname(path));
    writeAtomic(path, `${JSON.stringify(Object.fromEntries(approved), null, 2)}\n`);
    return undefined;
  } catch (error) {
    return errorWords(error);
  }
}

/** The ids of stories that the list calls approved, and nobody vouches for. */
export function claimedStories({ userStories }: StoryList, approvals: Approvals): readonly string[] {
  return userStories
    .filter(isApproved)
    .filter(story => !Object.hasOwn(approvals, story.id) || approvals[story.id]?.hash !== contractHash(story))
    .map(({ id }) => id);
}

/** The list with those stories waiting for their review. */
export function withoutClaims(list: StoryList, claimed: readonly string[]): StoryList {
  if (claimed.length === 0) return list;
  const userStories = list.userStories.map(story =>
    claimed.includes(story.id) ? { ...story, passes: false, reviewStatus: 'needs_review' as const } : story,
  );
  return { ...list, userStories };
}

function isApproved({ reviewStatus }: Story): boolean {
  return reviewStatus === 'approved';
}

function contractHash({
  id,
  title,
  description = '',
  acceptanceCriteria,
  verifyCommands = [],
}: Story): string {
  return sha256(JSON.stringify([id, title, description, acceptanceCriteria, verifyCommands]));
}
