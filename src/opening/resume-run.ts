/** Opens a run again where its ledger ends: for `ralph resume` and for the library. */
import { listSettingChanges } from '../config/changes.ts';
import { loadSettings } from '../config/load.ts';
import { mergeLayers } from '../config/merge.ts';
import { holdsSecrets, withoutSecrets } from '../config/secrets.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import { parentOf } from '../domain/board.ts';
import type { Spending } from '../domain/limits.ts';
import { stillSpent } from '../domain/next.ts';
import type { Past } from '../domain/past.ts';
import { needsAgent } from '../domain/past-iteration.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { raiseOf, resumeCommand, type Used } from '../domain/resume-command.ts';
import { createRedactor } from '../domain/secrets.ts';
import { isSuccess } from '../domain/stop-reason.ts';
import { totalTokens } from '../domain/usage.ts';
import type { Env } from '../platform/git.ts';
import { ownerName } from '../platform/spawn.ts';
import { overviewOf, resumable } from '../store/overview.ts';
import { type ProjectPaths, projectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { findRun, listRuns, readRunFile, writeRunFile } from '../store/run-file.ts';
import { openState } from '../store/state-check.ts';
import { limitsOf } from '../turns/plan-parts.ts';
import { sweptWorktreeAgain } from '../workspace/worktree-again.ts';
import { runAgain } from './again.ts';
import type { RunKind } from './kind.ts';
import { claimRun, clearWorkplace, type ResumableFile, type ResumedRun, recoverRun } from './resume.ts';
import { type SetUp, type SetUpRequest, setUpRun, yamlSettings } from './set-up.ts';

export interface ResumeRequest extends Pick<SetUpRequest, 'agent'> {
  readonly project: ProjectPaths;
  readonly env: Env;
  readonly version: string;
  /** Resume although the settings, or the ledger, have changed since. */
  readonly acceptChanges: boolean;
  /** Checks of it that are functions. */
  readonly functions?: SetUpRequest['functions'];
  /** What a program brings again, by the names under which the run was given it. */
  readonly brought?: readonly string[];
  /** Settings that are given now. */
  flags(command: SettingsCommand): SettingsLayer;
}

export interface ReadyToResume {
  readonly kind: RunKind;
  readonly ready: SetUp;
  readonly resumed: ResumedRun;
  /** Gives the run up again. For when it has ended, and when it is not opened after all. */
  release(): void;
}

/** `id`: of a run that is there. */
export async function resumeRun(
  request: ResumeRequest,
  id: string,
): Promise<ReadyToResume | readonly Problem[]> {
  const { project, env } = request;
  const unfit = openState(project.root, env);
  if (unfit) return [unfit];
  const parent = parentOf(id);
  if (parent !== undefined) {
    const what = `it belongs to the run ${parent}, and is resumed with it`;
    return [{ where: id, what, fix: `ralph resume ${parent}` }];
  }
  const paths = runPaths(project, id);
  const claimed = await claimRun(paths, id);
  if (isProblem(claimed)) return [claimed];
  // Where the project is now: it may have been moved.
  const file = { ...claimed.file, cwd: project.root };
  const opened = await reopen(request, file, paths).catch((error: unknown) => {
    claimed.release();
    throw error;
  });
  if ('kind' in opened) return { ...opened, release: claimed.release };
  claimed.release();
  return opened;
}

/** The run that is meant: the one that is named, else the latest that can be resumed. */
export function findResumable(project: ProjectPaths, wanted: string | undefined): string | Problem {
  if (wanted !== undefined) return findRun(project, wanted);
  const whole = listRuns(project).filter(id => parentOf(id) === undefined);
  const latest = whole.findLast(id => resumable(id, runPaths(project, id)));
  // Of one that lost its ledger it is said why it cannot be.
  const lost = () => whole.findLast(id => overviewOf(id, runPaths(project, id)).isLost);
  const what = 'there is no run here that can be resumed';
  return latest ?? lost() ?? { where: project.runs, what, fix: '`ralph status` lists them all' };
}

async function reopen(
  request: ResumeRequest,
  file: ResumableFile,
  paths: RunPaths,
): Promise<Omit<ReadyToResume, 'release'> | readonly Problem[]> {
  const { id, cwd } = file;
  const { env, version, acceptChanges, brought = [] } = request;
  const missing = (file.given.program ?? []).filter(name => !brought.includes(name));
  if (missing.length > 0) return [notBrought(id, missing)];
  const { past, repaired, doubts, lost } = await recoverRun(paths);
  if (lost !== undefined) return [{ where: id, what: lost, fix: 'start a new run' }];
  const again = await settingsAgain(request, file);
  if (!('ready' in again)) return again;
  const { ready, changes } = again;
  const problems = [
    ...whyNot(id, past, ready),
    ...(acceptChanges ? [] : [...doubts.map(what => doubt(id, what)), ...changes.map(changed)]),
  ];
  if (problems.length > 0) return problems;
  const { worktree } = file.given;
  const swept = past.ended === undefined && (await worktreeOf(cwd, env, worktree, past));
  const kind = await runAgain({ file, paths, past }, ready.settings, env);
  if (!('enter' in kind)) return kind;
  const isOpen = !holdsSecrets(ready.flags, createRedactor(env));
  writeRunFile(paths, {
    ...file,
    version,
    owner: ownerName(),
    config: withoutSecrets(ready.settings),
    given: { ...file.given, flags: mergeLayers(file.given.flags, isOpen ? ready.flags : {}) },
  });
  const workplace = worktree === undefined ? cwd : projectPaths(cwd).worktree(worktree);
  const cleared = await clearWorkplace({ file, paths, past }, workplace, env);
  const repairs = {
    ...cleared,
    repaired: [...repaired, ...(swept ? [swept] : []), ...(acceptChanges ? doubts : []), ...cleared.repaired],
    changes,
  };
  return { kind, ready, resumed: { file, paths, past, repairs } };
}

function notBrought(id: string, names: readonly string[]): Problem {
  const what = `it was started by a program that gave it ${names.join(', ')}, and cannot be resumed without`;
  return { where: id, what, fix: 'resume it in that program: resumeRun() with the same' };
}

/** One that was deleted under a run which was cut off; a run that ended has told the user where its work is. */
function worktreeOf(root: string, env: Env, name: string | undefined, { last }: Past) {
  return name === undefined ? undefined : sweptWorktreeAgain({ root, env, name }, last?.judged?.snapshot);
}

/** The settings as they are now, under those of the start and those given now; and what is different but for the latter. */
async function settingsAgain(
  { project, env, agent, flags, functions }: ResumeRequest,
  file: ResumableFile,
): Promise<{ readonly ready: SetUp; readonly changes: readonly string[] } | readonly Problem[]> {
  const { command, given, cwd } = file;
  const name = command as SettingsCommand;
  const yaml = await yamlSettings(given.yaml, cwd);
  const layer = mergeLayers(yaml?.layer ?? {}, given.flags);
  const more = { layer, problems: yaml?.problems ?? [] };
  const ready = setUpRun(name, { project, env, agent, functions, flags: flags(name), more });
  if (!('settings' in ready)) return ready;
  return { ready, changes: await changesSince(project, file) };
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
  const yaml = await yamlSettings(file.given.yaml, file.cwd);
  const { settings } = loadSettings(project, name, mergeLayers(yaml?.layer ?? {}, file.given.flags));
  return listSettingChanges(name, file.config as Record<string, unknown>, { ...withoutSecrets(settings) });
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
