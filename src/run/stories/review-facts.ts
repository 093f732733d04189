/** What a reviewer gets that is not in the files: what Ralph's own checks said, and what changed since the story was begun. */
import type { CheckResult } from '../../domain/checks/check.ts';
import type { IterationState } from '../../domain/run/state.ts';
import type { ReviewFacts } from '../../domain/stories/prompt.ts';
import { listSome } from '../../domain/text/feedback.ts';
import { defined } from '../../domain/text/fields.ts';
import { formatProblem, isProblem } from '../../domain/text/problem.ts';
import { ACTIVE_FILE, type PrdPaths } from '../../store/prd-paths.ts';
import { accumulatedDiff, unseenIn } from '../../workspace/diff.ts';
import { openOwnGit } from '../../workspace/own-git.ts';
import type { Place } from '../../workspace/repository.ts';
import { readStatus, type TreeStatus } from '../../workspace/tree-status.ts';
import type { RunContext } from '../turns/context.ts';

const DIFF_CHARS = 20_000;
/** Where an approval of what was not shown does not count. */
const DIFF_CHARS_STRICT = 200_000;

type ReviewContext = Pick<RunContext, 'cwd' | 'env' | 'settings' | 'past'> & {
  readonly prd: Pick<PrdPaths, 'inside'>;
};

export function createReviewFacts({ cwd, env, settings, past, prd }: ReviewContext) {
  const seen = new Map<string, readonly CheckResult[]>();
  let unshown: string | undefined;
  let reviewed: string | undefined;
  /** By story: what the checks left after an earlier review of it, too. */
  const known = new Map<string, readonly string[]>();
  return {
    /** The tree that the last reviewer was shown, and why not what changed; no reason: it was, or had to look for itself. */
    shown: () => defined({ reviewed, unshown }),
    /** Of a review whose turn was over when the run was cut off. */
    recall(shown: Pick<IterationState, 'reviewed' | 'unshown'>): void {
      ({ reviewed, unshown } = shown);
    },
    /** After an iteration that was for it. */
    saw(story: string | undefined, results: readonly CheckResult[]): void {
      if (story !== undefined && results.length > 0) seen.set(story, results);
    },
    /**
     * Files that are not as the review of this story saw them; `now`: the tree of the last look, if it could look. A check that writes something else each time would keep it from ever being
     * approved: what it left the last time, too, is let through, but for `--strict`.
     */
    async unreviewed(story: string, now: string | undefined): Promise<readonly string[]> {
      if (reviewed === undefined) return [];
      const changed = await changedSince({ cwd, env }, { reviewed, now }, prd.inside);
      const before = settings.strict ? [] : (known.get(story) ?? []);
      known.set(story, changed);
      return changed.filter(path => !before.includes(path));
    },
    /** `looked`: the last look, as long as nothing has touched the files since. */
    async of(story: string, looked: TreeStatus | undefined): Promise<ReviewFacts> {
      const startTree = (await landedTree({ cwd, env })) ?? past().storyTrees?.[story];
      const results = seen.get(story) ?? [];
      const facts = { results, protect: settings.protect };
      unshown = undefined;
      const status = looked ?? (await statusNow({ cwd, env }));
      reviewed = status?.tree;
      if (startTree === undefined) return facts;
      const maxChars = settings.strict ? DIFF_CHARS_STRICT : DIFF_CHARS;
      const diff = await accumulatedDiff({ cwd, env, startTree, maxChars, ...(status && { status }) });
      unshown = isProblem(diff) ? formatProblem(diff) : undefined;
      if (isProblem(diff)) return { ...facts, unshown: formatProblem(diff) };
      const unseen = unseenIn(diff);
      if (settings.strict && unseen.length > 0) unshown = listSome(unseen);
      return { ...facts, diff: diff.text, unseen };
    },
  };
}

/** Of a lane: what has landed and is in its files. The change that is reviewed is the one that would land on it. */
async function landedTree(place: Place): Promise<string | undefined> {
  const own = await openOwnGit(place);
  const landed = isProblem(own) ? undefined : own.stand()?.landed;
  const tree = isProblem(own) || landed === undefined ? undefined : await own.treeOf(landed);
  return isProblem(tree) ? undefined : tree;
}

const UNSEEN = ['files that cannot be looked at'];

/** Beside the folder of the list. A look that fails has seen nothing. */
async function changedSince(
  place: Place,
  { reviewed, now }: { readonly reviewed: string; readonly now: string | undefined },
  folder: string,
): Promise<readonly string[]> {
  const own = await openOwnGit(place);
  if (isProblem(own) || now === undefined) return UNSEEN;
  const changed = await own.changedPaths(reviewed, now);
  if (isProblem(changed)) return UNSEEN;
  const isOwn = (path: string) =>
    path.startsWith(`${own.prefix}${folder}/`) || path === `${own.prefix}${ACTIVE_FILE}`;
  return changed.map(({ path }) => path).filter(path => !isOwn(path));
}

async function statusNow(place: Place): Promise<TreeStatus | undefined> {
  const status = await readStatus(place);
  return isProblem(status) ? undefined : status;
}
