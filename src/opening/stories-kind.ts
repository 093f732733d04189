/** `ralph prd run` as a kind of run: a directory of its own, and the story list that counts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Past } from '../domain/past.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { StoryList } from '../domain/story.ts';
import type { ReviewPolicy } from '../domain/story-mode.ts';
import { titleOf } from '../domain/title.ts';
import { approvalsPath, claimedStories, readApprovals, withoutClaims } from '../store/approvals.ts';
import type { ProjectPaths, RunPaths } from '../store/paths.ts';
import { ignoreActive } from '../store/prd-folder.ts';
import type { PrdPaths } from '../store/prd-paths.ts';
import { isList, writeTasks } from '../store/tasks-file.ts';
import { readTemplate } from '../store/templates.ts';
import type { Begun } from '../stories/keeper.ts';
import { loadStories } from '../stories/load.ts';
import { claimDirectory, planPrd, promptTemplate } from '../stories/open.ts';
import { type Recovery, standOf, unknown } from '../stories/recover.ts';
import { branchAdvice, useBranch } from '../workspace/branch.ts';
import { findRepository } from '../workspace/repository.ts';
import type { Worktree } from '../workspace/worktree.ts';
import { currentBranch } from '../workspace/worktree-facts.ts';
import { type KindWorld, type RunKind, readied } from './kind.ts';

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

export interface StoryLane {
  readonly id: string;
  /** Before a review: brings in what others have landed meanwhile; answers why it does not fit, for the agent. */
  sync(): Promise<string | undefined>;
}

export function storiesKind(given: StoriesGiven): RunKind {
  const { prd, worktree, recovery, lane } = given;
  const template = () => promptTemplate(prd, () => readTemplate('prompt.md'));
  return {
    command: 'prd',
    async enter({ project, env, resumed }) {
      const claimed = await claimDirectory(prd, project, { own: resumed, worktree: worktree?.name });
      if (isProblem(claimed)) return claimed;
      recovery?.write();
      const begun = await beginList(given, project, env);
      if (isProblem(begun)) {
        claimed.release();
        return begun;
      }
      const { list, branch, from } = begun;
      const notices = [
        ...(worktree?.notes ?? []),
        ...claimed.notices,
        ...(ignoreActive(prd) ? ['Added .ralph-active to .gitignore.'] : []),
        ...(recovery ? [recovery.notice] : []),
        ...begun.notices,
      ];
      const place = worktree && { worktreePath: worktree.path, branch: worktree.branch };
      const own = { prd, list, template, begun: given.begun, branch, place };
      return {
        cwd: prd.root,
        title: titleOf(list.userStories.find(({ id }) => id === lane?.id)?.title ?? list.project),
        given: {
          ralphDir: prd.name,
          ...(worktree && { worktree: worktree.name }),
          ...(from !== undefined && { from }),
          ...(lane && { lane: lane.id }),
        },
        worktree,
        ...(from !== undefined && { advice: branchAdvice(prd.root, list.branchName, from) }),
        async plan(parts, kept) {
          const unready = await readied(parts, worktree);
          if (unready) return unready;
          const approvals = lane && join(parts.paths.state.folder, 'approvals.json');
          const more = {
            approvals,
            ...(lane && { sync: lane.sync }),
            notices: [...parts.notices, ...notices],
          };
          return planPrd({ ...parts, ...own, ...more }, kept);
        },
        leave() {
          claimed.release();
          worktree?.release();
        },
      };
    },
  };
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
  env: KindWorld['env'],
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
  return { list, branch: worktree?.branch ?? (await currentBranch(repository.git)), from, notices };
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
  past: Past,
  policy: ReviewPolicy,
): Pick<StoriesGiven, 'list' | 'begun' | 'policy'> | readonly Problem[] {
  const isUsers = past.time.isPaused || (past.ended !== undefined && !past.open);
  const stand = isUsers ? undefined : standOf(run.paths, { past, problems: [] });
  if (stand === 'unknown') return [unknown(prd, run.id)];
  if (stand) return { list: stand.trusted, begun: stand.begun, policy };
  const list = loadStories(prd, policy);
  return isList(list) ? { list, policy } : list;
}
