/** Starts a loop: its run folder, its reporters, its signals; and ends with its exit code. */
import { existsSync } from 'node:fs';
import type { LoopCommand } from '../domain/event.ts';
import { type ExitCode, exitCodeOf } from '../domain/stop-reason.ts';
import { drive } from '../loop/loop.ts';
import type { LoopPlan } from '../loop/plan.ts';
import type { PlanParts } from '../loop/plan-parts.ts';
import { systemClock } from '../platform/clock.ts';
import { readIfThere } from '../platform/files.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import { CANCEL_NOW, createRun, isRunning, listRuns, readRunFile } from '../store/run-file.ts';
import { leaveTraces } from './afterwards.ts';
import type { Call } from './command.ts';
import { createReporters, openEvents } from './reporters.ts';
import { type SetUp, withoutSecrets } from './set-up.ts';
import { listenForSignals } from './signals.ts';
import { VERSION } from './version.ts';

/** What a command makes its plan from: everything but what is its own. */
export type Parts = PlanParts & { readonly notices: readonly string[]; readonly runId: string };

export async function startLoop(
  command: LoopCommand,
  call: Call,
  { project, settings, agent }: SetUp,
  makePlan: (parts: Parts) => Promise<LoopPlan>,
  /** Where the agent works, when that is not the project itself. */
  workplace = call.cwd,
): Promise<ExitCode> {
  const { env, output } = call;
  const notices = commonNotices(
    project,
    settings.permissions,
    settings.agent === undefined ? agent : undefined,
  );
  const events = openEvents(call);
  const { file, paths } = createRun(project, {
    command,
    version: VERSION,
    config: withoutSecrets(settings),
    now: systemClock.now(),
  });
  const reporters = createReporters({
    output,
    env,
    journal: paths.events,
    events,
    streamAgentOutput: settings.streamAgentOutput,
  });
  const signals = listenForSignals(
    text => output.error(text),
    () => readIfThere(paths.cancelled) === CANCEL_NOW,
  );
  const { emit } = reporters;
  const { stopping, abort } = signals;
  try {
    const plan = await makePlan({
      settings,
      agent,
      cwd: workplace,
      env,
      clock: systemClock,
      emit,
      abort,
      stopping,
      project,
      paths,
      notices,
      runId: file.id,
    });
    const result = await drive(plan, {
      runId: file.id,
      cwd: workplace,
      clock: systemClock,
      emit,
      stopping,
      stopReason: () => (existsSync(paths.cancelled) ? 'cancelled' : 'interrupted'),
    });
    leaveTraces(call, command, agent.name, result);
    if (output.json) output.answer(`${JSON.stringify(result)}\n`);
    return exitCodeOf(result.stopReason);
  } finally {
    reporters.close();
    signals.dispose();
  }
}

/** What a user would want to know before he leaves it alone. */
function commonNotices(
  project: ProjectPaths,
  permissions: string,
  found: SetUp['agent'] | undefined,
): readonly string[] {
  const others = listRuns(project).filter(id => {
    const file = readRunFile(runPaths(project.runs, id));
    return file !== undefined && isRunning(file);
  });
  return [
    ...(found ? [`Agent: ${found.name}, because ${found.why}.`] : []),
    ...(permissions === 'skip'
      ? ['The agent may do everything without asking, and there is no sandbox around it.']
      : []),
    ...others.map(id => `Another run is working in this folder: ${id}.`),
  ];
}
