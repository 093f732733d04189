/** `ralph prd status`: the stories and their state. */

import { parentOf } from '../../../domain/lanes/board.ts';
import type { RunOverview } from '../../../domain/run/overview.ts';
import { nextAssignment, openStories } from '../../../domain/stories/assignment.ts';
import { answerCommand } from '../../../domain/stories/questions.ts';
import type { StoryList } from '../../../domain/stories/story.ts';
import { findInvalidStories } from '../../../domain/stories/transitions.ts';
import { pick } from '../../../domain/text/fields.ts';
import { systemClock } from '../../../platform/clock.ts';
import { boardLines } from '../../../report/board-lines.ts';
import { readBoard } from '../../../report/read-run.ts';
import { storiesLines } from '../../../report/stories.ts';
import { titled } from '../../../report/style.ts';
import { isLive, readActive } from '../../../store/active-file.ts';
import { withoutClaims } from '../../../store/approvals.ts';
import { overviewIn } from '../../../store/child-runs.ts';
import { readMessages } from '../../../store/inbox.ts';
import { isRunning } from '../../../store/lease.ts';
import { overviewOf } from '../../../store/overview.ts';
import { type ProjectPaths, projectAt, projectPaths, runPaths } from '../../../store/paths.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { listRuns, readRunFile } from '../../../store/run-file.ts';
import { isList, loadTasks } from '../../../store/tasks-file.ts';
import { answer, type Call, type CliCommand, Problems } from '../../command.ts';
import { styleOf } from '../../reporters.ts';
import { declarePlace, factsOf, placeOf } from './place.ts';

const POLICY = { skipReview: false, reviewCap: Number.MAX_SAFE_INTEGER, atCap: 'approve' } as const;

export const status: CliCommand = {
  declare: command => declarePlace(command),
  help: '\nExamples:\n  ralph prd status\n  ralph prd status --json\n',
  async run(given) {
    const { call, paths } = placeOf(given);
    const list = loadTasks(paths.tasks, `${paths.name}/tasks.json`);
    if (!isList(list)) throw new Problems(list);
    const project = projectAt(call.cwd, call.env);
    const loop = loopOf(paths);
    const problems = findInvalidStories(list.userStories, POLICY);
    const { output } = call;
    const facts = await factsOf(call, paths, list);
    const reviewed = withoutClaims(list, facts.claimed);
    const { mode, story } = nextAssignment(reviewed, POLICY);
    const next = story ? { mode, story: story.id } : null;
    const running = loop
      ? `process ${loop.pid}${loop.runId ? `, run ${loop.runId}` : ''}, ${loop.mode}${loop.story ? ` ${loop.story}` : ''}`
      : 'not running';
    const questions = questionsOf(call, paths);
    const view = { list, next: nextWords(reviewed, next), loop: running, questions, ...facts };
    const { branch = null, claimed } = facts;
    const run = parallelRun(project, paths);
    const board = run && readBoard(project, run.id, systemClock.now());
    const parallel = run ? pick(run, 'id', 'state', 'lanes') : null;
    const style = styleOf(output);
    answer(output, { ...list, next, loop, problems, branch, claimed, questions, parallel }, () =>
      [
        ...storiesLines(view, style),
        ...(run && board ? ['', titled(style, `${run.id}: ${run.state}`), ...boardLines(board, style)] : []),
      ].join('\n'),
    );
    if (!output.json) for (const problem of problems) output.error(`${problem}\n`);
    return 0;
  },
};

function runsOf(project: ProjectPaths, { name }: PrdPaths): readonly string[] {
  return listRuns(project).filter(id => {
    const file = readRunFile(runPaths(project, id));
    return file?.command === 'prd' && (file.given?.ralphDir ?? 'ralph') === name;
  });
}

/** The parallel run of this list that is running, else the latest one; an earlier one is history when others followed. */
function parallelRun(project: ProjectPaths, prd: PrdPaths): RunOverview | undefined {
  const own = runsOf(project, prd).filter(id => parentOf(id) === undefined);
  const isParallel = (id: string) => readRunFile(runPaths(project, id))?.given?.parallel === 'stories';
  const running = own.findLast(id => isParallel(id) && isRunning(runPaths(project, id)));
  const wanted = running ?? own.slice(-1).find(isParallel);
  return wanted === undefined ? undefined : overviewIn(project, wanted);
}

function loopOf(paths: PrdPaths) {
  const active = readActive(paths.active);
  if (!active?.process || !isLive(active)) return null;
  const { process, runId, terms } = active;
  return { pid: process.pid, runId: runId ?? null, mode: terms.mode, story: terms.story ?? null };
}

/** Of the latest run of this list, while it is running or can be resumed; an answer that waits for it is given. */
function questionsOf({ cwd, env }: Call, prd: PrdPaths) {
  const project = projectPaths(cwd, env);
  const run = runsOf(project, prd).at(-1);
  if (run === undefined) return [];
  const paths = runPaths(project, run);
  const { questions, stopReason, resumable } = overviewOf(run, paths);
  if (stopReason !== null && !resumable) return [];
  const given = readMessages(paths).flatMap(each => (each.kind === 'answer' ? [each.story] : []));
  return questions
    .filter(({ story }) => !given.includes(story))
    .map(({ story, question }) => ({ story, question, run, answer: answerCommand(story) }));
}

function nextWords(list: StoryList, next: { mode: string; story: string } | null): string {
  if (openStories(list, { skipReview: true }).length === 0) return 'all done; `ralph prd archive`';
  return next ? `${next.mode} ${next.story}; \`ralph prd run\`` : 'nothing';
}
