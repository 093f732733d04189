/** `ralph resume`, on the command line and in the library: the settings that a run continues with, and why it cannot. */

import { loadSettings, mergeLayers } from '../config/load.ts';
import { shownSettings } from '../config/secrets.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import { listSettingChanges } from '../config/settings.ts';
import { parentOf } from '../domain/lanes/board.ts';
import type { Spending } from '../domain/run/limits.ts';
import { stillSpent } from '../domain/run/next.ts';
import { raiseOf, resumeCommand, type Used } from '../domain/run/resume-command.ts';
import { needsAgent, type RunState } from '../domain/run/state.ts';
import { endingOf } from '../domain/run/stop-reason.ts';
import type { Problem } from '../domain/text/problem.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { totalTokens } from '../domain/turn/usage.ts';
import type { Env } from '../platform/git.ts';
import { limitsOf } from '../run/turns/goal.ts';
import { hasRound } from '../store/inbox.ts';
import { createDoneSince, overviewOf } from '../store/overview.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import { findRun, listRuns, readRunFile } from '../store/run-file.ts';
import { openState } from '../store/state-check.ts';
import { type Reopened, type ResumableFile, reopen } from './reopen.ts';
import { type SetUp, type SetUpRequest, setUpRun, yamlSettings } from './set-up.ts';

type ResumeWorld = Pick<ResumeRequest, 'project' | 'env'>;

export interface ResumeRequest extends Pick<SetUpRequest, 'agent' | 'functions'> {
  readonly project: ProjectPaths;
  readonly env: Env;
  /** Resume although the settings, or the ledger, have changed since. */
  readonly acceptChanges: boolean;
  /** Also where it is done: its pull request asks for more. */
  readonly reopens?: boolean;
  /** What a program brings again, by the names under which the run was given it. */
  readonly brought?: readonly string[];
  /** Settings that are given now. */
  flags(command: SettingsCommand): SettingsLayer;
}

/** `id`: of a run that is there. */
export async function resumeRun(
  request: ResumeRequest,
  id: string,
): Promise<Reopened<SetUp> | readonly Problem[]> {
  const { project, env, acceptChanges, brought = [] } = request;
  const unfit = openState(project.root, env);
  if (unfit) return [unfit];
  const parent = parentOf(id);
  if (parent !== undefined) {
    const what = `it belongs to the run ${parent}, and is resumed with it`;
    return [{ where: id, what, fix: `ralph resume ${parent}` }];
  }
  return reopen(id, {
    ...{ project, env },
    async continueWith({ file, past, doubts }) {
      const missing = (file.given.program ?? []).filter(name => !brought.includes(name));
      if (missing.length > 0) return [notBrought(id, missing)];
      const ready = await settingsAgain(request, file);
      if (!('settings' in ready)) return ready;
      const changes = await changesSince(request, file);
      const problems = [
        ...whyNot(id, past, ready, request.reopens === true || isAskedFor(project, id, past)),
        ...(acceptChanges ? [] : [...doubts.map(what => doubt(id, what)), ...changes.map(changed)]),
      ];
      return problems.length > 0 ? problems : { ...ready, changes };
    },
  });
}

/** The run that is meant: the one that is named, else the latest that can be resumed. */
export function findResumable(project: ProjectPaths, wanted: string | undefined): string | Problem {
  if (wanted !== undefined) return findRun(project, wanted);
  const whole = listRuns(project).filter(id => parentOf(id) === undefined);
  const isOpen = createDoneSince(project);
  const latest = whole.findLast(id => isOpen(overviewOf(id, runPaths(project, id))).resumable);
  // Of one that lost its ledger it is said why it cannot be.
  const lost = () => whole.findLast(id => overviewOf(id, runPaths(project, id)).isLost);
  const what = 'there is no run here that can be resumed';
  return latest ?? lost() ?? { where: project.runs, what, fix: '`ralph status` lists them all' };
}

function notBrought(id: string, names: readonly string[]): Problem {
  const what = `it was started by a program that gave it ${names.join(', ')}, and cannot be resumed without`;
  return { where: id, what, fix: 'resume it in that program: resumeRun() with the same' };
}

/** The settings as they are now, under those of the start and those given now. */
export async function settingsAgain(
  {
    project,
    env,
    agent,
    flags,
    functions,
  }: Pick<ResumeRequest, 'project' | 'env' | 'flags'> & Partial<ResumeRequest>,
  { command, given, cwd }: ResumableFile,
): Promise<SetUp | readonly Problem[]> {
  const name = command as SettingsCommand;
  const yaml = await yamlSettings(given.yaml, cwd);
  const more = { layer: mergeLayers(yaml?.layer ?? {}, given.flags), problems: yaml?.problems ?? [] };
  return setUpRun(name, { project, env, agent, functions, flags: flags(name), more });
}

/** Whether `ralph resume` would ask for --accept-changes. */
export async function hasChanged(world: ResumeWorld, id: string): Promise<boolean> {
  const { project } = world;
  const file = readRunFile(runPaths(project, id));
  if (!file?.given) return false;
  return (await changesSince(world, { ...file, given: file.given, cwd: project.root })).length > 0;
}

/** What is different in the settings, the flags of the start included. */
async function changesSince({ project, env }: ResumeWorld, file: ResumableFile): Promise<readonly string[]> {
  const name = file.command as SettingsCommand;
  const yaml = await yamlSettings(file.given.yaml, file.cwd);
  const { settings } = loadSettings(project, name, mergeLayers(yaml?.layer ?? {}, file.given.flags));
  const shown = shownSettings(settings, createRedactor(env));
  return listSettingChanges(name, file.config as Record<string, unknown>, { ...shown });
}

function whyNot(id: string, past: RunState, { settings }: SetUp, reopens: boolean): readonly Problem[] {
  const { result } = past;
  if (!result) return [];
  if (result.success && !reopens)
    return [{ where: id, what: `it is ${endingOf(result.stopReason).short}`, fix: 'start a new run' }];
  const limits = limitsOf(settings);
  const spent = stillSpent(past, limits);
  if (!spent || isLeftToFinish(past, spent)) return [];
  const raise = raiseOf(spent.reason, limits, usedSoFar(past));
  return [{ where: id, what: spent.detail, fix: `\`${resumeCommand(id, spent.reason, raise)}\`` }];
}

/** All that is left is to check and to commit what was done: that needs no further iteration, and a push no money. */
function isLeftToFinish({ result, open }: RunState, { reason }: Spending): boolean {
  if (result?.stopReason === 'scm_failed') return true;
  return reason === 'max_iterations' && open !== undefined && !needsAgent(open);
}

function usedSoFar({ totals: { iterations, usage }, time }: RunState): Used {
  const tokens = totalTokens(usage?.tokens) ?? null;
  return { iterations, cost: usage?.cost ?? null, tokens, seconds: time.elapsed };
}

/** Its pull request asks for more, and it was not proven with that. */
function isAskedFor(project: ProjectPaths, id: string, { forge, last }: RunState): boolean {
  return forge !== undefined && hasRound(runPaths(project, id), last);
}

function doubt(id: string, what: string): Problem {
  const fix = `look at it with \`ralph log ${id}\`; resume anyway with --accept-changes`;
  return { where: id, what, fix };
}

function changed(what: string): Problem {
  const fix = 'restore it, or resume with it as it is with --accept-changes';
  return { where: 'the settings have changed since the run began', what, fix };
}
