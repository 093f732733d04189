/** What counts as done for each command, and how far its runs may go. */
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Limits } from '../domain/run/limits.ts';
import type { StandstillLimits } from '../domain/run/standstill.ts';
import type { Run } from '../domain/run/verdict.ts';
import { defined, pick } from '../domain/text/fields.ts';
import type { CompletionRule } from '../domain/turn/claim.ts';
import type { RunContext } from './context.ts';

/** What each command counts as done. */
export const DONE_RULES: Readonly<Record<SettingsCommand, (settings: Settings) => Omit<Run, 'limits'>>> = {
  run: ({ completionResponse: text, strict }) => ({
    rule: { kind: 'response', text },
    success: 'promise_accepted',
    minToolCalls: 0,
    strict,
  }),
  loop: settings => ({
    rule: promiseOf(settings),
    success: 'all_checks_passed',
    minToolCalls: 1,
    strict: settings.strict,
    ...pick(settings, 'mutateMin'),
  }),
  prd: settings => ({
    rule: promiseOf(settings),
    success: 'all_stories_approved',
    minToolCalls: 0,
    strict: settings.strict,
    ...pick(settings, 'mutateMin'),
  }),
};

function promiseOf({ completionTag: text }: Settings): CompletionRule {
  return { kind: 'promise', text };
}

export function limitsOf(settings: Settings): Limits {
  const { maximumIterations: maxIterations, maxCost, maxTokens, maxTime, maxFailures, stuckAfter } = settings;
  return { maxIterations, ...defined({ maxCost, maxTokens, maxTime }), maxFailures, stuckAfter };
}

export function standstillLimits(settings: Settings): StandstillLimits {
  const { unchangedAfter, thrashingAfter, costlyAfter } = settings;
  // It is told at once: no number of further turns brings a permission.
  return { refused: 1, 'no-change': unchangedAfter, thrashing: thrashingAfter, costly: costlyAfter };
}

/** Milliseconds until `--max-time`; absent: there is none. */
export function timeLeft({ settings: { maxTime }, meter }: RunContext): { timeLeft?(): number } {
  return maxTime === undefined ? {} : { timeLeft: () => (maxTime - meter.elapsed()) * 1000 };
}
