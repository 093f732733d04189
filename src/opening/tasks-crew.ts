/** Tasks that stand on their own as the crew of a parallel run: the items of a list, or several attempts at one task. */
import { likelyFiles } from '../domain/admit.ts';
import type { LaneHead, SentBack } from '../domain/board.ts';
import { readMarkdownTasks, tickTask } from '../domain/markdown-tasks.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Draft } from '../domain/story-import.ts';
import type { ChildRequest, Crew } from '../parallel/crew.ts';
import { sentBackWords } from '../parallel/merging.ts';
import { checksOf } from '../turns/check-round.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import { findRepository } from '../workspace/repository.ts';
import { currentBranch } from '../workspace/worktree-facts.ts';
import { chooseAttempt } from './choose-attempt.ts';
import { type RunKind, type TaskGiven, taskKind } from './kind.ts';
import { type ChildBase, openChild, resumeChild } from './lane-runs.ts';

/** The tasks of a Markdown list that are not ticked. */
export function openTasks(source: string): readonly Draft[] {
  return readMarkdownTasks(source).drafts.filter(({ isDone }) => !isDone);
}

export interface TaskList {
  /** Its text when the run began. */
  readonly source: string;
  /** The file, from the project. */
  readonly file: string;
}

export async function tasksCrew({ source, file }: TaskList, base: ChildBase): Promise<Crew | Problem> {
  const common = await commonCrew(base);
  if (isProblem(common)) return common;
  const tasks = openTasks(source);
  const path = `${common.prefix}${file}`;
  const taskOf = ({ id }: LaneHead) => taskText(tasks[Number(id.slice(1)) - 1]);
  return {
    ...common.crew,
    lanes: () =>
      tasks.map((task, at) => ({
        id: `T${at + 1}`,
        title: task.title,
        priority: 1,
        needs: [],
        files: likelyFiles([task.title, task.description, ...task.criteria]),
      })),
    ownPaths: [path],
    async filesWith(lane, _child, files) {
      const before = await files.tip(path);
      const title = tasks[Number(lane.slice(1)) - 1]?.title ?? '';
      return before === undefined ? [] : [[path, tickTask(before, title)]];
    },
    taskOf,
    open: child => open(base, child, taskOf(child.lane)),
    resume: child => resumeChild(base, child),
  };
}

function taskText(task: Draft | undefined): string {
  const { title = '', description = '', criteria = [] } = task ?? {};
  const wanted = criteria.map(each => `- ${each}`).join('\n');
  return [
    `# ${title}`,
    description,
    wanted,
    'Others work on other tasks at the same time: do this one and nothing else.',
  ]
    .filter(part => part !== '')
    .join('\n\n');
}

/** Who makes each attempt. */
export async function attemptsCrew(
  task: string,
  who: readonly ChosenAgent[],
  base: ChildBase,
): Promise<Crew | Problem> {
  const common = await commonCrew(base);
  if (isProblem(common)) return common;
  const agentOf = ({ id }: LaneHead) => who[Number(id.slice(1)) - 1];
  const [title = 'the task'] = task.split('\n').filter(line => line.trim() !== '');
  return {
    ...common.crew,
    lanes: () =>
      who.map(({ name }, at) => ({
        id: `A${at + 1}`,
        title: `${title.replace(/^#+\s*/, '').slice(0, 60)} (${name})`,
        priority: 1,
        needs: [],
        files: [],
      })),
    open: child => open(base, child, task, agentOf(child.lane)),
    resume: child => resumeChild(base, child, undefined, agentOf(child.lane)),
    choose: (parts, attempts) => chooseAttempt(parts, task, attempts),
  };
}

async function commonCrew(base: ChildBase) {
  const { settings, env, project } = base.parts;
  const repository = await findRepository({ cwd: project.root, env });
  if (isProblem(repository)) return repository;
  const checks = checksOf(settings.checks, settings);
  return {
    prefix: repository.prefix,
    crew: {
      command: 'loop',
      success: 'all_checks_passed',
      branch: (await currentBranch(repository.git)) ?? null,
      isReviewed: false,
      ownPaths: [],
      firstFiles: () => [],
      checksFor: () => checks,
      filesWith: async () => [],
      landed() {},
      message: ({ title }: LaneHead) => title,
    } satisfies Partial<Crew>,
  };
}

function open(base: ChildBase, child: ChildRequest, task: string, agent?: ChosenAgent) {
  const { sentBack, worktree, lane } = child;
  return openChild(base, child, laneTask({ task, lane: lane.id, sentBack, worktree }), agent);
}

export interface LaneTask extends Pick<TaskGiven, 'task' | 'lane' | 'worktree'> {
  /** Why it begins anew. */
  readonly sentBack?: SentBack | undefined;
}

/** One task of a list as a run of its own. */
export function laneTask({ task, sentBack, ...given }: LaneTask): RunKind {
  const back = sentBack ? `\n\n## It was sent back\n\n${sentBackWords(sentBack)}` : '';
  return taskKind({ ...given, task: `${task}${back}` });
}
