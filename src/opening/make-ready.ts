/** Makes the place of a run ready for its agent, and keeps what that may not change. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { isInMemory } from '../platform/apart.ts';
import type { RunContext } from '../run/turns/context.ts';
import { runCommand } from '../run/turns/run-command.ts';
import { ACTIVE_FILE } from '../store/prd-paths.ts';
import { unfitFilter } from '../workspace/filters.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import { createProtection } from '../workspace/protect.ts';
import { EVERYTHING } from '../workspace/protected-files.ts';
import { isUnderGit, type Place } from '../workspace/repository.ts';
import { type Included, includeFiles } from '../workspace/worktree-include.ts';
import type { Workplace } from './job.ts';
import type { RunRequest } from './open-run.ts';

/** `isFresh`: nothing has been done yet in the checkout that the project is. */
export async function makeReady(
  context: RunContext,
  { worktree, isMerged = false, given }: Workplace,
  { isFresh = false, child }: Pick<RunRequest, 'isFresh' | 'child'>,
): Promise<RunContext | Problem> {
  const { settings, env, paths } = context;
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
  const protection = context.protection ?? (await protectionOf(context, given.ralphDir));
  if (isProblem(protection)) return protection;
  if (context.sandbox && context.sandbox.contained !== 'none') protection?.nothingLives();
  const included = await includedIn(context, isMerged || settings.proof !== 'place');
  return isProblem(included) ? included : { ...context, protection, included };
}

/** Keeps what the agent may not change while the sandbox is opened, which takes as long. undefined: `setup` comes first, or there is nothing to keep. */
export async function protectEarly(
  parts: Protected,
  { worktree, given }: Workplace,
  { isFresh = false, child }: Pick<RunRequest, 'isFresh' | 'child'>,
) {
  return worktree?.isUnready || isFresh || child?.laneSetUp ? undefined : protectionOf(parts, given.ralphDir);
}

type Protected = Pick<RunContext, 'settings' | 'cwd' | 'env' | 'paths' | 'past'>;

/** With `only` everything else is protected, new files included. `list`: the folder of a story list, whose rules are its own. */
async function protectionOf({ settings, cwd, env, paths, past }: Protected, list: string | undefined) {
  const { protect, only, protectNew } = settings;
  const isOnly = only.length > 0;
  if (!isOnly && protect.length === 0) return undefined;
  if (isOnly && !isUnderGit(cwd)) {
    const fix = '`git init` creates one';
    return { where: '--only', what: 'what may not change is found through a git repository', fix };
  }
  const { prepared, time } = past();
  const own = list === undefined ? [] : [ACTIVE_FILE, list];
  return createProtection({
    ...{ cwd, env, globs: isOnly ? [EVERYTHING, ...protect] : protect },
    ...{ allow: isOnly ? [...only, ...own] : [], newFiles: isOnly || protectNew ? 'forbid' : 'allow' },
    ...{ aside: paths.aside, keepIn: paths.state.kept },
    // What the user did while it was paused is the new start.
    ...(!time.isPaused && prepared?.kept !== undefined && { recall: prepared.kept }),
  });
}

/** What a clean checkout needs beside the files of git; undefined: there will be none. */
async function includedIn(
  { settings, cwd, env, paths, past, sandbox }: RunContext,
  isClean: boolean,
): Promise<Included | Problem | undefined> {
  const wants = isClean ? '--proof clean' : settings.mutate ? '--mutate' : undefined;
  if (wants !== undefined && !isUnderGit(cwd)) {
    const fix = `\`git init\` creates one; without it, leave ${wants} out`;
    return { where: wants, what: 'a clean copy of the work needs a git repository', fix };
  }
  if (!isClean) return undefined;
  const hidden = sandbox?.contained === 'pid' ? placeInMemory(env) : undefined;
  if (hidden) return hidden;
  const { prepared } = past();
  const unfit = prepared ? undefined : await unfitAt({ cwd, env });
  if (unfit) return unfit;
  return includeFiles({
    cwd,
    env,
    keepIn: paths.state.kept,
    recall: prepared && (prepared.included ?? null),
  });
}

function placeInMemory(env: RunContext['env']): Problem | undefined {
  const names = ['TMPDIR', 'TMP', 'TEMP', 'HOME'].filter(name => isInMemory(env[name] ?? '/'));
  const [where] = names;
  if (where === undefined) return undefined;
  const what = `it is ${env[where]}: of that folder a contained clean proof has one of its own, which is empty`;
  return { where, what, fix: 'name one on a disk, or use a sandbox' };
}

async function unfitAt(place: Place): Promise<Problem | undefined> {
  const own = await openOwnGit(place);
  if (isProblem(own)) return undefined;
  return unfitFilter(own, (await own.head()).commit, 'a clean checkout would not have it: leave out --proof');
}
