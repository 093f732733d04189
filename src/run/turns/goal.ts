/** What counts as done for each command, and how far its runs may go. */
import type { SettingsCommand } from '../../config/setting.ts';
import { defaultSettings } from '../../config/settings.ts';
import type { Settings } from '../../config/settings-shape.ts';
import type { Limits } from '../../domain/run/limits.ts';
import type { StandstillLimits } from '../../domain/run/standstill.ts';
import type { Run } from '../../domain/run/verdict.ts';
import { defined, pick } from '../../domain/text/fields.ts';
import type { CompletionRule } from '../../domain/turn/claim.ts';
import type { RunContext } from './context.ts';

/** What each command counts as done. */
export const DONE_RULES: Readonly<Record<SettingsCommand, (settings: Settings) => Omit<Run, 'limits'>>> = {
  run: settings => ({
    rule: isOwn(settings, 'completionResponse') ? responseOf(settings) : eitherOf(settings),
    success: 'promise_accepted',
    minToolCalls: 0,
    strict: settings.strict,
  }),
  loop: settings => ({ ...taggedRun(settings), success: 'all_checks_passed', minToolCalls: 1 }),
  prd: settings => ({ ...taggedRun(settings), success: 'all_stories_approved', minToolCalls: 0 }),
};

/** What counts where work is handed over: done by the tag, with its checks worth something, from the best files. */
function taggedRun(settings: Settings) {
  const { keep, patience } = settings;
  return {
    rule: isOwn(settings, 'completionTag') ? promiseOf(settings) : eitherOf(settings),
    ...pick(settings, 'strict', 'mutateMin'),
    ...(keep === 'best' && { goBack: { patience } }),
  };
}

/** Another text than the default was chosen: then no other tag counts. */
function isOwn(settings: Settings, key: 'completionResponse' | 'completionTag'): boolean {
  return settings[key] !== DEFAULTS[key];
}

const DEFAULTS = defaultSettings('run');

/** A prompt that was written for one command works in every other. */
function eitherOf(settings: Settings): CompletionRule {
  return { ...promiseOf(settings), or: responseOf(settings) };
}

function promiseOf({ completionTag: text }: Settings): CompletionRule {
  return { kind: 'promise', text };
}

function responseOf({ completionResponse: text }: Settings): CompletionRule {
  return { kind: 'response', text };
}

export function limitsOf(settings: Settings): Limits {
  const { maximumIterations: maxIterations, maxCost, maxTokens, maxTime, maxFailures, stuckAfter } = settings;
  return { maxIterations, ...defined({ maxCost, maxTokens, maxTime }), maxFailures, stuckAfter };
}

export function standstillLimits(settings: Settings): StandstillLimits {
  const { unchangedAfter, thrashingAfter, costlyAfter } = settings;
  // It is reported at once: no number of further turns brings a permission.
  return { refused: 1, 'no-change': unchangedAfter, thrashing: thrashingAfter, costly: costlyAfter };
}

/** Milliseconds until `--max-time`; absent: there is none. */
export function timeLeft({ settings: { maxTime }, meter }: RunContext): { timeLeft?(): number } {
  return maxTime === undefined ? {} : { timeLeft: () => (maxTime - meter.elapsed()) * 1000 };
}
