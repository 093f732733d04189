/** Makes the place of a run ready for its agent, and keeps what that may not change. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { RunContext } from '../turns/context.ts';
import { runCommand } from '../turns/run-command.ts';
import { createProtection } from '../workspace/protect.ts';
import { isUnderGit } from '../workspace/repository.ts';
import { type Included, includeFiles } from '../workspace/worktree-include.ts';
import type { Workplace } from './job.ts';
import type { RunRequest } from './open-run.ts';

/** `isFresh`: nothing has been done yet in the checkout that the project is. */
export async function makeReady(
  context: RunContext,
  { worktree, isMerged = false }: Workplace,
  { isFresh = false, child }: Pick<RunRequest, 'isFresh' | 'child'>,
): Promise<RunContext | Problem> {
  const { settings, cwd, env, paths, past } = context;
  if (worktree?.isUnready) {
    const named = await includeFiles({ cwd: worktree.root, env, keepIn: paths.state.kept });
    if (isProblem(named)) return named;
    named.copyTo(worktree.path, paths.aside);
  }
  const unready =
    worktree?.isUnready || (isFresh && !isMerged) ? await runCommand(context, 'setup') : undefined;
  if (unready) return unready;
  worktree?.madeReady();
  const lane = child?.laneSetUp;
  lane?.begins();
  const unset = lane && (await runCommand(context, 'laneSetup'));
  if (unset) return unset;
  lane?.done();
  const { prepared, time } = past();
  const { protect: globs, protectNew } = settings;
  const protection =
    globs.length === 0
      ? undefined
      : await createProtection({
          ...{ cwd, env, globs, newFiles: protectNew ? 'forbid' : 'allow' },
          ...{ aside: paths.aside, keepIn: paths.state.kept },
          // What the user did while it was paused is the new start.
          ...(!time.isPaused && prepared?.kept !== undefined && { recall: prepared.kept }),
        });
  if (isProblem(protection)) return protection;
  const included = await includedIn(context, isMerged || settings.proof === 'clean');
  return isProblem(included) ? included : { ...context, protection, included };
}

/** What a clean checkout needs beside the files of git; undefined: there will be none. */
async function includedIn(
  { settings, cwd, env, paths, past }: RunContext,
  isClean: boolean,
): Promise<Included | Problem | undefined> {
  const wants = isClean ? '--proof clean' : settings.mutate ? '--mutate' : undefined;
  if (wants !== undefined && !isUnderGit(cwd)) {
    const fix = `\`git init\` creates one; without it, leave ${wants} out`;
    return { where: wants, what: 'a clean copy of the work needs a git repository', fix };
  }
  if (!isClean) return undefined;
  const { prepared } = past();
  return includeFiles({
    cwd,
    env,
    keepIn: paths.state.kept,
    recall: prepared && (prepared.included ?? null),
  });
}
