/** `ralph land` and `ralph discard`: what a run left becomes part of the user's branch, or goes, with the command that brings it back. */
import { type CheckResult, redChecks } from '../../domain/checks/check.ts';
import { redReason } from '../../domain/checks/words.ts';
import type { Conflict } from '../../domain/lanes/conflict.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { databaseUrl } from '../../fleet/database-url.ts';
import type { DiscardResult } from '../../opening/discard.ts';
import type { LandResult } from '../../opening/land.ts';
import { joinWords } from '../../platform/shell.ts';
import { harmless } from '../../platform/text.ts';
import { counted } from '../../report/numbers.ts';
import { phrase } from '../../report/phrases.ts';
import { type ProjectPaths, projectAt } from '../../store/paths.ts';
import { type Removed, removedLines } from '../../workspace/remove-lanes.ts';
import { answer, type Call, type CliCommand, orThrow, refuse, refuseInside } from '../command.ts';
import { untilStopped } from '../signals.ts';
import { RUN_ARGUMENT } from '../which-run.ts';

const ACCEPT = [
  '--accept-changes',
  'although the ledger of the run has been changed since: look at the work first',
] as const;

export const land: CliCommand = {
  declare: command =>
    command
      .argument(...RUN_ARGUMENT)
      .option('--dry-run', 'print what would land, run no check, and change nothing')
      .option(...ACCEPT),
  help: `
Examples:
  ralph land
  ralph land --dry-run
  ralph land 20261115-1203
  git fetch && ralph land UNIT        # a unit of a fleet

Merges what a run left into the branch that you are on: a worktree, a branch, or
what it changed in your files, and nothing of yours. First every check of the
run must pass on the merged tree. Then its worktree and its branch are removed,
if nothing is in them that is nowhere else.
Exit code 0: it has landed, or had before. 1: it conflicts, or a check is red;
nothing was changed. 2: something you can fix. 130: interrupted.
`,
  async run(call) {
    refuseInside('land', call);
    const { project, id } = await wanted(call);
    const { landRun } = await import('../../opening/land.ts');
    const { env, options, output } = call;
    const result = await untilStopped(abort =>
      landRun({
        ...{ project, env, id, abort, isDry: options.dryRun === true },
        acceptChanges: options.acceptChanges === true,
        begins: command => output.error(`Checking the merged tree: \`${command}\` …\n`),
      }),
    );
    const landed = orThrow(result as LandResult | Problem);
    answer(output, landed, () => landLines(landed, project).join('\n'));
    return EXIT[landed.outcome];
  },
};

const EXIT: Readonly<Record<LandResult['outcome'], ExitCode>> = {
  landed: 0,
  would_land: 0,
  nothing: 0,
  conflict: 1,
  red: 1,
  interrupted: 130,
};

/** A run; or what came of a unit of a fleet, where it was fetched. */
async function wanted({ cwd, env, args: [given] }: Call) {
  const project = projectAt(cwd, env);
  const { findLandable } = await import('../../opening/fetched-unit.ts');
  const id = await findLandable({ project, env }, given);
  if (isProblem(id) && given !== undefined && !isProblem(databaseUrl({}, env)))
    refuse(given, id.what, 'where it is a unit of a fleet, `git fetch` brings its branch here first');
  return { project, id: orThrow(id) };
}

function landLines(result: LandResult, project: ProjectPaths): readonly string[] {
  const { notes } = result;
  switch (result.outcome) {
    case 'landed':
    case 'would_land':
      return [...landedLines(result), ...notes];
    case 'nothing':
      return [`Nothing to land: ${phrase(result.why)}.`, ...cleanedLines(result), ...notes];
    case 'conflict':
      return conflictLines(result, project);
    case 'red':
      return [
        `Not landed: with this work the checks fail on ${phrase(result.branch)}. Nothing was changed.`,
        ...redLines(result.checks),
        `Next: ${fixThere(result, project, 'Make the checks pass')}`,
      ];
    case 'interrupted':
      return ['Interrupted. Nothing was changed.'];
    default:
      return result satisfies never;
  }
}

const HOW = {
  commit: 'committed as',
  'fast-forward': 'fast-forward to',
  merge: 'merged as',
} as const;

type Result = Extract<LandResult, { outcome: 'landed' | 'would_land' }>;

function landedLines(result: Result): readonly string[] {
  const { branch, how, commit, files, left, outcome } = result;
  const isDry = outcome === 'would_land';
  const first = isDry
    ? `Would land on ${phrase(branch)}: ${counted(files.length, 'file')}, ${DRY[how]}, if the checks pass.`
    : `Landed on ${phrase(branch)}: ${counted(files.length, 'file')}, ${HOW[how]} ${commit.slice(0, 12)}.`;
  return [
    first,
    ...(isDry ? files.map(file => `  ${phrase(file)}`) : [checkedLine(result)]),
    ...left.map(what => `Not in it: ${phrase(what)}`),
    ...('removed' in result ? cleanedLines(result) : []),
  ];
}

const DRY = { commit: 'as a commit', 'fast-forward': 'as a fast-forward', merge: 'as a merge' } as const;

function checkedLine({ checks, isFetched }: Pick<Result, 'checks' | 'isFetched'>): string {
  const names = checks.filter(({ isSetup }) => !isSetup).map(({ command }) => `\`${phrase(command)}\``);
  if (names.length === 0)
    return isFetched
      ? 'Nothing was checked here: `checks` in .ralph/settings.json is empty.'
      : 'Nothing was checked: the run has no check.';
  return `Passed on the merged tree: ${names.join(', ')}.`;
}

function cleanedLines({ kept, ...gone }: Removed & { readonly kept: readonly string[] }): readonly string[] {
  return [...removedLines(gone).map(phrase), ...kept.map(why => `Kept: ${phrase(why)}`)];
}

type NotLanded = Extract<LandResult, { outcome: 'conflict' }>;

function conflictLines(result: NotLanded, project: ProjectPaths): readonly string[] {
  const { branch, conflicts, from } = result;
  const first = from
    ? `Not landed: it conflicts with ${phrase(branch)}. Nothing was changed.`
    : 'Not landed: you and the run have changed the same lines, so nobody knows whose they are. Nothing was changed.';
  return [
    first,
    ...conflicts.map(conflictLine),
    from
      ? `Next: ${fixThere(result, project, 'Solve the merge conflicts, keep both changes')}`
      : 'Next: commit what you want of them yourself: `git status` shows them.',
  ];
}

function conflictLine({ kind, paths }: Conflict): string {
  return `  ${paths.map(({ path }) => phrase(path)).join(', ')} (${phrase(kind)})`;
}

/** Merged the other way round the agent has both in its files. */
function fixThere(
  {
    branch,
    from,
    worktree,
    uncommitted,
    commands = [],
    isFetched,
    runId,
  }: Omit<NotLanded, 'outcome' | 'conflicts' | 'notes'>,
  project: ProjectPaths,
  task: string,
): string {
  const discard = `or throw it away: \`ralph discard ${runId}\``;
  if (from === undefined) return `fix it in your files and commit it, ${discard}`;
  if (isFetched || worktree === undefined)
    return `\`${joinWords(['git', 'merge', from])}\` and fix it, ${discard}`;
  const git = (...words: readonly string[]) => joinWords(['git', '-C', project.worktree(worktree), ...words]);
  const checks = commands.flatMap(command => ['--check', command]);
  const steps = [
    ...(uncommitted ? [`${git('add', '--all')} && ${git('commit', '--message', 'Work in progress')}`] : []),
    git('merge', branch),
    joinWords(['ralph', 'loop', task, '--worktree', worktree, ...checks]),
    'ralph land',
  ];
  const all = steps.map(step => `\n  \`${step}\``).join('');
  return `merge ${phrase(branch)} into the worktree, let a run fix it there, and land again:${all}`;
}

function redLines(checks: readonly CheckResult[]): readonly string[] {
  return redChecks(checks).flatMap(check => [
    `  \`${phrase(check.command)}\`: ${phrase(redReason(check))}`,
    ...harmless(check.output.trimEnd())
      .split('\n')
      .map(line => `    ${line}`),
  ]);
}

export const discard: CliCommand = {
  declare: command =>
    command
      .argument(...RUN_ARGUMENT)
      .option('--dry-run', 'print what would go, and change nothing')
      .option('--force', 'also delete files in its worktree that git ignores and that are nowhere else')
      .option(...ACCEPT),
  help: `
Examples:
  ralph discard
  ralph discard --dry-run
  ralph discard 20261115-1203
  ralph discard UNIT        # a unit of a fleet that was fetched

Removes the worktree and the branch of a run, or undoes what it changed in your
files, and nothing of yours. What is committed on a branch of yours stays. All
of it is kept under refs/ralph/kept, and the command that brings it back is
printed.
`,
  async run(call) {
    refuseInside('discard', call);
    const { project, id } = await wanted(call);
    const { discardRun } = await import('../../opening/discard.ts');
    const { env, options, output } = call;
    const flags = { isDry: options.dryRun === true, force: options.force === true };
    const acceptChanges = options.acceptChanges === true;
    const result = orThrow(await discardRun({ project, env, id, ...flags, acceptChanges }));
    answer(output, result, () => discardLines(result).join('\n'));
    return result.outcome === 'conflict' ? 1 : 0;
  },
};

function discardLines(result: DiscardResult): readonly string[] {
  if (result.outcome === 'nothing') return [`Nothing to discard: ${phrase(result.why)}.`];
  if (result.outcome === 'conflict')
    return [
      'Not discarded: you have changed the same lines as the run. Nothing was changed.',
      ...result.conflicts.map(conflictLine),
      'Next: take out by hand what you do not want: `git diff` shows it.',
    ];
  const { files, left, back, outcome } = result;
  const isDry = outcome === 'would_discard';
  return [
    ...removedLines(result, isDry ? 'Would remove' : 'Removed').map(phrase),
    ...(files.length === 0 ? [] : [`${isDry ? 'Would undo' : 'Undone'}: ${counted(files.length, 'file')}.`]),
    ...files.map(file => `  ${phrase(file)}`),
    ...left.map(what => `Left: ${phrase(what)}`),
    ...(isDry || back.length === 0 ? [] : ['Bring it back:', ...back.map(command => `  ${command}`)]),
  ];
}
