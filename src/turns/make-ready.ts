/** Makes a new worktree ready for work: what `.worktreeinclude` names is copied into it, and `setup` runs in it. */
import { isProblem, type Problem } from '../domain/problem.ts';
import { capture } from '../platform/capture.ts';
import { lastLine } from '../platform/git.ts';
import { joinWords, shellCommand } from '../platform/shell.ts';
import { includeFiles } from '../workspace/include.ts';
import type { Worktree } from '../workspace/worktree.ts';
import type { PlanParts } from './plan-parts.ts';

export async function makeReady(
  parts: PlanParts,
  { root, path, cwd }: Worktree,
): Promise<Problem | undefined> {
  const { env, paths } = parts;
  const included = await includeFiles({ cwd: root, env, keepIn: paths.state.kept });
  if (isProblem(included)) return included;
  included.copyTo(path, paths.aside);
  included.close();
  return setUp(parts, cwd);
}

/** Runs `setup`, where there is one, in a checkout that nothing has been done in yet. */
export async function setUp(
  { settings, env, abort, sandbox }: PlanParts,
  cwd: string,
): Promise<Problem | undefined> {
  const { setup, setupTimeout } = settings;
  if (setup === undefined) return undefined;
  const { code, output } = await capture(shellCommand(setup), {
    cwd,
    env,
    signal: abort,
    confinement: sandbox?.checks,
    ...(setupTimeout > 0 && { timeout: setupTimeout * 1000 }),
  });
  if (code === 0) return undefined;
  const how = code === 124 ? `ran longer than ${setupTimeout} s` : `failed with exit code ${code}`;
  return {
    where: `setup ${JSON.stringify(setup)}`,
    what: `it ${how} in the new checkout: ${lastLine(output)}`,
    fix: `cd ${joinWords([cwd])} && ${setup}`,
  };
}
