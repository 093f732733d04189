/** `ralph prd run`: a directory of its own, and the story list that counts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../config/settings-shape.ts';
import { allCommands } from '../../domain/checks/verify-commands.ts';
import type { RunState } from '../../domain/run/state.ts';
import { titleOf } from '../../domain/run/title.ts';
import type { ReviewPolicy } from '../../domain/stories/assignment.ts';
import type { StoryList } from '../../domain/stories/story.ts';
import { defined } from '../../domain/text/fields.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import type { Begun } from '../../run/stories/keeper.ts';
import { loadStories } from '../../run/stories/load.ts';
import { claimDirectory, promptTemplate } from '../../run/stories/open.ts';
import { type Recovery, standOf, unknown } from '../../run/stories/recover.ts';
import { storySteps } from '../../run/stories/steps.ts';
import { approvalsPath, claimedStories, readApprovals, withoutClaims } from '../../store/approvals.ts';
import type { ProjectPaths, RunPaths } from '../../store/paths.ts';
import { ignoreActive } from '../../store/prd-folder.ts';
import type { PrdPaths } from '../../store/prd-paths.ts';
import { readTemplate } from '../../store/prd-paths.ts';
import { isList, writeTasks } from '../../store/tasks-file.ts';
import { useBranch } from '../../workspace/branch.ts';
import { findRepository } from '../../workspace/repository.ts';
import type { Worktree } from '../../workspace/worktree.ts';
import type { Job, StoryLane, Where } from '../job.ts';

export interface StoriesGiven {
  readonly prd: PrdPaths;
  /** As it is trusted when the run begins. */
  readonly list: StoryList;
  readonly policy: ReviewPolicy;
  /** The user takes the list as it is, approvals included. */
  readonly isTrusted?: boolean;
  /** The iteration that a resumed run was in. */
  readonly begun?: Begun | undefined;
  /** What a run that was killed has left, put right. */
  readonly recovery?: Recovery | undefined;
  /** The worktree in which `prd` is. */
  readonly worktree?: Worktree | undefined;
  /** The branch from which that of the list was created, where it is known. */
  readonly from?: string | undefined;
  /** It is one of the stories of a parallel run. */
  readonly lane?: StoryLane | undefined;
}

export function storiesJob(given: StoriesGiven): Job {
  const { prd, worktree, recovery, lane } = given;
  const template = () => promptTemplate(prd, () => readTemplate('prompt.md'));
  return {
    command: 'prd',
    async enter({ project, env, settings, resumed }) {
      const claimed = await claimDirectory(prd, project, { own: resumed, worktree: worktree?.name });
      if (isProblem(claimed)) return claimed;
      recovery?.write();
      const begun = await beginList(given, project, env);
      if (isProblem(begun)) {
        claimed.release();
        return begun;
      }
      const { list, branch, from } = begun;
      const own = { prd, list, template, begun: given.begun, branch, ...(lane && { sync: lane.sync }) };
      return {
        cwd: prd.root,
        title: titleOf(list.userStories.find(({ id }) => id === lane?.id)?.title ?? list.project),
        given: { ralphDir: prd.name, ...defined({ worktree: worktree?.name, from, lane: lane?.id }) },
        worktree,
        notices: [
          ...(worktree?.notes ?? []),
          ...claimed.notices,
          ...(ignoreActive(prd) ? ['Added .ralph-active to .gitignore.'] : []),
          ...(recovery ? [recovery.notice] : []),
          ...begun.notices,
          ...(lane ? [] : uncheckedNotices(list, settings)),
        ],
        async steps(context) {
          const approvals = lane
            ? join(context.paths.state.folder, 'approvals.json')
            : approvalsPath(env, project.root, prd);
          return storySteps(context, { ...own, approvals });
        },
        leave() {
          claimed.release();
          worktree?.release();
        },
      };
    },
  };
}

/** Of a lane its parallel run has asked already. */
function uncheckedNotices(list: StoryList, { checks }: Settings): readonly string[] {
  if (allCommands(list, checks).length > 0) return [];
  return [
    'There is no check: only agents say whether a story is done. Add one with --check "npm test", or verifyCommands in tasks.json.',
  ];
}

interface BegunList {
  readonly list: StoryList;
  /** The branch that is really used; undefined: none. */
  readonly branch: string | undefined;
  readonly from: string | undefined;
  readonly notices: readonly string[];
}

/** On the branch that the list names, with what it claims and nobody has reviewed waiting for its review. */
async function beginList(
  given: StoriesGiven,
  project: ProjectPaths,
  env: Where['env'],
): Promise<BegunList | Problem> {
  const { prd, policy, worktree, lane, isTrusted = false } = given;
  const { branchName } = given.list;
  const place = { cwd: prd.root, env };
  const repository = await findRepository(place);
  if (isProblem(repository)) return repository;
  const wanted = worktree === undefined && lane === undefined && branchName.trim() !== '';
  const used = wanted ? await useBranch(place, branchName) : undefined;
  if (isProblem(used)) return used;
  const read = used?.isOther ? loadStories(prd, policy) : given.list;
  if (!isList(read)) return read[0] as Problem;
  const claims = isTrusted ? [] : claimedStories(read, readApprovals(approvalsPath(env, project.root, prd)));
  const list = withoutClaims(read, claims);
  const aside = existsSync(project.folder) ? project.folder : undefined;
  if (claims.length > 0 && !given.begun) writeTasks(prd.tasks, list, aside);
  const from = used?.from ?? given.from;
  const notices = [
    ...(used?.from === undefined ? [] : [`Working on the branch ${branchName}, from ${used.from}.`]),
    ...(claims.length > 0 ? [claimedWords(claims)] : []),
  ];
  const branch = worktree?.branch ?? (wanted ? branchName : repository.head.branch);
  return { list, branch, from, notices };
}

function claimedWords(ids: readonly string[]): string {
  const [which, so] = ids.length === 1 ? [`${ids[0]} is`, 'it is'] : [`${ids.join(', ')} are`, 'they are'];
  return `${which} approved in tasks.json, and no review of Ralph's own is on record for that: claimed, not reviewed, so ${so} reviewed now. --trust-tasks takes the list as it is.`;
}

/**
 * While it was paused, or since it stopped between two iterations, the list was the user's. Else it is what the ledger vouches for, and
 * where it never got so far, what is there.
 */
export function listAgain(
  prd: PrdPaths,
  run: { readonly id: string; readonly paths: RunPaths },
  past: RunState,
  policy: ReviewPolicy,
): Pick<StoriesGiven, 'list' | 'begun' | 'policy'> | readonly Problem[] {
  const isUsers = past.time.isPaused || (past.result !== undefined && !past.open);
  const stand = isUsers ? undefined : standOf(run.paths, { state: past, problems: [] });
  if (stand === 'unknown') return [unknown(prd, run.id)];
  if (stand) return { list: stand.trusted, begun: stand.begun, policy };
  const list = loadStories(prd, policy);
  return isList(list) ? { list, policy } : list;
}
