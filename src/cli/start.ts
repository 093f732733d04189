/** Starts a run from the command line: its reporters and its signals around `openRun`; and ends with its exit code. */

import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoopResult } from '../domain/run/result.ts';
import { type ExitCode, exitCodeOf } from '../domain/run/stop-reason.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import type { Job } from '../opening/job.ts';
import { isLeft } from '../opening/leavings.ts';
import { openRun, type RunRequest } from '../opening/open-run.ts';
import type { SetUp } from '../opening/set-up.ts';
import { errorWords } from '../platform/error-words.ts';
import { writeAtomic } from '../platform/files.ts';
import { junitOf } from '../report/junit.ts';
import { type RunLabel, summaryLines } from '../report/summary.ts';
import { MARKDOWN_WORDS } from '../report/words.ts';
import { createStopRequest } from '../run/stop.ts';
import { limitsOf } from '../run/turns/goal.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { findRun } from '../store/run-file.ts';
import { type Call, Problems } from './command.ts';
import type { PullRequestEnd } from './commands/pr.ts';
import { createKeys } from './keys.ts';
import { pasteable } from './output.ts';
import { createReporters } from './reporters.ts';
import { listenForSignals } from './signals.ts';

export async function startLoop(
  job: Job,
  call: Call,
  ready: SetUp,
  options: Pick<RunRequest, 'notices' | 'resumed'> & { readonly proven?: AfterProof | undefined } = {},
): Promise<ExitCode> {
  const { env, output } = call;
  const { project, settings, agents } = ready;
  const stop = createStopRequest();
  const keys = createKeys(output);
  const reporters = createReporters(call, ready, keys.mode);
  // Not behind the live line.
  const say = (text: string) => output.error(output.humanIsTTY && !output.quiet ? `\n${text}` : text);
  const signals = listenForSignals(say, stop);
  try {
    const { emit: onEvent, emitOf: onChildEvent } = reporters;
    const { proven, ...given } = options;
    const { cwd, root } = call;
    // Whoever starts a run in a subfolder should know that it is not confined to it.
    const where = cwd === root ? [] : [`The project is ${root}: agent and checks run there.`];
    const notices = [...where, ...(given.notices ?? [])];
    const request = { ...ready, ...given, job, env, stop, onEvent, onChildEvent, notices, alone: true };
    const opened = await openRun(request);
    if (isProblem(opened)) {
      if (!stop.requested()) throw new Problems([opened]);
      output.error('Interrupted before the first iteration: nothing was done.\n');
      return exitCodeOf('interrupted');
    }
    keys.listen({ project, id: opened.id, ...reporters });
    const result = await opened.run();
    keys.close();
    const limits = limitsOf(settings);
    leaveTraces(
      call,
      { command: job.command, agent: agents[0].name, sandbox: opened.sandbox, limits },
      result,
    );
    await reporters.allSent();
    const pull = result.success && proven ? await afterProof(proven, project, opened.id) : undefined;
    const shown = pull ? { ...result, pullRequest: pull.result } : result;
    if (output.json) output.answer(`${JSON.stringify(shown)}\n`);
    else if (pull) output.human(`\n${pasteable(pull.lines.join('\n'), output)}\n`);
    if (!pull && !output.quiet && (await isLeft({ project, env, id: opened.id }))) {
      reporters.close();
      const which = findRun(project) === opened.id ? '' : ` ${opened.id}`;
      output.human(`\n${pasteable(`Take it over: \`ralph land${which}\``, output)}\n`);
    }
    return pull?.code ?? exitCodeOf(result.stopReason);
  } finally {
    keys.close();
    reporters.close();
    signals.dispose();
  }
}

/** What is done with a run that is proven. */
type AfterProof = (project: ProjectPaths, id: string) => Promise<PullRequestEnd>;

/** The run is done, whatever the forge says of it. */
async function afterProof(proven: AfterProof, project: ProjectPaths, id: string): Promise<PullRequestEnd> {
  try {
    return await proven(project, id);
  } catch (error) {
    if (!(error instanceof Problems)) throw error;
    const { problems } = error;
    const lines = problems.map(problem => `No pull request: ${formatProblem(problem)}`);
    return { code: 2, result: { problems }, lines: [...lines, `Try again: \`ralph pr ${id}\``] };
  }
}

/** For the CI that it ran in: a JUnit file, and a summary on the page of the job. Trouble here is reported and changes nothing about how the run came out. */
function leaveTraces(call: Call, label: RunLabel, result: LoopResult): void {
  const { options, cwd, env, output } = call;
  const leave = (what: string, write: () => void) => {
    try {
      write();
    } catch (error) {
      output.error(`ralph: ${what} cannot be written: ${errorWords(error)}\n`);
    }
  };
  const { junit } = options;
  if (typeof junit === 'string')
    leave(`--junit ${junit}`, () => writeAtomic(resolve(cwd, junit), junitOf(result, label.sandbox), 0o644));
  const page = env.GITHUB_STEP_SUMMARY;
  if (page) {
    const text = ['### Ralph', '', ...summaryLines(result, label, MARKDOWN_WORDS), '', ''].join('\n');
    leave('the step summary', () => appendFileSync(page, text));
  }
}
