/** Starts a run from the command line: its reporters and its signals around `openRun`; and ends with its exit code. */
import { type ExitCode, exitCodeOf } from '../domain/stop-reason.ts';
import { createStopRequest } from '../engine/stop.ts';
import type { RunKind } from '../opening/kind.ts';
import { openRun, type RunRequest } from '../opening/open-run.ts';
import type { SetUp } from '../opening/set-up.ts';
import { VERSION } from '../platform/version.ts';
import { limitsOf } from '../turns/plan-parts.ts';
import { mergeAdvice } from '../workspace/worktree.ts';
import { leaveTraces } from './afterwards.ts';
import { type Call, orThrow } from './command.ts';
import { createKeys } from './keys.ts';
import { pasteable } from './output.ts';
import { createReporters } from './reporters.ts';
import { listenForSignals } from './signals.ts';

export async function startLoop(
  kind: RunKind,
  call: Call,
  ready: SetUp,
  options: Pick<RunRequest, 'notices' | 'resumed'> = {},
): Promise<ExitCode> {
  const { env, output } = call;
  const { project, settings, agent, fallbacks, reviewer, flags } = ready;
  const stop = createStopRequest();
  const keys = createKeys(output);
  const reporters = createReporters(call, ready, keys.mode);
  // Not behind the live line.
  const say = (text: string) => output.error(output.humanIsTTY && !output.quiet ? `\n${text}` : text);
  const signals = listenForSignals(say, stop);
  try {
    const agents = [agent, ...fallbacks] as const;
    const onEvent = reporters.emit;
    const roles = reviewer && { reviewer };
    const request = {
      kind,
      project,
      settings,
      agents,
      ...roles,
      flags,
      env,
      stop,
      version: VERSION,
      onEvent,
      onChildEvent: reporters.emitOf,
    };
    const notices = [...whereabouts(call), ...(options.notices ?? [])];
    const opened = orThrow(await openRun({ ...request, ...options, notices, alone: true }));
    keys.listen({ project, id: opened.id, ...reporters });
    const result = await opened.run();
    keys.close();
    leaveTraces(
      call,
      {
        command: kind.command,
        agent: agent.name,
        sandbox: opened.sandbox,
        limits: limitsOf(settings),
      },
      result,
    );
    await reporters.settled();
    if (output.json) output.answer(`${JSON.stringify(result)}\n`);
    const advice = opened.worktree ? await mergeAdvice(opened.worktree, env) : opened.advice;
    if (advice !== undefined && !output.quiet) {
      reporters.close();
      output.human(`\n${pasteable(advice, output)}\n`);
    }
    return exitCodeOf(result.stopReason);
  } finally {
    keys.close();
    reporters.close();
    signals.dispose();
  }
}

/** Whoever starts a run in a subfolder should know that it is not confined to it. */
function whereabouts({ cwd, root }: Call): readonly string[] {
  return cwd === root ? [] : [`The project is ${root}: agent and checks run there.`];
}
