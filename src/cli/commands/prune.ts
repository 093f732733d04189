/** `ralph prune`: frees disk space. Nothing is ever removed by itself. */

import { choosePruned, parseAge } from '../../domain/run/prune.ts';
import { formatProblem, type Problem } from '../../domain/text/problem.ts';
import { systemClock } from '../../platform/clock.ts';
import { counted, megabytes } from '../../report/numbers.ts';
import { phrase } from '../../report/phrases.ts';
import { type ProjectPaths, projectAt } from '../../store/paths.ts';
import { emptyTrash, type PrunableRun, prunableRuns, removeRaw, removeRun } from '../../store/prune.ts';
import { type Collected, collectGit } from '../../workspace/collect.ts';
import { removeLanes } from '../../workspace/remove-lanes.ts';
import { removeWorktree } from '../../workspace/remove-worktree.ts';
import { answer, type Call, type CliCommand, Problems } from '../command.ts';

export const prune: CliCommand = {
  declare: command =>
    command
      .option('--keep <n>', 'keep this many of the latest runs')
      .option('--older-than <age>', 'only runs that started longer ago: 30d, 12h, 2w')
      .option('--raw', 'only the raw output of the agents; keep ledgers, prompts and check logs')
      .option('--worktrees', 'also the worktrees of these runs, if everything in them is merged')
      .option('--places', 'what workers of a fleet that have ended left on this machine; no runs')
      .option('--force', 'also runs that can still be resumed, and work that is nowhere else')
      .option('--dry-run', 'print what would be removed, and remove nothing'),
  help: `
Examples:
  ralph prune --older-than 30d --dry-run
  ralph prune --keep 20
  ralph prune --raw --older-than 7d
  ralph prune --older-than 30d --worktrees
  ralph prune --places --older-than 7d

Prints what is removed and its size. A running run is never removed; one that
can be resumed only with --force; a worktree only when all of it is merged; the
place of a unit whose work no remote took only with --force.
What Ralph keeps of a work tree goes when no run in it is left.
`,
  async run(call) {
    if (call.options.places === true) return prunePlaces(call);
    const project = projectAt(call.cwd, call.env);
    const rule = ruleOf(call);
    const runs = prunableRuns(project);
    const force = call.options.force === true;
    const { go, spared } = choosePruned(runs, { force, ...rule });
    const raw = call.options.raw === true;
    const isDry = call.options.dryRun === true;
    const chosen = raw ? go.filter(run => run.rawBytes > 0) : go;
    const bytes = chosen.reduce((sum, run) => sum + (raw ? run.rawBytes : run.bytes), 0);
    const made = isDry || raw ? [] : await tearDownLanes(call, project, chosen);
    if (!isDry) {
      emptyTrash(project);
      // Those that belong to it first: what is left of a removal that was cut off still has its parent.
      for (const { id, children } of chosen)
        for (const each of [...children, id]) (raw ? removeRaw : removeRun)(project, each);
    }
    const stays = runs.filter(run => !chosen.includes(run));
    const worktrees = call.options.worktrees === true && !raw ? orphans(chosen, stays) : [];
    const lanes = call.options.worktrees === true && !raw ? chosen.filter(run => run.isParallel) : [];
    const trees = isDry ? [] : await removeTrees(call, project, worktrees, lanes);
    const kept = [...made, ...trees];
    const git = raw ? NOTHING : collectGit(call.env, isDry);
    print(call, { chosen, bytes, raw, isDry, spared, worktrees, kept, git });
    return 0;
  },
};

async function prunePlaces(call: Call): Promise<0> {
  const { env, options, output } = call;
  const { findLeftovers, removeLeftover } = await import('../../fleet/leftovers.ts');
  const { before = Number.POSITIVE_INFINITY } = ruleOf(call);
  const [isDry, force] = [options.dryRun === true, options.force === true];
  const found = findLeftovers(env).filter(({ since }) => since < before);
  const go = found.filter(({ why }) => why === undefined || force);
  const kept: string[] = found
    .filter(each => !go.includes(each))
    .map(({ unit, place, why }) => `${unit}: its work is in ${place} and nowhere else: ${why}`);
  for (const each of isDry ? [] : go) {
    const left = await removeLeftover(env, each);
    if (left !== undefined) kept.push(`${each.unit}: ${left}`);
  }
  const value = {
    removed: isDry ? [] : go.map(({ unit }) => unit),
    chosen: go.map(({ unit }) => unit),
    kept,
  };
  answer(output, value, () =>
    [
      ...go.map(({ unit, place }) => `  ${phrase(unit)}  ${phrase(place)}`),
      ...kept.map(line => `  kept ${phrase(line)}`),
      go.length === 0
        ? 'Nothing to remove.'
        : `${isDry ? 'Would remove' : 'Removed'} ${counted(go.length, 'place')}.`,
    ].join('\n'),
  );
  return 0;
}

function ruleOf({ options }: Call): { readonly keep?: number; readonly before?: number } {
  const { keep, olderThan, raw, places } = options;
  const problems: Problem[] = [];
  const count = keep === undefined ? undefined : Number(keep);
  if (count !== undefined && !(Number.isSafeInteger(count) && count >= 0))
    problems.push({ where: `--keep ${keep}`, what: 'must be a whole number, 0 or more' });
  const age = typeof olderThan === 'string' ? parseAge(olderThan) : undefined;
  if (olderThan !== undefined && age === undefined)
    problems.push({
      where: `--older-than ${olderThan}`,
      what: 'must be a number and one of s, m, h, d, w',
      fix: '30d',
    });
  if (keep === undefined && olderThan === undefined && raw !== true && places !== true)
    problems.push({
      where: 'ralph prune',
      what: 'say which runs to remove',
      fix: '--keep 20, --older-than 30d, --raw, or --places',
    });
  if (problems.length > 0) throw new Problems(problems);
  return {
    ...(count !== undefined && { keep: count }),
    ...(age !== undefined && { before: systemClock.now() - age }),
  };
}

/** What `laneSetup` made for a run that could have been resumed: only its record says how that is taken away. */
async function tearDownLanes(
  { env }: Call,
  project: ProjectPaths,
  chosen: readonly PrunableRun[],
): Promise<readonly string[]> {
  const parallel = chosen.filter(run => run.isParallel && run.resumable);
  if (parallel.length === 0) return [];
  const { tearDownRun } = await import('../../opening/tear-down.ts');
  const left: Problem[] = [];
  for (const { id } of parallel) left.push(...(await tearDownRun({ project, env, id })));
  return left.map(problem => `kept: ${formatProblem(problem)}`);
}

/** Worktrees that no other run has worked in. */
function orphans(gone: readonly PrunableRun[], stays: readonly PrunableRun[]): readonly string[] {
  const used = new Set(stays.flatMap(run => run.worktrees));
  const single = gone.filter(run => !run.isParallel);
  return [...new Set(single.flatMap(run => run.worktrees))].filter(name => !used.has(name));
}

/** Of worktrees and of what parallel runs have left in the repository. Returns why each of those that were kept was kept. */
async function removeTrees(
  { env }: Call,
  { root }: ProjectPaths,
  names: readonly string[],
  runs: readonly PrunableRun[],
): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const name of names) {
    const problem = await removeWorktree({ root, env, name });
    if (problem) kept.push(`kept worktree ${name}: ${formatProblem(problem)}`);
  }
  for (const { id: run } of runs) {
    const { problems } = await removeLanes({ root, env, run, force: false });
    kept.push(...problems.map(problem => `kept: ${formatProblem(problem)}`));
  }
  return kept;
}

const NOTHING: Collected = { tops: [], bytes: 0 };

interface Pruned {
  readonly chosen: readonly PrunableRun[];
  readonly bytes: number;
  readonly raw: boolean;
  readonly isDry: boolean;
  readonly spared: readonly { readonly run: PrunableRun; readonly why: string }[];
  readonly worktrees: readonly string[];
  readonly kept: readonly string[];
  /** What was kept of work trees that no run is on record of. */
  readonly git: Collected;
}

function print({ output }: Call, { chosen, bytes, raw, isDry, spared, worktrees, kept, git }: Pruned): void {
  const ids = chosen.map(run => run.id);
  const left = spared.map(({ run, why }) => ({ id: run.id, why }));
  const value = { removed: isDry ? [] : ids, chosen: ids, raw, bytes, spared: left, worktrees, kept, git };
  const verb = isDry ? 'Would remove' : 'Removed';
  const what = raw ? `the raw output of ${counted(chosen.length, 'run')}` : counted(chosen.length, 'run');
  const lines = [
    ...chosen.map(run => `  ${run.id}  ${megabytes(raw ? run.rawBytes : run.bytes)}`),
    ...spared.map(({ run, why }) => `  ${run.id}  kept: ${why}`),
    ...kept.map(text => `  ${text}`),
    ...(chosen.length === 0 && git.tops.length > 0
      ? []
      : [chosen.length === 0 ? 'Nothing to remove.' : `${verb} ${what}, ${megabytes(bytes)}.`]),
    ...(git.tops.length === 0
      ? []
      : [
          `${verb} what Ralph kept of ${counted(git.tops.length, 'work tree')} without runs, ${megabytes(git.bytes)}.`,
        ]),
  ];
  answer(output, value, () => lines.join('\n'));
}
