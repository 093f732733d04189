/** `ralph resume`: continues a run where its ledger ends. */

import type { Command } from 'commander';
import { listSettingChanges } from '../../config/changes.ts';
import { flagsOf } from '../../config/flags.ts';
import { loadSettings } from '../../config/load.ts';
import { mergeLayers } from '../../config/merge.ts';
import { withoutSecrets } from '../../config/secrets.ts';
import type { SettingsCommand } from '../../config/setting.ts';
import { parentOf } from '../../domain/board.ts';
import type { Spending } from '../../domain/limits.ts';
import { stillSpent } from '../../domain/next.ts';
import type { Past } from '../../domain/past.ts';
import { needsAgent } from '../../domain/past-iteration.ts';
import type { Problem } from '../../domain/problem.ts';
import { raiseOf, resumeCommand, type Used } from '../../domain/resume-command.ts';
import { type ExitCode, isSuccess } from '../../domain/stop-reason.ts';
import { totalTokens } from '../../domain/usage.ts';
import { runAgain } from '../../opening/again.ts';
import { claimRun, clearWorkplace, type ResumableFile, recoverRun } from '../../opening/resume.ts';
import { ownerName } from '../../platform/spawn.ts';
import { deletedRuns, putRunsBack } from '../../store/keep-folder.ts';
import { overviewOf, resumable } from '../../store/overview.ts';
import { type ProjectPaths, projectAt, projectPaths, type RunPaths, runPaths } from '../../store/paths.ts';
import { findRun, listRuns, readRunFile, writeRunFile } from '../../store/run-file.ts';
import { openState } from '../../store/state-check.ts';
import { limitsOf } from '../../turns/plan-parts.ts';
import { sweptWorktreeAgain } from '../../workspace/worktree-again.ts';
import { type Call, type CliCommand, orThrow, Problems, refuse, refuseInside } from '../command.ts';
import { declareFlag, type SetUp, setUp } from '../set-up.ts';
import { startLoop } from '../start.ts';
import { VERSION } from '../version.ts';
import { yamlSettings } from './loop.ts';

/** The settings that may be given anew: how far the run may go, and who works. */
const ANEW = [
  'maximumIterations',
  'maxCost',
  'maxTokens',
  'maxTime',
  'iterationTimeout',
  'idleTimeout',
  'maxWait',
  'maxRetries',
  'fallback',
  'agent',
  'model',
];

export const resume: CliCommand = {
  declare(command: Command) {
    command
      .argument('[run]', 'a run, or part of its id; without it the latest that can be resumed')
      .option('--accept-changes', 'resume although the settings, or the ledger, have changed since');
    declareAnew(command);
    command.addHelpText('after', HELP);
  },
  async run(call) {
    refuseInside('resume', call);
    const project = projectAt(call.cwd, call.env);
    const unfit = openState(project.root, call.env);
    if (unfit) throw new Problems([unfit]);
    const back = putRunsBack(project, deletedRuns(project, call.args[0]));
    for (const id of back) call.output.error(`.ralph/runs/${id} was deleted: it was put back.\n`);
    const id = orThrow(chosen(project, call.args[0]));
    const parent = parentOf(id);
    if (parent !== undefined)
      refuse(id, `it belongs to the run ${parent}, and is resumed with it`, `ralph resume ${parent}`);
    return resumeRunOf(call, project, id);
  },
};

export function declareAnew(command: Command): void {
  for (const flag of flagsOf('loop').filter(({ setting }) => ANEW.includes(setting.key)))
    declareFlag(command, flag, undefined);
}

export async function resumeRunOf(call: Call, project: ProjectPaths, id: string): Promise<ExitCode> {
  const paths = runPaths(project, id);
  const unfit = openState(project.root, call.env);
  if (unfit) throw new Problems([unfit]);
  const { file, release } = orThrow(await claimRun(paths, id));
  try {
    // Where the project is now: it may have been moved.
    const { root } = project;
    return await resumeRun({ ...call, cwd: root, root }, { ...file, cwd: root }, paths);
  } finally {
    release();
  }
}

async function resumeRun(call: Call, file: ResumableFile, paths: RunPaths): Promise<ExitCode> {
  const { id, cwd } = file;
  const { env, options } = call;
  const { past, repaired, doubts, lost } = await recoverRun(paths);
  if (lost !== undefined) throw new Problems([{ where: id, what: lost, fix: 'start a new run' }]);
  const { ready, changes } = await settingsAgain(call, file);
  const isAccepted = options.acceptChanges === true;
  const problems = [
    ...whyNot(id, past, ready),
    ...(isAccepted ? [] : [...doubts.map(what => doubt(id, what)), ...changes.map(changed)]),
  ];
  if (problems.length > 0) throw new Problems(problems);
  const { worktree } = file.given;
  const again = past.ended === undefined && (await worktreeOf(cwd, env, worktree, past));
  const kind = await runAgain({ file, paths, past }, ready.settings, env);
  if (!('enter' in kind)) throw new Problems(kind);
  writeRunFile(paths, {
    ...file,
    version: VERSION,
    owner: ownerName(),
    config: withoutSecrets(ready.settings),
    given: { ...file.given, flags: mergeLayers(file.given.flags, ready.flags) },
  });
  const workplace = worktree === undefined ? cwd : projectPaths(cwd).worktree(worktree);
  const cleared = await clearWorkplace({ file, paths, past }, workplace, env);
  const repairs = {
    ...cleared,
    repaired: [...repaired, ...(again ? [again] : []), ...(isAccepted ? doubts : []), ...cleared.repaired],
    changes,
  };
  return startLoop(kind, call, ready, { resumed: { file, paths, past, repairs } });
}

/** One that was deleted under a run which was cut off; a run that ended has told the user where its work is. */
function worktreeOf(root: string, env: Call['env'], name: string | undefined, { last }: Past) {
  return name === undefined ? undefined : sweptWorktreeAgain({ root, env, name }, last?.judged?.snapshot);
}

const HELP = `
Examples:
  ralph resume
  ralph resume 20261115 --max-iterations 40
  ralph resume --max-cost 20

What can be resumed: a run that was killed or cut off by a crash, a power cut
or a full disk; one that was interrupted or cancelled; one that was stuck,
blocked, rate limited or whose agent failed; and one whose limit was reached,
with more of it. The settings must be what they were: changes are shown and
need --accept-changes. Nothing is done twice: see docs/resume.md.
`;

function chosen(project: ProjectPaths, wanted: string | undefined): string | Problem {
  if (wanted !== undefined) return findRun(project, wanted);
  const latest = listRuns(project).findLast(
    id => parentOf(id) === undefined && resumable(id, runPaths(project, id)),
  );
  // Of one that lost its ledger it is said why it cannot be.
  const lost = () =>
    listRuns(project).findLast(
      id => parentOf(id) === undefined && overviewOf(id, runPaths(project, id)).isLost,
    );
  const what = 'there is no run here that can be resumed';
  return latest ?? lost() ?? { where: project.runs, what, fix: '`ralph status` lists them all' };
}

/** Whether `ralph resume` would ask for --accept-changes. */
export async function hasChanged(project: ProjectPaths, id: string): Promise<boolean> {
  const file = readRunFile(runPaths(project, id));
  if (!file?.given) return false;
  return (await changesSince(project, { ...file, given: file.given, cwd: project.root })).length > 0;
}

/** What is different in the settings, the flags of the start included. */
async function changesSince(project: ProjectPaths, file: ResumableFile): Promise<readonly string[]> {
  const name = file.command as SettingsCommand;
  const yaml = await yamlSettings({ options: { config: file.given.yaml }, cwd: file.cwd });
  const { settings } = loadSettings(project, name, mergeLayers(yaml?.layer ?? {}, file.given.flags));
  return listSettingChanges(name, file.config as Record<string, unknown>, { ...withoutSecrets(settings) });
}

/** The settings as they are now, under the flags of the start and those given now; and what is different but for the latter. */
async function settingsAgain(
  call: Call,
  file: ResumableFile,
): Promise<{ readonly ready: SetUp; readonly changes: readonly string[] }> {
  const { command, given, cwd } = file;
  const name = command as SettingsCommand;
  const yaml = await yamlSettings({ options: { config: given.yaml }, cwd });
  const layer = mergeLayers(yaml?.layer ?? {}, given.flags);
  // `resume` has the flag of `loop`; `run` calls it by another name.
  const options = { maximumIterations: call.options.maxIterations, ...call.options };
  const ready = setUp(name, { ...call, options }, () => [], { layer, problems: yaml?.problems ?? [] });
  return { ready, changes: await changesSince(ready.project, file) };
}

function whyNot(id: string, past: Past, { settings }: SetUp): readonly Problem[] {
  if (past.ended === undefined) return [];
  if (isSuccess(past.ended))
    return [{ where: id, what: `it is done: ${past.ended}`, fix: 'start a new run' }];
  const limits = limitsOf(settings);
  const spent = stillSpent(past, limits);
  if (!spent || isLeftToFinish(past, spent)) return [];
  const raise = raiseOf(spent.reason, limits, usedSoFar(past));
  return [{ where: id, what: spent.detail, fix: `\`${resumeCommand(id, spent.reason, raise)}\`` }];
}

/** All that is left is to check and to commit what was done: that needs no further iteration, and a push no money. */
function isLeftToFinish({ ended, open }: Past, { reason }: Spending): boolean {
  if (ended === 'scm_failed') return true;
  return reason === 'max_iterations' && open !== undefined && !needsAgent(open);
}

function usedSoFar({ totals: { iterations, usage }, time }: Past): Used {
  const tokens = totalTokens(usage?.tokens) ?? null;
  return { iterations, cost: usage?.cost ?? null, tokens, seconds: time.elapsed };
}

function doubt(id: string, what: string): Problem {
  const fix = `look at it with \`ralph log ${id}\`; resume anyway with --accept-changes`;
  return { where: id, what, fix };
}

function changed(what: string): Problem {
  const fix = 'restore it, or resume with it as it is with --accept-changes';
  return { where: 'the settings have changed since the run began', what, fix };
}
