/** A parallel run: it works in no tree of its own, and what its lanes are made of says what it is about. */
import type { Settings } from '../../config/settings-shape.ts';
import { type Board, laneOf, type SentBack } from '../../domain/lanes/board.ts';
import type { LoopCommand } from '../../domain/run/event.ts';
import { titleOf } from '../../domain/run/title.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { coordinate } from '../../parallel/coordinator.ts';
import type { ChildRequest, LaneWork } from '../../parallel/lane-work.ts';
import type { RemoteLanes } from '../../parallel/lanes.ts';
import { sentBackWords } from '../../parallel/merging.ts';
import type { RunContext } from '../../run/turns/context.ts';
import { roundText } from '../../store/inbox.ts';
import type { Given } from '../../store/run-file.ts';
import { besideTree } from '../../workspace/beside-tree.ts';
import { unfitFilter } from '../../workspace/filters.ts';
import { tooOld } from '../../workspace/integration.ts';
import { type OwnGit, openOwnGit, type Start } from '../../workspace/own-git.ts';
import { type ChangedPath, SUBMODULE } from '../../workspace/own-objects.ts';
import { shownPath } from '../../workspace/repository.ts';
import type { Job, LaneRuns, Where } from '../job.ts';
import { type TaskGiven, taskJob } from './task.ts';

export interface ParallelGiven {
  readonly command: Extract<LoopCommand, 'prd' | 'loop'>;
  readonly given: Omit<Given, 'flags'>;
  /** The user's words. */
  readonly task?: string | undefined;
  /** Where that is not the first line of the task. */
  readonly title?: string | undefined;
  /** How many lanes at a time. */
  readonly slots: number;
  /** Its lanes and its branch are elsewhere. */
  readonly elsewhere?: RemoteLanes | undefined;
  /** What must be true before anything is begun. */
  check?(where: Where): Promise<Problem | undefined>;
  /** Also of a run that is resumed. */
  work(context: RunContext, lanes: LaneRuns): Promise<LaneWork | Problem>;
}

export function parallelJob(job: ParallelGiven): Job {
  const { command, given, task, slots, elsewhere } = job;
  return {
    command,
    async enter(where) {
      const begun = await begin(where);
      if (isProblem(begun)) return begun;
      const problem = await job.check?.(where);
      if (problem) return problem;
      return {
        cwd: where.project.root,
        begun,
        given,
        title: titleOf(job.title ?? task ?? ''),
        task,
        notices: leftOut(where.settings),
        isMerged: true,
        async steps(context, lanes) {
          const { runId, onChildEvent = () => {} } = context;
          const given = await job.work(context, lanes);
          if (isProblem(given)) return given;
          const work = withRounds(given, context, lanes);
          return {
            checks: work.checksFor(new Set(work.lanes().map(({ id }) => id))),
            drive: () => coordinate({ work, parts: context, runId, slots, elsewhere, onChildEvent }, context),
          };
        },
      };
    },
  };
}

/** A lane that its pull request has asked for is a task of its own, with the checks of all that has landed. */
function withRounds(work: LaneWork, { past, paths }: RunContext, lanes: LaneRuns): LaneWork {
  const board = () => past().board as Board;
  const isRound = (id: string) => laneOf(board(), id)?.isRound === true;
  const asChild = (child: ChildRequest): ChildRequest => {
    const landed = new Set(board().landed.map(({ story }) => story));
    return { ...child, checks: work.checksFor(landed).map(({ command }) => command) };
  };
  return {
    ...work,
    filesWith: async (lane, ...rest) => (isRound(lane) ? [] : work.filesWith(lane, ...rest)),
    landed: (lane, child) => (isRound(lane) ? undefined : work.landed(lane, child)),
    resume: child => (isRound(child.lane.id) ? lanes.resume(asChild(child)) : work.resume(child)),
    async open(child) {
      const { lane, sentBack, worktree } = child;
      if (!isRound(lane.id)) return work.open(child);
      const asked = roundText(paths);
      if (asked === '') return { where: lane.id, what: 'what the pull request asked for is gone' };
      const task = `# ${lane.title}\n\n${asked}`;
      return lanes.open(asChild(child), laneTask({ task, lane: lane.id, sentBack, worktree }));
    },
  };
}

/** Work that is merged needs a repository with a commit, and nothing in it that a merge would lose. */
async function begin({ project: { root }, env, resumed }: Where): Promise<Start | Problem | undefined> {
  const own = await openOwnGit({ cwd: root, env });
  if (isProblem(own)) return { ...own, fix: own.fix ?? '`git init` and a commit make one' };
  const old = await tooOld(own);
  if (old) return old;
  const { commit } = await own.head();
  if (commit === undefined) {
    const fix = '`git add --all && git commit -m start` makes one';
    return { where: root, what: 'there is no commit yet that parallel work could start from', fix };
  }
  if (resumed !== undefined) return undefined;
  const begun = await own.begin();
  if (isProblem(begun)) return begun;
  const unfit =
    (await unfitFilter(own, commit, 'work on one at a time: leave out --parallel', { commits: true })) ??
    (await unsigned(own, begun)) ??
    (await uncommitted(own));
  return unfit ?? begun;
}

/** Every commit of Ralph's is signed where the user's are: what cannot be done is known before anything is spent. */
async function unsigned(own: OwnGit, { tree }: Start): Promise<Problem | undefined> {
  if (!own.repository.signing) return undefined;
  const tried = await own.commit({ tree, parents: [], message: 'Can it be signed?', isSigned: true });
  if (!isProblem(tried)) return undefined;
  const fix = 'make `git commit -S` work without a question, or switch `commit.gpgsign` off';
  return { where: own.top, what: `commits are to be signed here, and that fails: ${tried.what}`, fix };
}

async function uncommitted(own: OwnGit): Promise<Problem | undefined> {
  const status = await own.status();
  if (isProblem(status)) return status;
  const tree = await own.treeOf(status.commit);
  const beside = isProblem(tree) ? tree : await besideTree(own, tree, status.tree);
  if (isProblem(beside)) return beside;
  const absent = own.absent();
  const isMissing = ({ path, after }: ChangedPath) => !after && absent.has(path);
  // Files that git does not know yet are nobody's base. Submodules are in no tree of the files.
  const changed = status.entries.filter(
    change => change.before && change.before.mode !== SUBMODULE && !isList(change.path) && !isMissing(change),
  );
  const paths = [...changed.map(({ path }) => shownPath(path)), ...beside.moved];
  if (paths.length === 0) return undefined;
  const shown = paths.slice(0, 5);
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : '';
  return {
    where: own.top,
    what: `${shown.join(', ')}${more} ${paths.length === 1 ? 'has' : 'have'} changes that are not committed: the parallel work would start without them`,
    fix: '`git commit` or `git stash` them first',
  };
}

/** Ralph brings the list itself. */
function isList(path: string): boolean {
  return /(^|\/)(tasks\.json|progress\.txt|prd\.md|prompt\.md|\.gitignore)$/.test(path);
}

/** What lands is committed by the queue, on a branch that nobody pushes. */
function leftOut({ scm }: Settings): readonly string[] {
  const others = (scm?.tasks ?? []).filter(task => !isCommit(task));
  if (others.length === 0) return [];
  return [
    `Left out, because the stories are worked on side by side: ${others.join(', ')} of scm.tasks. Push the branch yourself when you have looked at it.`,
  ];
}

/** What lands is checked clean in the queue, and there passes the gate for faults; in a lane the agent hears of them once. */
export function laneSettings(settings: Settings): Settings {
  const { mutateMin, ...rest } = commitsOnly(settings);
  return { ...rest, mutate: settings.mutate || mutateMin !== undefined, proof: 'place' };
}

/** For work that Ralph itself takes to where it belongs: it is committed, and no other task of source control runs. */
export function commitsOnly(settings: Settings): Settings {
  const { scm } = settings;
  return scm ? { ...settings, scm: { ...scm, tasks: scm.tasks?.filter(isCommit) ?? [] } } : settings;
}

export function isCommit(task: string): boolean {
  return task.trim() === 'commit';
}

export interface LaneTask extends Pick<TaskGiven, 'task' | 'lane' | 'worktree'> {
  /** Why it begins anew. */
  readonly sentBack?: SentBack | undefined;
}

/** One task of a list as a run of its own. */
export function laneTask({ task, sentBack, ...given }: LaneTask): Job {
  const back = sentBack ? `\n\n## It was sent back\n\n${sentBackWords(sentBack)}` : '';
  return taskJob({ ...given, task: `${task}${back}` });
}
