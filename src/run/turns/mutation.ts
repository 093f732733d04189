/** Before a run is done: would its checks notice a fault in the lines that it changed? */
import type { Measured } from '../../domain/checks/mutation.ts';
import { pick } from '../../domain/text/fields.ts';
import { formatProblem, isProblem } from '../../domain/text/problem.ts';
import type { MutationRequest } from '../../proof/faults/mutate.ts';
import { openOwnGit } from '../../workspace/own-git.ts';
import type { Steps } from '../steps.ts';
import type { RunContext } from './context.ts';
import { timeLeft } from './goal.ts';

export function wantsMutation({ settings: { mutate, mutateMin } }: Pick<RunContext, 'settings'>): boolean {
  return mutate || mutateMin !== undefined;
}

export function mutationStep(parts: RunContext): Pick<Steps, 'mutate'> {
  return wantsMutation(parts) ? { mutate: () => measureWork(parts) } : {};
}

async function measureWork(parts: RunContext): Promise<Measured | undefined> {
  const { open, prepared } = parts.past();
  // A check that is red and excused notices nothing.
  const checks = (open?.checks ?? []).filter(({ passed }) => passed).map(({ command }) => command);
  if (checks.length === 0) return { failed: 'there is no check that could notice them' };
  const before = await treeNow(parts);
  const base = prepared?.start && { base: prepared.start.tree };
  const measured = await measure(parts, { cwd: parts.cwd, checks, ...base });
  return (await treeNow(parts)) === before ? measured : { failed: REACHED, voids: true };
}

const REACHED = 'files of the work tree changed while faults were tried in a copy of it';

async function treeNow({ cwd, env }: RunContext): Promise<string | undefined> {
  const own = await openOwnGit({ cwd, env });
  const taken = isProblem(own) ? own : await own.snapshot();
  return isProblem(taken) ? undefined : taken.tree;
}

/** undefined: it was cut off with the run. */
export async function measure(
  parts: RunContext,
  what: Pick<MutationRequest, 'cwd' | 'base' | 'commit' | 'checks'>,
): Promise<Measured | undefined> {
  const { env, settings, sandbox, stopping, protection } = parts;
  // Loaded where it is used: it brings a parser.
  const { mutate } = await import('../../proof/faults/mutate.ts');
  const left = timeLeft(parts).timeLeft?.() ?? Number.POSITIVE_INFINITY;
  const report = await mutate({
    ...{ ...what, env, protection, signal: stopping, confinement: sandbox?.checks },
    ...(settings.setup !== undefined && { setup: settings.setup }),
    max: settings.mutateMax,
    time: Math.max(1, Math.min(settings.mutateTime * 1000, left)),
  });
  if (isProblem(report)) return { failed: formatProblem(report) };
  if (report.stopped === 'interrupted')
    // What is proven is proven; a gate was not passed.
    return settings.mutateMin === undefined ? { failed: 'the run was asked to stop' } : undefined;
  return pick(report, 'score', 'mutants', 'survivors', 'checks', 'seconds', 'untried');
}
