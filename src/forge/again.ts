/** A run that is continued for its pull request, or for its issue: with room for more iterations. */
import type { RunState } from '../domain/run/state.ts';
import { isSuccess } from '../domain/run/stop-reason.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { Reopened } from '../opening/reopen.ts';
import { resumeRun } from '../opening/resume-run.ts';
import type { SetUp } from '../opening/set-up.ts';
import type { Env } from '../platform/git.ts';
import { loadState } from '../store/checkpoint.ts';
import { readRounds } from '../store/inbox.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import type { Following } from './follow.ts';
import type { UnitSource } from './pull-request.ts';

export interface Again {
  readonly project: ProjectPaths;
  /** Of its agent and its checks: without the token. */
  readonly env: Env;
  readonly id: string;
  /** Settings that are given now. */
  readonly flags?: Readonly<Record<string, unknown>>;
}

export function reopenRun({
  project,
  env,
  id,
  flags = {},
}: Again): Promise<Reopened<SetUp> | readonly Problem[]> {
  const layer = { ...flags, ...roomFor(loadState(runPaths(project, id)).state) };
  return resumeRun(
    { project, env, acceptChanges: false, reopens: true, flags: () => ({ layer, problems: [] }) },
    id,
  );
}

/** Iterations of a round, at least. */
const MORE = 3;

/** As many as it was given at first; one that was cut off has those that it had. */
export function roomFor({ results, head, result, board }: RunState): { readonly maximumIterations?: number } {
  const most = head?.maxIterations;
  if (most === undefined || most === 0) return {};
  const used = board?.lanes.reduce((sum, { iterations }) => sum + iterations, 0) ?? results.length;
  if (!result) return { maximumIterations: most };
  const isHalf = result.stopReason === 'interrupted' || result.stopReason === 'blocked';
  return { maximumIterations: isHalf ? Math.max(most, used + MORE) : used + Math.max(MORE, most) };
}

/** A unit is worked on again by whichever worker is free, with what its pull request asks for. */
export async function unitAgain(
  { project, reopen, untilOver }: UnitSource,
  id: string,
): Promise<'proven' | 'stopped' | 'interrupted' | Problem> {
  const paths = runPaths(project, id);
  const problem = await reopen(readRounds(paths));
  if (problem) return problem;
  if (!(await untilOver())) return 'interrupted';
  const { result } = loadState(paths).state;
  return result && isSuccess(result.stopReason) ? 'proven' : 'stopped';
}

/** Why it cannot be continued. */
export function firstOf([first]: readonly Problem[], id: string): Problem {
  return first ?? { where: id, what: 'it cannot be continued' };
}

/** One that a session, a program or a worker has driven has no agent that Ralph could start here. */
export function whyNotAgain({ run, request, work }: Following): { readonly needsYou: string } | undefined {
  const { given, command } = run.file;
  const more = (why: string) => ({ needsYou: `It asks for more work, and ${why}` });
  if (request.unit?.isContinued) return undefined;
  if (request.unit)
    return more(
      `a list of a fleet that is over is not continued: submit a unit that begins with ${work.branch} (\`--base\`), or start \`ralph loop\` on it.`,
    );
  if (command === 'session')
    return more(
      'its host has driven this run last: Ralph has no command that starts that agent. Continue there, or start `ralph loop` on its branch.',
    );
  if (given && !given.program?.length) return undefined;
  return more(
    'this run was started by a program, without which its agent cannot work: resume it there, or start `ralph loop` on its branch.',
  );
}
