/** A lane that others can reach: what changes in it while none of its turns runs is not its work, and does not land with it. */
import { listSome } from '../../domain/text/feedback.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { joinWords } from '../../platform/shell.ts';
import { moveBack, planWayBack } from '../../workspace/go-back.ts';
import type { OwnGit } from '../../workspace/own-git.ts';
import { shownPath } from '../../workspace/repository.ts';
import { warn } from '../steps.ts';
import type { RunContext } from './context.ts';
import { keepVersion } from './yours.ts';

/** Puts the files back to what was `seen` last, and says so. `stays`: what Ralph itself writes, by its path from the top. */
export async function undoOthers(
  { emit, runId }: Pick<RunContext, 'emit' | 'runId'>,
  own: OwnGit,
  seen: string,
  stays: (path: string) => boolean,
): Promise<Problem | undefined> {
  const way = await planWayBack(own, seen, stays);
  if (isProblem(way) || way.aside === way.tree) return isProblem(way) ? way : undefined;
  const { commit: head = null } = await own.head();
  const kept = await keepVersion(own, {
    ref: `refs/ralph/kept/${runId}/_others/${way.aside.slice(0, 12)}`,
    message: `Written into the lane ${runId} by others`,
    ...{ head, tree: way.aside },
  });
  const moved = isProblem(kept) ? kept : await moveBack(own, way);
  if (isProblem(kept) || isProblem(moved)) return isProblem(kept) ? kept : (moved as Problem);
  const names = listSome(moved.map(({ path }) => shownPath(path)));
  const show = joinWords(['git', 'show', '--stat', kept]);
  warn(
    emit,
    `Somebody else has written into this lane while none of its turns ran: ${names}. It is as it was before; what was written is kept: \`${show}\`.`,
  );
  return undefined;
}
