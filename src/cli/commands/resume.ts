/** `ralph resume`: goes on with a run where its ledger ends. */
import type { Command } from 'commander';
import { settingChanges } from '../../config/changes.ts';
import { flagsOf } from '../../config/flags.ts';
import { loadSettings } from '../../config/load.ts';
import { mergeLayers } from '../../config/merge.ts';
import type { SettingsCommand } from '../../config/setting.ts';
import type { Past } from '../../domain/past.ts';
import { isProblem, type Problem } from '../../domain/problem.ts';
import { raiseOf, resumeCommand, usedBy } from '../../domain/resume-command.ts';
import type { ExitCode } from '../../domain/stop-reason.ts';
import { isDone, stillSpent } from '../../engine/recall.ts';
import { openWorkplace, planLoop, type Workplace } from '../../opening/open-loop.ts';
import { claimRun, clearUp, type OpenRun, readTask, recoverRun } from '../../opening/reopen.ts';
import { ownerName } from '../../platform/spawn.ts';
import { resumable } from '../../store/overview.ts';
import { type ProjectPaths, projectAt, type RunPaths, runPaths } from '../../store/paths.ts';
import { findRun, listRuns, writeRunFile } from '../../store/run-file.ts';
import { limitsOf } from '../../turns/plan-parts.ts';
import { promptSource, specSource } from '../../turns/prompt-source.ts';
import { runPlan } from '../../turns/run-plan.ts';
import { listWorktrees } from '../../workspace/worktree.ts';
import { type Call, type CliCommand, orThrow, Problems } from '../command.ts';
import { declareFlag, type MoreSettings, type SetUp, setUp, withoutSecrets } from '../set-up.ts';
import { type StartOptions, startLoop } from '../start.ts';
import { VERSION } from '../version.ts';
import { startLoopIn, yamlSettings } from './loop.ts';

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
      .option('--accept-changes', 'go on although the settings, or the ledger, have changed since');
    for (const flag of flagsOf('loop').filter(({ setting }) => ANEW.includes(setting.key)))
      declareFlag(command, flag, undefined);
    command.addHelpText('after', HELP);
  },
  async run(call) {
    const project = projectAt(call.cwd);
    const id = orThrow(chosen(project, call.args[0]));
    const paths = runPaths(project.runs, id);
    const file = orThrow(await claimRun(paths, id));
    const { past, repaired, doubts } = await recoverRun(paths, file);
    const accepted = call.options.acceptChanges === true;
    const there = { ...call, cwd: file.cwd };
    const { ready, changes } = await settingsAgain(there, file);
    const problems = [
      ...whyNot(id, past, ready),
      ...(accepted ? [] : [...doubts.map(what => doubt(id, what)), ...changes.map(changed)]),
    ];
    if (problems.length > 0) throw new Problems(problems);
    writeRunFile(paths, {
      ...file,
      version: VERSION,
      owner: ownerName(),
      config: withoutSecrets(ready.settings),
      given: { ...file.given, flags: mergeLayers(file.given.flags, ready.flags) },
    });
    return goOnWith({
      call: there,
      file,
      paths,
      past,
      ready,
      repaired: [...repaired, ...(accepted ? doubts : [])],
      changes,
    });
  },
};

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
  const latest = listRuns(project).findLast(id => resumable(id, runPaths(project.runs, id)));
  return (
    latest ?? {
      where: project.runs,
      what: 'there is no run here that can be resumed',
      fix: '`ralph status` lists them all',
    }
  );
}

/** The settings as they are now, under the flags of the start and those given now; and what is different but for the latter. */
async function settingsAgain(
  call: Call,
  { command, given, config, cwd }: OpenRun,
): Promise<{ readonly ready: SetUp; readonly changes: readonly string[] }> {
  const name = command as SettingsCommand;
  const yaml: MoreSettings = (given.yaml !== undefined &&
    (await yamlSettings({ options: { config: given.yaml }, cwd }))) || { layer: {}, problems: [] };
  const layer = mergeLayers(yaml.layer, given.flags);
  const { maxIterations } = call.options;
  const options = {
    ...call.options,
    ...(maxIterations !== undefined && { maximumIterations: maxIterations }),
  };
  const ready = setUp(name, { ...call, options }, () => [], { layer, problems: yaml.problems });
  const { settings } = loadSettings(ready.project, name, layer);
  const changes = settingChanges(config as Record<string, unknown>, { ...withoutSecrets(settings) });
  return { ready, changes };
}

function whyNot(id: string, past: Past, { settings }: SetUp): readonly Problem[] {
  if (isDone(past))
    return [{ where: id, what: `it is done: ${past.result?.stopReason}`, fix: 'start a new run' }];
  if (!past.result) return [];
  const limits = limitsOf(settings);
  const spent = stillSpent(past, limits);
  if (!spent) return [];
  const raise = raiseOf(spent.reason, limits, usedBy(past.result, past.iterations.length));
  return [{ where: id, what: spent.detail, fix: `\`${resumeCommand(id, spent.reason, raise)}\`` }];
}

function doubt(id: string, what: string): Problem {
  return {
    where: id,
    what: `the ledger has been changed: ${what}`,
    fix: 'look at it with `ralph log`; --accept-changes goes on all the same',
  };
}

function changed(what: string): Problem {
  return {
    where: 'the settings have changed since the run began',
    what,
    fix: 'put it back, or go on with it as it is with --accept-changes',
  };
}

interface Resuming {
  readonly call: Call;
  readonly file: OpenRun;
  readonly paths: RunPaths;
  readonly past: Past;
  readonly ready: SetUp;
  readonly repaired: readonly string[];
  readonly changes: readonly string[];
}

async function goOnWith(resuming: Resuming): Promise<ExitCode> {
  const { call, file, ready, paths, past } = resuming;
  if (file.command === 'run') {
    const { promptFile } = file.given;
    const text = promptFile === undefined ? orThrow(readTask(paths)) : undefined;
    const source = orThrow(promptSource({ prompt: text, promptFile }, file.cwd));
    const options = await startOptions(resuming, file.cwd);
    return startLoop('run', call, ready, async parts => runPlan({ ...parts, source }), options);
  }
  // What the user did while it was paused is the new start.
  const kept = past.paused ? undefined : past.prepared?.kept;
  if (file.command === 'prd') {
    const { goOnWithStories } = await import('./prd/again.ts');
    const options = await startOptions(resuming, file.cwd);
    const name = file.given.ralphDir ?? 'ralph';
    return goOnWithStories({
      call,
      ready,
      run: paths,
      past,
      name,
      options,
      ...(kept !== undefined && { kept }),
    });
  }
  const task = orThrow(readTask(paths));
  const workplace = orThrow(await workplaceAgain(resuming));
  const { spec: name } = file.given;
  const spec = name === undefined ? undefined : specSource(name, file.cwd);
  return startLoopIn(
    workplace,
    call,
    ready,
    async parts =>
      orThrow(
        await planLoop({
          ...parts,
          task,
          workplace,
          ...(spec && { spec }),
          ...(kept !== undefined && { kept }),
        }),
      ),
    await startOptions(resuming, workplace.cwd),
  );
}

async function startOptions(resuming: Resuming, cwd: string): Promise<StartOptions> {
  const { call, file, paths, past, repaired, changes } = resuming;
  const { repaired: more, diff } = await clearUp({ paths, file, past, cwd, env: call.env });
  const repairs = { repaired: [...repaired, ...more], changes, ...(diff !== undefined && { diff }) };
  return { resumed: { file, paths, past, repairs } };
}

/** The same worktree or none: a new one would not hold the work. */
async function workplaceAgain({ call, file }: Resuming): Promise<Workplace | Problem> {
  const { worktree, startRef } = file.given;
  const place = { root: file.cwd, env: call.env };
  if (worktree !== undefined && !(await listWorktrees(place)).some(({ name }) => name === worktree)) {
    return {
      where: `worktree ${worktree}`,
      what: 'it is gone, and with it the work of the run',
      fix: 'start a new run',
    };
  }
  const workplace = await openWorkplace({ ...place, worktree });
  if (isProblem(workplace) || startRef === undefined) return workplace;
  return { ...workplace, startRef };
}
