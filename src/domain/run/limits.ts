/** The limits of a run, and which of them is reached. */
import { redChecks } from '../checks/check.ts';
import { listSome } from '../text/feedback.ts';
import { adviseOn, isFatal, isLimit, type Trouble } from '../turn/trouble.ts';
import { dollars, totalTokens, type Usage, uncountedIn, unpricedIn } from '../turn/usage.ts';
import type { EndedTurn } from './event.ts';
import { type EndedBy, type Evidence, isFailure, type Spent } from './evidence.ts';
import { formatStandstill } from './standstill.ts';
import type { StopReason } from './stop-reason.ts';

/** How far a run may go. */
export interface Limits {
  /** 0: no limit. */
  readonly maxIterations: number;
  /** Dollars. */
  readonly maxCost?: number;
  readonly maxTokens?: number;
  /** Seconds for the whole run. */
  readonly maxTime?: number;
  /** Failed turns in a row before the run gives up. */
  readonly maxFailures: number;
  /** After so many times the same failure without a change the agent gets a warning; once more, and the run stops. 0: never. */
  readonly stuckAfter: number;
}

export interface Spending {
  readonly reason: StopReason;
  readonly detail: string;
}

/** The first limit that is reached, the most informative one first; undefined while none is. */
export function spentLimit(limits: Limits, evidence: Evidence): Spending | undefined {
  return (
    failureLimit(limits, evidence) ??
    budgetLimit(limits, evidence.spent) ??
    timeLimit(limits, evidence) ??
    refusedLimit(limits, evidence) ??
    stuckLimit(limits, evidence) ??
    iterationLimit(limits, evidence.spent)
  );
}

/** The limit that is reached whatever the last turn was like: resuming makes no sense until it is raised. */
export function reachedLimit(limits: Limits, spent: Spent): Spending | undefined {
  const { maxTime } = limits;
  return budgetLimit(limits, spent) ?? timeIsUp(maxTime, spent) ?? iterationLimit(limits, spent);
}

/** A turn in which no agent said or did anything, because all were limited: there is nothing to judge, and it is no iteration. */
export function limitedTurn(turn: EndedTurn): Spending | undefined {
  const { outcome, idle } = turn;
  if (!idle || outcome.kind !== 'failed' || !isLimit(outcome.trouble)) return undefined;
  return { reason: 'rate_limited', detail: describeTrouble(outcome.trouble, outcome.why) };
}

function failureLimit(limits: Limits, { outcome, spent, denials }: Evidence): Spending | undefined {
  if (!isFailure(outcome)) return undefined;
  const silent = { class: 'hang', message: 'the agent showed no sign of life' } as const;
  const trouble: Trouble = outcome.kind === 'failed' ? outcome.trouble : silent;
  const detail = describeTrouble(trouble, outcome.kind === 'failed' ? outcome.why : undefined, denials);
  if (isFatal(trouble)) return { reason: 'agent_failed', detail };
  // Whoever gathered this has waited as long as it may.
  if (isLimit(trouble)) return { reason: 'rate_limited', detail };
  if (spent.failures < limits.maxFailures) return undefined;
  return {
    reason: 'agent_failed',
    detail: `${spent.failures} turns in a row failed; the last one: ${detail}`,
  };
}

function describeTrouble(trouble: Trouble, why?: string, denials: readonly string[] = []): string {
  const more = why === undefined ? '' : ` (${why})`;
  // What the sandbox has stopped in that turn explains it better than what the agent says of it.
  const advice = denials.length > 0 && !trouble.fix ? adviseOnDenials(denials) : adviseOn(trouble);
  return `${trouble.message.trim().replace(/\.$/, '')}${more}. ${TO_FIX}${advice}.`;
}

const TO_FIX = 'To fix it: ';

/** What the detail of an ending says about its fix; undefined: nothing. */
export function adviceIn(detail: string | null): string | undefined {
  const at = detail?.lastIndexOf(TO_FIX) ?? -1;
  return detail && at !== -1 ? detail.slice(at + TO_FIX.length).replace(/\.$/, '') : undefined;
}

function adviseOnDenials(denials: readonly string[]): string {
  return `the sandbox stopped ${listSome(denials)}: allow it in \`sandbox\` of the settings (\`allowDomains\`, \`writable\`), or change the task`;
}

/** Which budget is spent; asked during a turn as well as after it. */
export function budgetSpent(
  { maxCost, maxTokens }: Pick<Limits, 'maxCost' | 'maxTokens'>,
  { cost, tokens }: Usage,
): 'max-cost' | 'max-tokens' | undefined {
  if (maxCost !== undefined && cost !== undefined && cost >= maxCost) return 'max-cost';
  const used = totalTokens(tokens);
  return maxTokens !== undefined && used !== undefined && used >= maxTokens ? 'max-tokens' : undefined;
}

/** Kept on what is known: a call that reported nothing does not switch a limit off. */
export function budgetLimit(limits: Limits, { usage }: Pick<Spent, 'usage'>): Spending | undefined {
  const reason = 'budget_exhausted';
  switch (budgetSpent(limits, usage)) {
    case 'max-cost': {
      const estimated = usage.costSource === 'estimated' ? 'about ' : '';
      const more = moreCalls(unpricedIn(usage), 'no cost');
      return {
        reason,
        detail: `${estimated}${dollars(usage.cost ?? 0)} of ${dollars(limits.maxCost ?? 0)} spent${more}.`,
      };
    }
    case 'max-tokens': {
      const more = moreCalls(uncountedIn(usage), 'no tokens');
      return { reason, detail: `${totalTokens(usage.tokens)} of ${limits.maxTokens} tokens used${more}.` };
    }
    default:
      return undefined;
  }
}

function moreCalls(count: number, what: string): string {
  return count === 0 ? '' : ` (${count} more ${count === 1 ? 'call' : 'calls'} reported ${what})`;
}

/** A limit that ended the turn from inside is spent, even if the last report of the agent is short of it. */
const ENDED_REASON: Partial<Record<EndedBy, StopReason>> = {
  'max-cost': 'budget_exhausted',
  'max-tokens': 'budget_exhausted',
  'max-time': 'timeout',
};

function timeLimit({ maxTime }: Limits, { outcome, spent }: Evidence): Spending | undefined {
  const inside = outcome.kind === 'ended' ? ENDED_REASON[outcome.by] : undefined;
  if (inside && outcome.kind === 'ended') {
    return { reason: inside, detail: `The turn was ended by --${outcome.by}.` };
  }
  return timeIsUp(maxTime, spent);
}

/** The time was up before the checks had ended: nothing can be said of the turn. */
export function uncheckedLimit(limits: Limits, { outcome }: EndedTurn, elapsed: number): Spending {
  const inside = outcome.kind === 'ended' && outcome.by === 'max-time';
  const passed = `${Math.round(elapsed)} s of ${limits.maxTime} s have passed`;
  const detail = inside ? 'The turn was ended by --max-time.' : `${passed}, and the checks were not done.`;
  return { reason: 'timeout', detail };
}

/** Seconds. Timers end a little early, and a run that one ended is not to be resumed for the rest. */
const TIMER = 0.05;

export function timeIsUp(
  maxTime: number | undefined,
  { elapsed }: Pick<Spent, 'elapsed'>,
): Spending | undefined {
  if (maxTime === undefined || elapsed < maxTime - TIMER) return undefined;
  return { reason: 'timeout', detail: `${Math.round(elapsed)} s of ${maxTime} s have passed.` };
}

/** Also with the last iteration: more of them would be refused as well. */
function refusedLimit(limits: Limits, { standstill, spent }: Evidence): Spending | undefined {
  if (standstill?.kind !== 'refused' || !(standstill.stop || iterationLimit(limits, spent))) return undefined;
  const message = formatStandstill(standstill);
  return { reason: 'permission_denied', detail: describeTrouble({ class: 'permission-denied', message }) };
}

export function isStuck({ stuckAfter }: Limits, { repeats }: Evidence): boolean {
  return stuckAfter > 0 && repeats >= stuckAfter;
}

function stuckLimit(
  { stuckAfter }: Limits,
  { repeats, standstill, checks, stories, denials = [] }: Evidence,
): Spending | undefined {
  const isSame = stuckAfter > 0 && repeats > stuckAfter;
  if (!isSame && !standstill?.stop) return undefined;
  const why =
    isSame || !standstill
      ? `${repeats} iterations in a row failed in the same way and changed nothing.`
      : formatStandstill(standstill);
  const red = redChecks(checks).map(check => `\`${check.command}\``);
  const fix = denials.length === 0 ? [] : [`${TO_FIX}${adviseOnDenials(denials)}.`];
  const still = red.length === 0 ? [] : [`Still red: ${red.join(', ')}.`];
  const missing = (stories?.missing ?? []).map(message => `Missing: ${message}`);
  return { reason: 'stuck', detail: [why, ...still, ...missing, ...fix].join(' ') };
}

function iterationLimit({ maxIterations }: Limits, { iterations }: Spent): Spending | undefined {
  if (maxIterations === 0 || iterations < maxIterations) return undefined;
  return { reason: 'max_iterations', detail: `${iterations} of ${maxIterations} iterations used.` };
}
