/** `ralph loop`: one task, the items of a list (`--tasks FILE --parallel N`), or several attempts at one (`--best-of N`); and what does not go together. */

import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings-shape.ts';
import { likelyFiles } from '../../domain/lanes/admit.ts';
import type { LaneHead } from '../../domain/lanes/board.ts';
import { type MarkdownTask, readMarkdownTasks, tickTask } from '../../domain/stories/markdown-tasks.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import type { ChildRequest, LaneWork } from '../../parallel/lane-work.ts';
import type { RemoteLanes } from '../../parallel/lanes.ts';
import { warn } from '../../run/steps.ts';
import { checksOf } from '../../run/turns/check-round.ts';
import { type ChosenAgent, chooseNamed } from '../../run/turns/choose-agent.ts';
import type { RunContext } from '../../run/turns/context.ts';
import { findRepository } from '../../workspace/repository.ts';
import { chooseAttempt } from '../choose-attempt.ts';
import type { Job, LaneRuns } from '../job.ts';
import { laneTask, parallelJob } from './parallel.ts';
import { type TaskGiven, taskJob } from './task.ts';

/** `file`: from the project; `source`: its text when the run began. */
export function parallelTasks(
  file: string,
  source: string,
  { parallel: slots }: Settings,
  elsewhere?: RemoteLanes,
): Job {
  return parallelJob({
    ...{ command: 'loop', slots, elsewhere, task: source },
    given: { parallel: 'tasks', tasks: file },
    title: `Tasks of ${file}`,
    work: (context, lanes) => tasksWork({ file, source }, context, lanes),
  });
}

export function bestOf(task: string, settings: Settings): Job {
  return parallelJob({
    ...{ command: 'loop', slots: settings.bestOf, task },
    given: { parallel: 'attempts' },
    async work(context, lanes) {
      const who = attemptAgents(context);
      return isProblem(who) ? who : attemptsWork(task, who, context, lanes);
    },
  });
}

/** In turn, as often as there are attempts. */
function attemptAgents({ settings, agent, project, env }: RunContext): readonly ChosenAgent[] | Problem {
  const names = (settings.attemptAgents ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');
  const { fromFiles } = loadSettings(project, 'loop', {});
  const world = { cwd: project.root, env };
  const chosen = names.map(name => chooseNamed('--agents', name, settings, fromFiles, world));
  const problem = chosen.find(isProblem);
  if (problem) return problem;
  const all = chosen.filter((each): each is ChosenAgent => !isProblem(each));
  const [first = agent] = all;
  return Array.from({ length: settings.bestOf }, (_, at) => all[at % Math.max(1, all.length)] ?? first);
}

/** Why a list cannot be worked on. */
export function listFlaw(source: string): { readonly what: string; readonly fix: string } | undefined {
  // To tick an item the list is written again: what could not be read would be lost.
  if (source.includes('\uFFFD'))
    return { what: 'it has bytes that are not UTF-8, which Ralph would not keep', fix: 'save it as UTF-8' };
  if (openTasks(source).length > 0) return undefined;
  return { what: 'there is no open task in it', fix: 'write them as `- [ ] what to do`' };
}

/** The tasks of a Markdown list that are not ticked. */
export function openTasks(source: string): readonly MarkdownTask[] {
  return readMarkdownTasks(source).drafts.filter(({ isDone }) => !isDone);
}

/** For each one to build it, and one more where it is sent back or its checks are red. */
export function iterationsFor(source: string): number {
  return 2 * openTasks(source).length;
}

export interface TaskList {
  /** Its text when the run began. */
  readonly source: string;
  /** The file, from the project. */
  readonly file: string;
}

export async function tasksWork(
  { source, file }: TaskList,
  context: RunContext,
  lanes: LaneRuns,
): Promise<LaneWork | Problem> {
  const common = await commonWork(context);
  if (isProblem(common)) return common;
  const tasks = openTasks(source);
  const path = `${common.prefix}${file}`;
  const said = new Set<string>();
  const taskOf = ({ id }: LaneHead) => taskText(tasks[Number(id.slice(1)) - 1]);
  return {
    ...common.work,
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
      const task = tasks[Number(lane.slice(1)) - 1];
      const after = before === undefined || !task ? undefined : tickTask(before, task.place);
      if (after !== undefined) return [[path, after]];
      const missing =
        before === undefined
          ? `${file} is in no commit`
          : `${task?.title ?? lane} is in no item of ${file} any more`;
      const what = `${missing}, so what lands is not ticked there: tick or remove it, or a second run does it again.`;
      if (!said.has(what)) warn(context.emit, what);
      said.add(what);
      return [];
    },
    taskOf,
    open: child => open(lanes, child, taskOf(child.lane)),
    resume: child => lanes.resume(child),
  };
}

function taskText(task: MarkdownTask | undefined): string {
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
export async function attemptsWork(
  task: string,
  who: readonly ChosenAgent[],
  context: RunContext,
  lanes: LaneRuns,
): Promise<LaneWork | Problem> {
  const common = await commonWork(context);
  if (isProblem(common)) return common;
  const agentOf = ({ id }: LaneHead) => who[Number(id.slice(1)) - 1];
  const [title = 'the task'] = task.split('\n').filter(line => line.trim() !== '');
  return {
    ...common.work,
    lanes: () =>
      who.map(({ name }, at) => ({
        id: `A${at + 1}`,
        title: `${title.replace(/^#+\s*/, '').slice(0, 60)} (${name})`,
        priority: 1,
        needs: [],
        files: [],
      })),
    open: child => open(lanes, child, task, agentOf(child.lane)),
    resume: child => lanes.resume(child, undefined, agentOf(child.lane)),
    choose: (parts, attempts) => chooseAttempt(parts, task, attempts),
  };
}

async function commonWork({ settings, env, project }: RunContext) {
  const repository = await findRepository({ cwd: project.root, env });
  if (isProblem(repository)) return repository;
  const checks = checksOf(settings.checks, settings);
  return {
    prefix: repository.prefix,
    work: {
      command: 'loop',
      success: 'all_checks_passed',
      branch: repository.head.branch ?? null,
      isReviewed: false,
      ownPaths: [],
      firstFiles: () => [],
      checksFor: () => checks,
      filesWith: async () => [],
      landed() {},
      message: ({ title }: LaneHead) => title,
    } satisfies Partial<LaneWork>,
  };
}

function open(lanes: LaneRuns, child: ChildRequest, task: string, agent?: ChosenAgent) {
  const { sentBack, worktree, lane } = child;
  return lanes.open(child, laneTask({ task, lane: lane.id, sentBack, worktree }), agent);
}

export interface LoopGiven extends TaskGiven {
  /** The file whose tasks are worked on, each for itself; then `task` is its text. */
  readonly tasks?: string | undefined;
}

export function loopJob({ tasks, ...given }: LoopGiven, settings: Settings): Job {
  if (tasks !== undefined) return parallelTasks(tasks, given.task, settings);
  return settings.bestOf > 1 ? bestOf(given.task, settings) : taskJob(given);
}

/** What was asked for in so many words, in a command or a call. */
export interface LoopInput {
  readonly task: string | undefined;
  readonly tasks: string | undefined;
  readonly spec: string | undefined;
  readonly worktree: boolean;
  readonly parallel: boolean;
  readonly bestOf: boolean;
  readonly agents: boolean;
}

/** What does not go together, and a list without tasks. */
export function parallelProblems(
  { task: words, tasks, spec, worktree, parallel, bestOf: attempted, agents }: LoopInput,
  { bestOf: attempts }: Settings,
  task: string | Problem,
): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (where: string, what: string, fix?: string) =>
    problems.push({ where, what, ...(fix && { fix }) });
  if (tasks !== undefined && (words !== undefined || spec !== undefined))
    refuse('--tasks', 'the tasks are in the file, so there is no other', 'leave out the task and --spec');
  if (tasks !== undefined && attempted) refuse('--best-of', 'it is for one task, and --tasks names several');
  if (tasks === undefined && parallel)
    refuse(
      '--parallel',
      'there is one task, so there is nothing to do beside it',
      '--tasks FILE, or --best-of N',
    );
  if (agents && attempts === 1) refuse('--agents', 'it is for --best-of', '--best-of 3');
  if ((tasks !== undefined || attempts > 1) && worktree)
    refuse('--worktree', 'each of them has a worktree of its own', 'leave it out');
  const flaw = tasks !== undefined && typeof task === 'string' ? listFlaw(task) : undefined;
  if (flaw) refuse(`--tasks ${tasks}`, flaw.what, flaw.fix);
  return problems;
}
