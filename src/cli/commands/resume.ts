/** `ralph resume`: continues a run where its ledger ends. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { flagsOf, settingsFromFlags } from '../../config/flags.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { isProblem } from '../../domain/text/problem.ts';
import { databaseUrl } from '../../fleet/database-url.ts';
import { OVER, shownBranch } from '../../fleet/unit.ts';
import { findResumable, resumeRun } from '../../opening/resume-run.ts';
import { type ProjectPaths, projectAt, runPaths } from '../../store/paths.ts';
import { listRuns } from '../../store/run-file.ts';
import { openState } from '../../store/state-check.ts';
import { type Call, type CliCommand, orThrow, Problems, refuse, refuseInside } from '../command.ts';
import { declareFlag } from '../set-up.ts';
import { startLoop } from '../start.ts';
import { repairShown, type WantedRun, withUnit } from '../which-run.ts';

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
  'permissions',
];

export const resume: CliCommand = {
  declare(command) {
    command
      .argument('[run]', 'a run, or part of its id; without it the latest that can be resumed')
      .option('--accept-changes', 'resume although the settings, or the ledger, have changed since');
    declareAnew(command);
  },
  help: `
Examples:
  ralph resume
  ralph resume 20261115 --max-iterations 40
  ralph resume --max-cost 20
  ralph resume --permissions skip

What can be resumed: a run that was killed or cut off by a crash, a power cut
or a full disk; one that was interrupted or cancelled; one that was stuck,
blocked, rate limited, not permitted to work or whose agent failed; and one
whose limit was reached, with more of it. The settings must be what they were:
changes are shown and need --accept-changes. Nothing is done twice: see
docs/reference/resume.md.
`,
  async run(call) {
    refuseInside('resume', call);
    const project = projectAt(call.cwd, call.env);
    const unfit = openState(project.root, call.env);
    if (unfit) throw new Problems([unfit]);
    const all = listRuns(project).map(each => runPaths(project, each));
    repairShown(
      call.output,
      all.filter(({ mirror }) => !existsSync(mirror.run)),
    );
    const id = findResumable(project, call.args[0]);
    if (isProblem(id) && call.args[0] !== undefined && !isProblem(databaseUrl({}, call.env)))
      return withUnit({ ...call, options: {} }, refuseUnit, id);
    return resumeRunOf(call, project, orThrow(id));
  },
};

/** Its log says how a run is resumed; of a unit the fleet has what came of it, and nobody the place where it was worked on. */
function refuseUnit({ id, unit }: WantedRun): never {
  const { state, ...now } = unit?.unit() ?? refuse(id, 'is not a unit');
  if (!OVER.includes(state))
    refuse(id, `it is a unit of the fleet, and not over: ${state}`, 'ralph fleet status');
  const base = `origin/${shownBranch(now)}`;
  refuse(
    id,
    `it is a unit of the fleet, and over: ${state}`,
    `another one can begin with what came of it: \`git fetch\`, then \`ralph fleet submit … --base ${base}\``,
  );
}

export function declareAnew(command: Command): void {
  for (const flag of flagsOf('loop').filter(({ setting }) => ANEW.includes(setting.key)))
    declareFlag(command, flag, undefined);
}

export async function resumeRunOf(call: Call, project: ProjectPaths, id: string): Promise<ExitCode> {
  // `resume` has the flag of `loop`; `run` calls it by another name.
  const options = { maximumIterations: call.options.maxIterations, ...call.options };
  const acceptChanges = call.options.acceptChanges === true;
  const flags = (command: Parameters<typeof settingsFromFlags>[0]) => settingsFromFlags(command, options);
  const { env } = call;
  const opened = await resumeRun({ project, env, acceptChanges, flags }, id);
  if (!('job' in opened)) throw new Problems(opened);
  const { job, ready, resumed } = opened;
  const { root } = project;
  return startLoop(job, { ...call, cwd: root, root }, ready, { resumed });
}
