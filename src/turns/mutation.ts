/** Before a run is done: would its checks notice a fault in the lines that it changed? */
import type { Measured } from '../domain/mutation.ts';
import { formatProblem, isProblem } from '../domain/problem.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import { type PlanParts, timeLeft } from './plan-parts.ts';

export function wantsMutation({ settings: { mutate, mutateMin } }: Pick<PlanParts, 'settings'>): boolean {
  return mutate || mutateMin !== undefined;
}

export function mutationStep(parts: PlanParts): Pick<LoopPlan, 'mutate'> {
  return wantsMutation(parts) ? { mutate: () => measure(parts) } : {};
}

async function measure(parts: PlanParts): Promise<Measured | undefined> {
  const { cwd, env, settings, past, sandbox, stopping } = parts;
  const { open, prepared } = past();
  // A check that is red and excused notices nothing.
  const checks = (open?.checks ?? []).filter(({ passed }) => passed).map(({ command }) => command);
  if (checks.length === 0) return { failed: 'there is no check that could notice them' };
  const before = await treeNow(parts);
  // Loaded where it is used: it brings a parser.
  const { mutate } = await import('../mutation/mutate.ts');
  const left = timeLeft(parts).timeLeft?.() ?? Number.POSITIVE_INFINITY;
  const report = await mutate({
    ...{ cwd, env, checks, signal: stopping, confinement: sandbox?.checks },
    ...(prepared?.start && { base: prepared.start.tree }),
    ...(settings.setup !== undefined && { setup: settings.setup }),
    max: settings.mutateMax,
    time: Math.max(1, Math.min(settings.mutateTime * 1000, left)),
  });
  if ((await treeNow(parts)) !== before) return { failed: REACHED, voids: true };
  if (isProblem(report)) return { failed: formatProblem(report) };
  if (report.stopped === 'interrupted')
    // What is proven is proven; a gate was not passed.
    return settings.mutateMin === undefined ? { failed: 'the run was asked to stop' } : undefined;
  const { score, mutants, survivors, seconds, untried } = report;
  return { score, mutants, survivors, checks: report.checks, seconds, untried };
}

const REACHED = 'files of the work tree changed while faults were tried in a copy of it';

async function treeNow({ cwd, env }: PlanParts): Promise<string | undefined> {
  const own = await openOwnGit({ cwd, env });
  const taken = isProblem(own) ? own : await own.snapshot();
  return isProblem(taken) ? undefined : taken.tree;
}

/** The same for a commit that would land: in what it changes against the commit it lands on. */
export async function measureCommit(
  parts: PlanParts,
  {
    base,
    commit,
    checks,
  }: { readonly base: string; readonly commit: string; readonly checks: readonly string[] },
): Promise<Measured> {
  const { project, env, settings, sandbox, stopping } = parts;
  const { mutateCommit } = await import('../mutation/mutate-commit.ts');
  const report = await mutateCommit({
    ...{ cwd: project.root, env, base, commit, checks, signal: stopping, confinement: sandbox?.checks },
    ...(settings.setup !== undefined && { setup: settings.setup }),
    max: settings.mutateMax,
    time: settings.mutateTime * 1000,
  });
  if (isProblem(report)) return { failed: formatProblem(report) };
  const { score, mutants, survivors, seconds, untried } = report;
  return { score, mutants, survivors, checks: report.checks, seconds, untried };
}
