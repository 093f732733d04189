/** The final block: the result of a run, in lines that can be pasted into a pull request. */
import type { LoopCommand, RunEvent } from '../domain/event.ts';
import type { Limits } from '../domain/limits.ts';
import type { CheckSummary, IterationResult, LoopResult } from '../domain/result.ts';
import { exitCodeOf } from '../domain/stop-reason.ts';
import type { RoleOutcome, StoryOutcome } from '../domain/story-report.ts';
import { oneLine } from '../platform/text.ts';
import { endedRun, nextStep, resultSentence } from './ending-words.ts';
import { counted, dollars, duration } from './numbers.ts';
import { checkNoun, checkPhrase, costPhrase, phrase, storyState, tokensPhrase } from './phrases.ts';

/** What the result itself does not know. */
export interface RunLabel {
  readonly command: LoopCommand;
  readonly agent: string;
  readonly sandbox?: string | null | undefined;
  readonly limits?: Limits | null | undefined;
}

export const NO_LABEL: RunLabel = { command: 'run', agent: '' };

/** Learns from the events of a run what its summary needs. */
export function labelled(label: RunLabel, event: RunEvent): RunLabel {
  if (event.type === 'run-started' || event.type === 'run-resumed') return { ...event, limits: label.limits };
  return event.type === 'judged' ? { ...label, limits: event.limits ?? label.limits } : label;
}

/** The outcome first, the stop reason last: the two lines that people look for. */
export function summaryLines(result: LoopResult, label: RunLabel): readonly string[] {
  const agent = label.agent === '' ? '' : ` with ${phrase(label.agent)}`;
  const waited = result.waited === undefined ? '' : `, of which ${duration(result.waited)} waiting`;
  return [
    resultSentence(result),
    '',
    `- Run: ${phrase(result.runId)} (ralph ${label.command}${agent})`,
    ...(label.sandbox ? [`- Sandbox: ${phrase(label.sandbox)}`] : []),
    `- Iterations: ${result.iterations.length}`,
    ...storyLines(result.stories),
    ...checkLines(result.iterations, checkNoun(label.command)),
    ...violationLines(result.iterations),
    ...errorLines(result),
    `- Cost: ${costWords(result)}`,
    `- Tokens: ${result.totalTokens ? tokensPhrase(result.totalTokens) : 'unknown'}`,
    `- Time: ${duration(result.totalDuration)}${waited}`,
    ...branchLines(result),
    `- Next: ${nextStep(endedRun(result, label.command, label.limits ?? undefined))}`,
    `- Stop reason: ${phrase(result.stopReason)} (exit code ${exitCodeOf(result.stopReason)})`,
  ];
}

function storyLines(report: LoopResult['stories']): readonly string[] {
  if (!report) return [];
  const caps = report.capHits === 0 ? '' : `, ${counted(report.capHits, 'review cap')} reached`;
  return [
    `- Stories: ${report.done} of ${report.total} done, ${counted(report.reviews, 'review')}${caps}`,
    ...report.stories.map(story => `  - ${storyWords(story)}`),
    ...(report.roles ?? []).map(roleWords),
  ];
}

function roleWords({ role, agent, iterations, cost }: RoleOutcome): string {
  const price = cost === null ? 'cost unknown' : dollars(cost);
  return `  - ${phrase(role)} ${phrase(agent)}: ${counted(iterations, 'iteration')}, ${price}`;
}

function storyWords(story: StoryOutcome): string {
  const { id, title, reviews, reachedCap, autoApproved, iterations, cost } = story;
  const facts = [
    storyState(story),
    ...(reviews > 0 ? [`${counted(reviews, 'review')}${reachedCap ? ' (cap reached)' : ''}`] : []),
    ...(autoApproved ? ['approved only because of the cap: read its feedback'] : []),
    ...(iterations > 0 ? [counted(iterations, 'iteration'), ...(cost === null ? [] : [dollars(cost)])] : []),
  ];
  const asks = story.feedback === undefined ? '' : `: ${oneLine(story.feedback, 200)}`;
  return `${phrase(id)} ${phrase(title)}: ${facts.join(', ')}${asks}`;
}

/** The last state of each check; an iteration that never got to a check does not change it. */
function checkLines(iterations: readonly IterationResult[], noun: string): readonly string[] {
  const last = new Map<string, CheckSummary>();
  for (const { checkResults } of iterations) {
    const seen = new Map<string, number>();
    for (const check of checkResults) {
      const nth = seen.get(check.name) ?? 0;
      seen.set(check.name, nth + 1);
      last.set(`${nth} ${check.name}`, check);
    }
  }
  if (last.size === 0) return [];
  const lines = [...last.values()].map(
    check => `  - \`${phrase(check.name)}\` ${checkPhrase(check, check.duration)}`,
  );
  return [`- ${noun}s:`, ...lines];
}

const MAX_VIOLATIONS = 10;

function violationLines(iterations: readonly IterationResult[]): readonly string[] {
  const all = [...new Set(iterations.flatMap(iteration => iteration.violations))];
  if (all.length === 0) return [];
  const more = all.length > MAX_VIOLATIONS ? [`  - ${all.length - MAX_VIOLATIONS} more`] : [];
  return ['- Violations:', ...all.slice(0, MAX_VIOLATIONS).map(what => `  - ${phrase(what)}`), ...more];
}

/** The detail has the error of a run that failed; a run that recovered from its errors says how many there were. */
function errorLines({ iterations }: LoopResult): readonly string[] {
  const failed = iterations.filter(iteration => iteration.error !== null);
  const last = failed.at(-1)?.error;
  return last ? [`- Failed turns: ${failed.length}, the last one: ${phrase(last)}`] : [];
}

function costWords({ totalCost, iterations, unreportedCalls }: LoopResult): string {
  const known = iterations.reduce((sum, iteration) => sum + (iteration.cost ?? 0), 0);
  if (totalCost === null) return known > 0 ? `unknown, at least ${dollars(known)}` : 'unknown';
  const source = iterations.some(iteration => iteration.costSource === 'prices')
    ? 'from the price table'
    : 'as the agent reports it';
  const without = unreportedCalls > 0 ? `; ${counted(unreportedCalls, 'call')} reported no cost` : '';
  return `${costPhrase(totalCost)} (${source}${without})`;
}

function branchLines({ branch, worktreePath }: LoopResult): readonly string[] {
  if (branch === null && worktreePath === null) return [];
  const where = worktreePath === null ? '' : ` in ${phrase(worktreePath)}`;
  return [`- Branch: ${branch === null ? 'none' : phrase(branch)}${where}`];
}
