/** Finds or makes the place where a `ralph loop` works, and plans it. */
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { loopPlan } from '../turns/loop-plan.ts';
import { openProtection, type PlanParts } from '../turns/plan-parts.ts';
import type { PromptSource } from '../turns/prompt-source.ts';
import { startRef } from '../workspace/diff.ts';
import { openWorktree, type Worktree } from '../workspace/worktree.ts';

export interface Workplace {
  /** Where the agent and the checks run. */
  readonly cwd: string;
  /** The commit from which changes are counted. */
  readonly startRef: string;
  readonly worktree?: Worktree;
}

export interface WorkplaceOptions {
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** true: a worktree under a name of Ralph's own. */
  readonly worktree: string | boolean | undefined;
}

export async function openWorkplace({
  root,
  env,
  worktree: wanted,
}: WorkplaceOptions): Promise<Workplace | Problem> {
  if (wanted === undefined || wanted === false) return startedIn(root, env);
  const worktree = await openWorktree({ root, env, ...(typeof wanted === 'string' && { name: wanted }) });
  if (isProblem(worktree)) return worktree;
  return startedIn(worktree.cwd, env, worktree);
}

async function startedIn(
  cwd: string,
  env: WorkplaceOptions['env'],
  worktree?: Worktree,
): Promise<Workplace | Problem> {
  const start = await startRef({ cwd, env });
  if (typeof start !== 'string') return start;
  return { cwd, startRef: start, ...(worktree && { worktree }) };
}

export interface LoopRequest extends PlanParts {
  readonly task: string;
  readonly spec?: PromptSource;
  readonly workplace: Workplace;
  readonly notices: readonly string[];
  /** The name of the protected files as they were when the run began, for one that goes on. */
  readonly kept?: string;
}

export async function planLoop(request: LoopRequest): Promise<LoopPlan | Problem> {
  const { workplace } = request;
  const { cwd, worktree } = workplace;
  const protection = await openProtection({ ...request, cwd });
  if (isProblem(protection)) return protection;
  return loopPlan({
    ...request,
    cwd,
    startRef: workplace.startRef,
    notices: [...request.notices, ...(worktree?.notes ?? []), ...(protection?.notes ?? [])],
    close() {
      protection?.close();
      worktree?.release();
    },
    ...(protection && { protection }),
    ...(worktree && { place: { worktreePath: worktree.path, branch: worktree.branch } }),
  });
}
