/** The way back to the files of the best iteration: what came after it is put aside first, and nothing of the user's is touched. */
import { isGreen } from '../../domain/checks/check.ts';
import { treeOf } from '../../domain/run/best.ts';
import type { Restoring, Undone } from '../../domain/run/event.ts';
import { defined } from '../../domain/text/fields.ts';
import { formatProblem, isProblem, type Problem } from '../../domain/text/problem.ts';
import { joinWords } from '../../platform/shell.ts';
import { keepAside, moveBack, planWayBack, statWords } from '../../workspace/go-back.ts';
import { type OwnGit, openOwnGit } from '../../workspace/own-git.ts';
import type { ChangedPath } from '../../workspace/own-objects.ts';
import { commitOf } from '../../workspace/refs.ts';
import type { TreeWatch } from '../../workspace/tree-watch.ts';
import { type Steps, warn } from '../steps.ts';
import type { RunContext } from './context.ts';
import { keepVersion } from './yours.ts';

interface ReturnParts {
  readonly tree: TreeWatch;
  /** A folder whose files are the run's own business, from where the agent works. */
  readonly apart: string | undefined;
  /** Commits what is checked: a way back rewrites nothing. */
  commit(tree: string, message: string): Promise<unknown>;
}

export function returnSteps(
  context: RunContext,
  { tree, apart, commit }: ReturnParts,
): Required<Pick<Steps, 'planReturn' | 'goBack'>> {
  return {
    async planReturn() {
      const { best } = context.past();
      const to = best && treeOf(best.at);
      const own = await openOwnGit(context);
      if (isProblem(own)) return own;
      return to === undefined ? NO_TREE : planWayBack(own, to, isApart(own, apart));
    },
    async goBack(restoring) {
      const { best } = context.past();
      const own = await openOwnGit(context);
      if (isProblem(own)) return { undone: [], problem: formatProblem(own) };
      const ref = `refs/ralph/aside/${context.runId}/${restoring.from}`;
      const kept = await keepAside(own, ref, restoring.aside);
      if (isProblem(kept)) return { undone: [], problem: formatProblem(kept) };
      const moved = await moveBack(own, restoring);
      // Whoever asks next sees the files as they are now.
      await tree.look();
      if (isProblem(moved)) return { undone: [], problem: formatProblem(moved) };
      if (best && isGreen(best.at.checks))
        await commit(restoring.tree, `Go back to the files of iteration ${restoring.to}`);
      const shown = restoring.why === 'end' ? await handAside(context, own, restoring, moved) : {};
      return { undone: await undoneSince(context, own), ...shown };
    },
  };
}

/** `apart`: a folder from where the agent works. */
export function isApart({ prefix }: OwnGit, apart: string | undefined) {
  return (path: string) => apart !== undefined && path.startsWith(`${prefix}${apart}/`);
}

const NO_TREE: Problem = { where: 'git', what: 'the files of that iteration are not known' };

/** What each iteration since the best one did, against the one before it. */
async function undoneSince({ past }: RunContext, own: OwnGit): Promise<readonly Undone[]> {
  const { best } = past();
  let before = best && treeOf(best.at);
  const undone: Undone[] = [];
  for (const { iteration, tree, broke } of best?.worse ?? []) {
    const changes = before !== undefined && tree !== undefined ? await statWords(own, before, tree) : '';
    undone.push({ iteration, changes, broke });
    before = tree ?? before;
  }
  return undone;
}

const SHOWN = 10;

/** When the run ends the user gets it in his own repository, with the command that brings it back. */
async function handAside(
  { runId, emit, past, sendCommit }: RunContext,
  own: OwnGit,
  { aside }: Restoring,
  moved: readonly ChangedPath[],
): Promise<{ readonly aside?: string; readonly bringBack?: string }> {
  const head = past().prepared?.start?.head ?? null;
  const kept = await keepVersion(own, {
    ref: `refs/ralph/kept/${runId}/_aside`,
    message: `Put aside by run ${runId}`,
    ...{ head, tree: aside },
  });
  const fetch = isProblem(kept) ? kept : await sendCommit?.((await commitOf(own.repository, kept)) ?? kept);
  if (isProblem(kept) || isProblem(fetch)) {
    const { what } = isProblem(kept) ? kept : (fetch as Problem);
    warn(emit, `What was put aside cannot be kept in your repository: ${what}.`);
    return {};
  }
  // What was not there then is not in it, and git refuses a path that it does not know.
  const paths = moved.flatMap(({ path, before }) => (before ? [path] : []));
  const isAll = paths.length > 0 && paths.length <= SHOWN;
  const restore = (...where: readonly string[]) =>
    joinWords(['git', ...where, '--', ...(isAll ? paths : [':/'])]);
  const bringBack =
    fetch === undefined
      ? restore('-C', own.top, 'restore', `--source=${kept}`)
      : `${fetch} && ${restore('restore', '--source=FETCH_HEAD')}`;
  return defined({ aside: kept, bringBack: paths.length === 0 ? undefined : bringBack });
}
