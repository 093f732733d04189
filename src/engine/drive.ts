/** Driver A: starts the agent afresh each iteration, gathers evidence, and lets `judge` decide. Prints nothing. */
import { isGreen } from '../domain/check.ts';
import type { RunHead } from '../domain/event.ts';
import type { TurnOutcome } from '../domain/evidence.ts';
import { formatProblem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import { judge } from '../domain/verdict.ts';
import { diskTrouble } from '../platform/disk.ts';
import { stayLean } from '../platform/memory.ts';
import { type Account, createAccount } from './account.ts';
import { createGatherer } from './gather.ts';
import type { LoopPlan, LoopWorld } from './plan.ts';
import { type GoOn, goOn } from './recall.ts';

export async function drive(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  try {
    return await iterate(plan, world);
  } finally {
    plan.close();
  }
}

type End = (reason: StopReason, detail?: string) => LoopResult;

async function iterate(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  const { emit, steering, clock, past, disk } = world;
  const account = createAccount(clock, past);
  const end: End = (reason, detail) => {
    steering.close();
    const ended = account.result({ runId: world.runId, stopReason: reason, detail, place: plan.place });
    const result = { ...ended, ...plan.findings?.(ended.iterations) };
    emit({ type: 'run-ended', result });
    return result;
  };
  try {
    return await rounds(plan, world, account, end);
  } catch (error) {
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    disk.failed(trouble);
    return end('disk_failed', disk.trouble());
  }
}

async function rounds(plan: LoopPlan, world: LoopWorld, account: Account, end: End): Promise<LoopResult> {
  const { emit, stopping, steering, past } = world;
  const gather = createGatherer(plan, world, account);
  const stop = () =>
    world.disk.trouble() ? end('disk_failed', world.disk.trouble()) : end(world.stopReason());

  const from = past ? goOn(past, plan.run) : AT_THE_START;
  announce(plan, world, from);
  await getReady(plan, world);
  for (const result of account.results()) plan.note(result);
  if (from.ending) return end(from.ending.reason, from.ending.detail);
  let { feedback, open } = from;
  for (let { iteration } = from; ; iteration++) {
    account.pause(await steering.pausePoint(iteration));
    if (stopping.aborted) return stop();
    const prompt = open ? '' : await plan.prompt(iteration, feedback);
    if (typeof prompt !== 'string') return end('invalid_config', formatProblem(prompt));

    if (iteration === LONG_RUN) stayLean(); // the larger we are, the longer it takes to start a child
    if (!open) emit({ type: 'iteration-started', iteration, ...plan.assignment?.() });
    const { evidence, tree, cutShort, record } = await gather(
      iteration,
      open ? '' : steering.tell(iteration, prompt),
      open,
    );
    const verdict = open?.judged?.verdict ?? judge(plan.run, evidence);
    const { repeats, spent, treeChanged, outcome, standstill, denials, stories } = evidence;
    const isWhole = !cutShort && !isBrokenOff(outcome, stopping);
    if (isWhole && !open?.judged)
      emit({
        type: 'judged',
        iteration,
        verdict,
        treeChanged,
        tree,
        repeats,
        ...(standstill && { standstill }),
        ...(denials && { denials }),
        ...(stories && { stories }),
        spent,
        limits: plan.run.limits,
      });
    const isGood = isWhole && outcome.kind !== 'failed' && isGreen(evidence.checks);
    const extra = isGood && !stopping.aborted ? await plan.keep(iteration, open?.tasks ?? []) : undefined;
    if (extra) account.extra(extra);
    plan.note(record());
    emit({
      type: 'iteration-ended',
      iteration,
      claim: evidence.claim,
      verdict,
      usage: account.spent().usage,
    });
    if (isWhole) steering.settle();

    if (stopping.aborted) return stop();
    if (verdict.kind === 'stop') return end(verdict.reason, verdict.detail);
    feedback = verdict.feedback;
    open = undefined;
  }
}

/** Iterations. */
const LONG_RUN = 50;

const AT_THE_START: GoOn = { step: 'prepare', iteration: 1, feedback: [] };

/** A turn that a signal broke off, or the wait for another try, proves nothing: it is taken again when the run goes on. */
function isBrokenOff(outcome: TurnOutcome, stopping: AbortSignal): boolean {
  if (outcome.kind === 'failed') return stopping.aborted;
  return outcome.kind === 'ended' && outcome.by === 'interrupt';
}

function announce(
  { command, agent, run, checks, notices }: LoopPlan,
  { emit, runId, cwd, past, repairs, sandbox }: LoopWorld,
  { step, iteration }: GoOn,
): void {
  const head: RunHead = {
    runId,
    command,
    agent: agent.name,
    ...(agent.model !== undefined && { model: agent.model }),
    maxIterations: run.limits.maxIterations,
    checks: checks.map(check => check.command),
    cwd,
    ...(sandbox?.words !== undefined && { sandbox: sandbox.words }),
  };
  if (past) emit({ type: 'run-resumed', ...head, step, iteration, repaired: [], changes: [], ...repairs });
  else emit({ type: 'run-started', ...head });
  for (const text of [...(sandbox?.notices ?? []), ...notices])
    emit({ type: 'notice', level: 'warning', text });
}

async function getReady(plan: LoopPlan, { emit, past }: LoopWorld): Promise<void> {
  const prepared = past?.prepared ? await plan.recall(past.prepared, past.baseline) : await plan.prepare();
  if (prepared.kept !== past?.prepared?.kept || !past?.prepared) emit({ type: 'prepared', ...prepared });
}
