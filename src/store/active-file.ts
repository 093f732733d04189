/**
 * `.ralph-active`: the mark of a running `ralph prd run`, in seed 002's form. The stop hook reads from it what the loop
 * knew before the iteration. It is in the agent's reach, so the loop believes nothing that is in it.
 */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { STORY_MODES } from '../domain/stories/assignment.ts';
import type { Story } from '../domain/stories/story.ts';
import type { Before, StoriesBefore, StoryRules } from '../domain/stories/transitions.ts';
import { pick } from '../domain/text/fields.ts';
import { isObject, parseObject } from '../domain/text/json.ts';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { isAlive, ourselves, type ProcessId } from '../platform/process-table.ts';
import { projectPaths } from './paths.ts';

export interface Active {
  /** Who drives the loop; undefined where the file does not say. */
  readonly process: ProcessId | undefined;
  readonly runId: string | undefined;
  readonly timestamp: string;
  readonly ralphDir: string;
  readonly terms: StoryRules;
  /** undefined: it is not in the file. */
  readonly snapshot: StoriesBefore | undefined;
}

export interface NewActive {
  readonly now: number;
  readonly runId: string;
  readonly ralphDir: string;
  readonly maxIterations: number;
  /** Whether the agent works in a sandbox. */
  readonly isolation: 'sandbox' | 'direct';
  readonly terms: StoryRules;
  readonly stories: readonly Story[];
}

/** The bytes of the file, also to see later whether it still is what was written. */
export function formatActive(active: NewActive): Buffer {
  const { terms, stories } = active;
  const { pid, started } = ourselves();
  const file = {
    timestamp: new Date(active.now).toISOString(),
    pid,
    started,
    max_iterations: active.maxIterations,
    mode: active.isolation,
    skipReview: terms.skipReview,
    reviewCap: terms.reviewCap,
    atCap: terms.atCap,
    iterationMode: terms.mode,
    ...(terms.story !== undefined && { story: terms.story }),
    runId: active.runId,
    ralphDir: active.ralphDir,
  };
  const head = JSON.stringify(file, null, 2).slice(0, -2);
  const before = Buffer.from(`${head},\n  "preIterationSnapshot": `);
  return Buffer.concat([before, snapshotOf(stories), Buffer.from('\n}\n')]);
}

/** As bytes: most iterations leave most lists as they were, and to encode a long one takes longer than to write it. */
const snapshots = new WeakMap<readonly Story[], Buffer>();

function snapshotOf(stories: readonly Story[]): Buffer {
  const known = snapshots.get(stories);
  if (known !== undefined) return known;
  const entries = stories.map(story => [story.id, kept(story)]);
  const snapshot = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  snapshots.set(stories, snapshot);
  return snapshot;
}

/** Seed 002's three fields first, then what else an iteration may not change. */
function kept(story: Story): Before {
  return pick(
    story,
    ...(['passes', 'reviewStatus', 'reviewCount', 'reviewFeedback'] as const),
    ...(['title', 'description', 'acceptanceCriteria'] as const),
  );
}

export function writeActive(path: string, content: string | Uint8Array): void {
  // What is left of it by a kill must not lie among the user's files.
  const own = projectPaths(dirname(path)).folder;
  ensureFolder(own);
  writeAtomic(path, content, 0o644, own);
}

export function removeActive(path: string): void {
  rmSync(path, { force: true });
}

/** undefined: there is none. A field that is missing or odd is what it is by default. */
export function readActive(path: string): Active | undefined {
  // A name that is none, a folder in its place, a file of somebody else's: no loop has written that.
  const source = tryTo(() => readIfThere(path));
  if (source === undefined) return undefined;
  const file = parseObject(source) ?? {};
  const { pid, started, runId, ralphDir, reviewCap, iterationMode, story, preIterationSnapshot } = file;
  return {
    process:
      typeof pid === 'number' ? { pid, started: typeof started === 'string' ? started : '' } : undefined,
    runId: typeof runId === 'string' ? runId : undefined,
    timestamp: String(file.timestamp ?? ''),
    ralphDir: typeof ralphDir === 'string' ? ralphDir : 'ralph',
    terms: {
      mode: STORY_MODES.find(mode => mode === iterationMode) ?? 'implement',
      skipReview: file.skipReview === true,
      reviewCap: typeof reviewCap === 'number' ? reviewCap : 5,
      atCap: file.atCap === 'stop' ? 'stop' : 'approve',
      ...(typeof story === 'string' && { story }),
    },
    snapshot: STORY_MODES.some(mode => mode === iterationMode) ? snapshotIn(preIterationSnapshot) : undefined,
  };
}

function snapshotIn(value: unknown): StoriesBefore | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).filter(([, story]) => isObject(story));
  return new Map(entries as [string, Before][]);
}

/** Whether the loop that wrote it is still there. A file that does not say who wrote it counts. */
export function isLive({ process }: Active): boolean {
  return process === undefined || isAlive(process);
}
