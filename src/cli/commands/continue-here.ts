/** `ralph continue-here`: takes the loop of a session into this terminal, as an outer loop. One run, one ledger. */
import { loadSettings } from '../../config/load.ts';
import { shownSettings } from '../../config/secrets.ts';
import type { SessionState } from '../../domain/session/session.ts';
import { createRedactor } from '../../domain/text/secrets.ts';
import { putBack } from '../../hooks/protected.ts';
import { handOut } from '../../hooks/session-to-terminal.ts';
import { CHECK_BUDGET } from '../../hooks/verify.ts';
import { isRunning } from '../../store/lease.ts';
import { isRecorded, projectPaths, runPaths } from '../../store/paths.ts';
import { readRunFile, writeRunFile } from '../../store/run-file.ts';
import { findSession } from '../../store/session-file.ts';
import { type Call, type CliCommand, orThrow, Problems, refuse, refuseInside } from '../command.ts';
import { declareAnew, resumeRunOf } from './resume.ts';
import { sessionNamed } from './session.ts';

export const continueHere: CliCommand = {
  declare(command) {
    command.option('--session <id>', 'the session; without it the only one that has a loop');
    declareAnew(command);
  },
  help: `
Examples:
  ralph continue-here
  ralph continue-here --agent codex --max-iterations 40

The loop leaves its session and continues here with a clean context each time: the same task, checks and promise, the same run.
Back into a session: /ralph:hand-over, typed there.
`,
  async run(call) {
    refuseInside('continue-here', call);
    const { root, sessionId } = orThrow(sessionNamed(call));
    const file = findSession(root, sessionId);
    const isHosted = file && isRunning(runPaths(projectPaths(root, call.env), file.state.runId));
    // In a loop that sleeps, what was changed since is the user's.
    if (file?.state.active) await putBack(root, file.state);
    const state = file && handOut(root, file);
    if (!state) return refuse('session', 'its loop has not begun yet, or has ended', 'ralph session status');
    makeLoop(call, root, state);
    if (state.active && isHosted)
      call.output.error(
        'The loop was awake: if its agent still works in the session, stop it there with Esc.\n',
      );
    return resumeRunOf({ ...call, cwd: root, root }, projectPaths(root, call.env), state.runId);
  },
};

/** The run becomes one of `ralph loop`, with what it was given in the session. */
function makeLoop({ env }: Call, root: string, state: SessionState): void {
  const project = projectPaths(root, env);
  const paths = runPaths(project, state.runId);
  const file = isRecorded(paths) ? readRunFile(paths) : undefined;
  if (!file)
    throw new Problems([{ where: state.runId, what: 'its run.json is gone', fix: 'start a new run' }]);
  const { checks, maxIterations, completionPromise } = state;
  const flags = {
    ...file.given?.flags,
    checks,
    checkTimeout: CHECK_BUDGET,
    ...(maxIterations > 0 && { maximumIterations: maxIterations }),
    ...(completionPromise !== null && { completionTag: completionPromise }),
  };
  const { settings } = loadSettings(project, 'loop', flags);
  writeRunFile(paths, {
    ...file,
    command: 'loop',
    given: { ...file.given, flags },
    config: shownSettings(settings, createRedactor(env)),
  });
}
