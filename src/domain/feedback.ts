/** The sentences the agent is told, and how `ralph run` puts them round the user's prompt. */
import type { CheckResult } from './check.ts';
import type { EndedBy } from './evidence.ts';
import type { Feedback } from './verdict.ts';

/** A failed guardrail in the words of seed 001: the head of its output, the hint whole. */
export function guardrailFailure(check: CheckResult): string {
  const timeout = check.timedOut ? ` (Timeout after ${check.duration.toFixed(1)} s)` : '';
  return [
    `Guardrail "${check.command}" failed with exit code ${check.exitCode}${timeout}.`,
    ...(check.hint ? [`Hint: ${check.hint}`] : []),
    `Output file: ${check.logFile}`,
    'Output (truncated):',
    check.outputCut ? `${check.output}... [truncated]` : check.output,
  ].join('\n');
}

const ENDED_SENTENCES: Record<EndedBy, string> = {
  'idle-timeout':
    'Your last turn was ended because it printed nothing for too long. Avoid commands that wait or never return.',
  'iteration-timeout':
    'Your last turn was ended because it took too long. What you did is kept; work in smaller steps.',
  'max-time': 'Your last turn was ended because the time is up.',
  'max-cost': 'Your last turn was ended because the budget is spent.',
  'max-tokens': 'Your last turn was ended because the token budget is spent.',
  interrupt: 'Your last turn was interrupted.',
};

/**
 * The prompt of the next iteration: failures that ask for it before the base, behind it, or instead of it.
 * Several of a kind keep their order, and none is lost.
 */
export function withFeedback(base: string, feedback: readonly Feedback[]): string {
  const before: string[] = [];
  const instead: string[] = [];
  const behind: string[] = [];
  for (const item of feedback) {
    if (item.kind === 'turn-ended') behind.push(ENDED_SENTENCES[item.by]);
    if (item.kind === 'violation')
      behind.push(`You changed something that is not yours to change: ${item.violation.what}.`);
    if (item.kind !== 'check-failed') continue;
    const target = { PREPEND: before, REPLACE: instead, APPEND: behind }[item.check.failAction];
    target.push(guardrailFailure(item.check));
  }
  return [...before, ...(instead.length > 0 ? instead : [base]), ...behind].join('\n\n');
}
