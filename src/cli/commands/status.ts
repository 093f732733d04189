/** `ralph status`: which runs there were, which are running, how they ended; once, or until Ctrl-C; here, or on the whole machine. */
import { parentOf } from '../../domain/lanes/board.ts';
import type { RunOverview } from '../../domain/run/overview.ts';
import { isProblem } from '../../domain/text/problem.ts';
import { systemClock } from '../../platform/clock.ts';
import { boardLines } from '../../report/board-lines.ts';
import { readBoard } from '../../report/read-run.ts';
import { type Resuming, statusLines, worktreeLines } from '../../report/status.ts';
import { titled } from '../../report/style.ts';
import { childrenOf, overviewIn } from '../../store/child-runs.ts';
import { createDoneSince } from '../../store/overview.ts';
import { type ProjectPaths, projectAt, projectPaths, runPaths } from '../../store/paths.ts';
import { knownProjects } from '../../store/projects.ts';
import { findRun, listRuns, readRunFile } from '../../store/run-file.ts';
import { listSessions } from '../../store/session-file.ts';
import { endDeleted } from '../../store/session-ledger.ts';
import { ownerOf } from '../../workspace/lock.ts';
import { listWorktrees } from '../../workspace/worktree.ts';
import { type Call, type CliCommand, orThrow, wholeNumber } from '../command.ts';
import { pasteable } from '../output.ts';
import { styleOf } from '../reporters.ts';
import { watch } from '../signals.ts';
import { repairShown } from '../which-run.ts';

const SHOWN = 20;

export const status: CliCommand = {
  declare: command =>
    command
      .argument('[run]', 'a run, or part of its id; without it the latest ones')
      .option('-a, --all', 'every project on this machine in which Ralph has worked')
      .option('-n, --last <n>', `so many runs of each project, 0 for all (default: ${SHOWN})`)
      .option('--watch', 'show it again whenever it changes, until Ctrl-C'),
  help: '\nExamples:\n  ralph status\n  ralph status --watch\n  ralph status --all --json | jq .projects\n',
  async run(call) {
    const { last: most = SHOWN } = call.options;
    const last = wholeNumber('--last', most, 0, Number.MAX_SAFE_INTEGER, 'must be a whole number, 0 for all');
    repairLatest(call, last);
    if (call.options.watch === true)
      return watch(call.output, async () => rendered(call, await lookAt(call, last)));
    const seen = await lookAt(call, last);
    call.output.answer(rendered(call, seen));
    // Of one that is named; in a list each says it for itself.
    const isBelieved = seen.every(({ runs }) => runs.every(({ ledger }) => ledger.kind === 'intact'));
    return call.args[0] === undefined || isBelieved ? 0 : 1;
  },
};

/** Of this project; those of others are put right where somebody looks at them. */
function repairLatest({ args: [wanted], options, cwd, env, output }: Call, last: number): void {
  const project = projectAt(cwd, env);
  const found = wanted === undefined ? undefined : findRun(project, wanted);
  const ids = found === undefined ? listRuns(project).slice(-last) : isProblem(found) ? [] : [found];
  if (options.all !== true)
    repairShown(
      output,
      ids.map(id => runPaths(project, id)),
    );
}

type ProjectStatus = Awaited<ReturnType<typeof lookAt>>[number];

async function lookAt({ args: [wanted], options, cwd, env }: Call, last: number) {
  const roots = options.all === true ? knownProjects(env) : [projectAt(cwd, env).root];
  return Promise.all(
    roots.map(async root => {
      const project = projectPaths(root, env);
      endDeleted(root);
      // Those that belong to a parallel run are shown with it, when it is named.
      const ids =
        wanted === undefined
          ? listRuns(project).filter(id => parentOf(id) === undefined)
          : [orThrow(findRun(project, wanted))];
      const shown = last === 0 ? ids : ids.slice(-last);
      const worktrees = await listWorktrees({ root, env });
      const isOpen = createDoneSince(project);
      const runs = [...shown]
        .reverse()
        .map(id => isOpen(overviewIn(project, id)))
        .map(run =>
          run.resumable && isMerged(project, run.id, worktrees) ? { ...run, resumable: false } : run,
        )
        .reverse();
      const children = wanted === undefined ? [] : shown.flatMap(id => childrenOf(project, id));
      return {
        root,
        // Of one that is named also those that belong to it.
        runs: [...runs, ...children.map(id => overviewIn(project, id))],
        boards: runs.flatMap(run => boardOf(project, run, wanted !== undefined)),
        worktrees,
        // Files of in-session loops that no user of this machine started.
        strangers: listSessions(root, env).filter(file => 'stranger' in file),
        /** The process of its `ralph watch`. */
        watching: ownerOf(project.state().watch)?.pid ?? null,
        resuming: await resumingOf({ project, env }, runs),
      };
    }),
  );
}

/** All that it has committed is in the user's branch, and nothing else is left: whoever merged it has decided. */
function isMerged(
  project: ProjectPaths,
  id: string,
  worktrees: Awaited<ReturnType<typeof listWorktrees>>,
): boolean {
  const { worktree, startRef } = readRunFile(runPaths(project, id))?.given ?? {};
  const there = worktrees.find(({ name }) => name === worktree);
  return there !== undefined && there.ahead === 0 && !there.dirty && there.commit !== startRef;
}

async function resumingOf(
  world: { readonly project: ProjectPaths; readonly env: Call['env'] },
  runs: readonly RunOverview[],
): Promise<Resuming> {
  const latest = runs.findLast(run => run.resumable)?.id;
  if (latest === undefined) return {};
  const { findResumable, hasChanged } = await import('../../opening/resume-run.ts');
  const meant = findResumable(world.project, undefined);
  const changed = (await hasChanged(world, latest)) ? latest : undefined;
  return { meant: isProblem(meant) ? undefined : meant, changed };
}

/** Of a parallel run that is running, and of one that is named. */
function boardOf(project: ProjectPaths, { id, lanes, stopReason, state }: RunOverview, isNamed: boolean) {
  const isOver = stopReason !== null || state === 'crashed' || state === 'unstarted';
  const view = lanes && (isNamed || !isOver) ? readBoard(project, id, systemClock.now()) : undefined;
  return view ? [{ id, view }] : [];
}

function rendered({ options, output }: Call, projects: readonly ProjectStatus[]): string {
  if (output.json) {
    const [first = { runs: [], worktrees: [], strangers: [], watching: null }] = projects;
    const { runs, worktrees, strangers, watching } = first;
    const all = projects.map(({ boards: _, resuming: __, ...rest }) => rest);
    return `${JSON.stringify(options.all === true ? { projects: all } : { runs, worktrees, strangers, watching })}\n`;
  }
  const style = styleOf(output);
  const now = systemClock.now();
  const lines = projects.map(({ root, runs, boards, worktrees, strangers, resuming, watching }) => [
    ...(options.all === true ? [root] : []),
    // Of several projects a command has to name the run.
    ...statusLines(runs, style, now, options.all === true ? { changed: resuming.changed } : resuming),
    ...boards.flatMap(({ id, view }) => ['', titled(style, id), ...boardLines(view, style)]),
    ...(watching === null ? [] : ['', `Watching issues: process ${watching}`]),
    ...worktreeLines(worktrees, style),
    ...strangers.map(({ path, stranger }) => `! ${path} ${stranger}.`),
  ]);
  if (lines.length === 0) return 'No project on this machine has runs yet. Start one: `ralph run -p "…"`.\n';
  return pasteable(`${lines.map(each => each.join('\n')).join('\n\n')}\n`, output);
}
