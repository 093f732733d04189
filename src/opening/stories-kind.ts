/** `ralph prd run` as a kind of run: a directory of its own, and the story list that counts. */
import type { Past } from '../domain/past.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { StoryList } from '../domain/story.ts';
import type { ReviewPolicy } from '../domain/story-mode.ts';
import type { RunPaths } from '../store/paths.ts';
import { ignoreActive } from '../store/prd-folder.ts';
import type { PrdPaths } from '../store/prd-paths.ts';
import { isList } from '../store/tasks-file.ts';
import { readTemplate } from '../store/templates.ts';
import type { Begun } from '../stories/keeper.ts';
import { loadStories } from '../stories/load.ts';
import { claimDirectory, planPrd, promptTemplate } from '../stories/open.ts';
import { type Recovery, standOf, unknown } from '../stories/recover.ts';
import type { RunKind } from './kind.ts';

export interface StoriesGiven {
  readonly prd: PrdPaths;
  /** As it is trusted when the run begins. */
  readonly list: StoryList;
  /** The iteration that a resumed run was in. */
  readonly begun?: Begun | undefined;
  /** What a run that was killed has left, put right. */
  readonly recovery?: Recovery | undefined;
}

export function storiesKind({ prd, list, begun, recovery }: StoriesGiven): RunKind {
  const template = () => promptTemplate(prd, () => readTemplate('prompt.md'));
  return {
    command: 'prd',
    async enter({ project, resumed }) {
      const claimed = await claimDirectory(prd, project, resumed);
      if (isProblem(claimed)) return claimed;
      const notices = [
        ...claimed.notices,
        ...(ignoreActive(prd) ? ['Added .ralph-active to .gitignore.'] : []),
        ...(recovery ? [recovery.notice] : []),
      ];
      recovery?.write();
      return {
        cwd: project.root,
        given: { ralphDir: prd.name },
        plan: (parts, kept) =>
          planPrd({ ...parts, notices: [...parts.notices, ...notices], prd, list, template, begun }, kept),
        leave: claimed.release,
      };
    },
  };
}

/**
 * While it was paused, or since it stopped between two iterations, the list was the user's. Else it is what the ledger vouches for, and
 * where it never got so far, what is there.
 */
export function listAgain(
  prd: PrdPaths,
  run: { readonly id: string; readonly paths: RunPaths },
  past: Past,
  policy: ReviewPolicy,
): Pick<StoriesGiven, 'list' | 'begun'> | readonly Problem[] {
  const isUsers = past.time.isPaused || (past.ended !== undefined && !past.open);
  const stand = isUsers ? undefined : standOf(run.paths, { past, problems: [] });
  if (stand === 'unknown') return [unknown(prd, run.id)];
  if (stand) return { list: stand.trusted, begun: stand.begun };
  const list = loadStories(prd, policy);
  return isList(list) ? { list } : list;
}
