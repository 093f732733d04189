/** `ralph status`: which runs there were, which are running, how they ended; once, or until Ctrl-C; here, or on the whole machine. */
import { parentOf } from '../../domain/board.ts';
import { pause } from '../../engine/wait.ts';
import { systemClock } from '../../platform/clock.ts';
import { boardLines } from '../../report/board-lines.ts';
import type { BoardView } from '../../report/board-view.ts';
import { readBoard } from '../../report/read-board.ts';
import { statusLines, type WorktreeRow, worktreeLines } from '../../report/status.ts';
import { titled } from '../../report/style.ts';
import { childrenOf, overviewIn } from '../../store/child-runs.ts';
import type { RunOverview } from '../../store/overview.ts';
import { type ProjectPaths, projectAt, projectPaths } from '../../store/paths.ts';
import { knownProjects } from '../../store/projects.ts';
import { findRun, listRuns } from '../../store/run-file.ts';
import { endDeleted } from '../../store/session-end.ts';
import { listSessions, type StrangeFile } from '../../store/session-file.ts';
import { listWorktrees } from '../../workspace/worktree.ts';
import { type Call, type CliCommand, orThrow, refuse } from '../command.ts';
import { pasteable } from '../output.ts';
import { styleOf } from '../reporters.ts';
import { listenForSignals } from '../signals.ts';

const SHOWN = 20;

export const status: CliCommand = {
  declare(command) {
    command
      .argument('[run]', 'a run, or part of its id; without it the latest ones')
      .option('-a, --all', 'every project on this machine in which Ralph has worked')
      .option('-n, --last <n>', `so many runs of each project, 0 for all (default: ${SHOWN})`)
      .option('--watch', 'show it again whenever it changes, until Ctrl-C')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph status\n  ralph status --watch\n  ralph status --all --json | jq .projects\n',
      );
  },
  async run(call) {
    const last = lastOf(call);
    const look = () => lookAt(call, last);
    if (call.options.watch === true) return watch(call, look);
    call.output.answer(rendered(call, await look()));
    return 0;
  },
};

interface ProjectStatus {
  readonly root: string;
  /** Of one that is named also those that belong to it. */
  readonly runs: readonly RunOverview[];
  readonly boards: readonly { readonly id: string; readonly view: BoardView }[];
  readonly worktrees: readonly WorktreeRow[];
  /** Files of in-session loops that no user of this machine started. */
  readonly strangers: readonly StrangeFile[];
  /** The latest run that can be resumed, where its settings are not what they were. */
  readonly changed: string | undefined;
}

function lastOf({ options: { last } }: Call): number {
  if (last === undefined) return SHOWN;
  const count = Number(last);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  return refuse(`--last ${last}`, 'must be a whole number, 0 for all');
}

async function lookAt(
  { args: [wanted], options, cwd, env }: Call,
  last: number,
): Promise<readonly ProjectStatus[]> {
  const roots = options.all === true ? knownProjects(env) : [projectAt(cwd, env).root];
  return Promise.all(
    roots.map(async root => {
      const project = projectPaths(root, env);
      endDeleted(root);
      const ids = wanted === undefined ? wholeRuns(project) : [orThrow(findRun(project, wanted))];
      const shown = last === 0 ? ids : ids.slice(-last);
      const runs = shown.map(id => overviewIn(project, id));
      const children = wanted === undefined ? [] : shown.flatMap(id => childrenOf(project, id));
      return {
        root,
        runs: [...runs, ...children.map(id => overviewIn(project, id))],
        boards: runs.flatMap(run => boardOf(project, run, wanted !== undefined)),
        worktrees: await listWorktrees({ root, env }),
        strangers: listSessions(root, env).filter(file => 'stranger' in file),
        changed: await changedRun(project, runs),
      };
    }),
  );
}

async function changedRun(project: ProjectPaths, runs: readonly RunOverview[]): Promise<string | undefined> {
  const latest = runs.findLast(run => run.resumable)?.id;
  if (latest === undefined) return undefined;
  const { hasChanged } = await import('../../opening/resume-run.ts');
  return (await hasChanged(project, latest)) ? latest : undefined;
}

/** Those that belong to a parallel run are shown with it, when it is named. */
function wholeRuns(project: ProjectPaths): readonly string[] {
  return listRuns(project).filter(id => parentOf(id) === undefined);
}

/** Of a parallel run that is running, and of one that is named. */
function boardOf(project: ProjectPaths, { id, lanes, stopReason, state }: RunOverview, isNamed: boolean) {
  const isOver = stopReason !== null || state === 'crashed';
  const view = lanes && (isNamed || !isOver) ? readBoard(project, id, systemClock.now()) : undefined;
  return view ? [{ id, view }] : [];
}

function rendered({ options, output }: Call, projects: readonly ProjectStatus[]): string {
  if (output.json) {
    const [first = { runs: [], worktrees: [], strangers: [] }] = projects;
    const { runs, worktrees, strangers } = first;
    const all = projects.map(({ boards: _, changed: __, ...rest }) => rest);
    return `${JSON.stringify(options.all === true ? { projects: all } : { runs, worktrees, strangers })}\n`;
  }
  const style = styleOf(output);
  const now = systemClock.now();
  const lines = projects.map(({ root, runs, boards, worktrees, strangers, changed }) => [
    ...(options.all === true ? [root] : []),
    ...statusLines(runs, style, now, changed),
    ...boards.flatMap(({ id, view }) => ['', titled(style, id), ...boardLines(view, style)]),
    ...worktreeLines(worktrees, style),
    ...strangers.map(({ path, stranger }) => `! ${path} ${stranger}.`),
  ]);
  if (lines.length === 0) return 'No project on this machine has runs yet. Start one: `ralph run -p "…"`.\n';
  return pasteable(`${lines.map(each => each.join('\n')).join('\n\n')}\n`, output);
}

const LOOK_EVERY = 1_000;

/** On a terminal in its place, elsewhere below each other; of more lines than fit, the last ones. */
async function watch(call: Call, look: () => Promise<readonly ProjectStatus[]>): Promise<0> {
  const { output } = call;
  const signals = listenForSignals(() => {});
  const inPlace = output.humanIsTTY && !output.json;
  let shown = '';
  while (!signals.stopping.aborted) {
    const next = rendered(call, await look());
    if (next !== shown) output.answer(inPlace ? erased(shown) + fitting(next) : next);
    shown = inPlace ? fitting(next) : next;
    await pause(LOOK_EVERY, signals.stopping);
  }
  signals.dispose();
  return 0;
}

function erased(shown: string): string {
  const lines = shown.split('\n').length - 1;
  return lines === 0 ? '' : `\x1b[${lines}F\x1b[J`;
}

function fitting(text: string): string {
  const room = (process.stdout.rows || 24) - 1;
  const lines = text.trimEnd().split('\n');
  return `${lines.slice(-room).join('\n')}\n`;
}
