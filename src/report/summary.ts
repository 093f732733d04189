/** The final block: what a run came to, in lines that can be pasted into a pull request. */
import type { LoopCommand } from '../domain/event.ts';
import type { CheckSummary, IterationResult, LoopResult } from '../domain/result.ts';
import { exitCodeOf, type StopReason, sentenceOf } from '../domain/stop-reason.ts';
import type { StoryOutcome } from '../domain/story-report.ts';
import { counted, dollars, duration } from './numbers.ts';
import { checkNoun, phrase, storyState, tokensPhrase } from './phrases.ts';

/** What the result itself does not know. */
export interface RunLabel {
  readonly command: LoopCommand;
  readonly agent: string;
  readonly sandbox?: string | null | undefined;
}

/** The outcome first, the stop reason last: the two lines that people look for. */
export function summaryLines(result: LoopResult, label: RunLabel): readonly string[] {
  const agent = label.agent === '' ? '' : ` with ${phrase(label.agent)}`;
  const detail = result.detail === null ? '' : ` ${phrase(result.detail)}`;
  return [
    `${sentenceOf(result.stopReason)}${detail}`,
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
    `- Time: ${duration(result.totalDuration)}${waitWords(result)}`,
    ...branchLines(result),
    `- Next: ${nextStep(result, label.command)}`,
    `- Stop reason: ${result.stopReason} (exit code ${exitCodeOf(result.stopReason)})`,
  ];
}

function storyLines(report: LoopResult['stories']): readonly string[] {
  if (!report) return [];
  const caps = report.capHits === 0 ? '' : `, ${counted(report.capHits, 'review cap')} reached`;
  return [
    `- Stories: ${report.done} of ${report.total} done, ${counted(report.reviews, 'review')}${caps}`,
    ...report.stories.map(story => `  - ${storyWords(story)}`),
  ];
}

function storyWords(story: StoryOutcome): string {
  const { id, title, reviews, reachedCap, autoApproved, iterations, cost } = story;
  const facts = [
    storyState(story),
    ...(reviews > 0 ? [`${counted(reviews, 'review')}${reachedCap ? ' (cap reached)' : ''}`] : []),
    ...(autoApproved ? ['let through at the cap: read its feedback'] : []),
    ...(iterations > 0 ? [counted(iterations, 'iteration'), ...(cost === null ? [] : [dollars(cost)])] : []),
  ];
  return `${phrase(id)} ${phrase(title)}: ${facts.join(', ')}`;
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
  return [`- ${noun}s:`, ...[...last.values()].map(check => `  - ${checkWords(check)}`)];
}

function checkWords({ name, passed, exitCode, duration: seconds, flaked, ungated }: CheckSummary): string {
  const exit = passed ? '' : `exit code ${exitCode}, `;
  const flaky = flaked === undefined ? '' : ', flaky';
  const excused = ungated ? ', was red before and does not gate' : '';
  return `${passed ? 'passed' : 'FAILED'}: \`${phrase(name)}\` (${exit}${duration(seconds)}${flaky}${excused})`;
}

const MAX_VIOLATIONS = 10;

function violationLines(iterations: readonly IterationResult[]): readonly string[] {
  const all = [...new Set(iterations.flatMap(iteration => iteration.violations))];
  if (all.length === 0) return [];
  const more = all.length > MAX_VIOLATIONS ? [`  - ${all.length - MAX_VIOLATIONS} more`] : [];
  return ['- Violations:', ...all.slice(0, MAX_VIOLATIONS).map(what => `  - ${phrase(what)}`), ...more];
}

/** The detail has the error of a run that failed; a run that got over its errors says how many there were. */
function errorLines({ iterations }: LoopResult): readonly string[] {
  const failed = iterations.filter(iteration => iteration.error !== null);
  const last = failed.at(-1)?.error;
  return last ? [`- Failed turns: ${failed.length}, the last one: ${phrase(last)}`] : [];
}

function costWords({ totalCost, iterations, unreportedCalls }: LoopResult): string {
  if (totalCost !== null) {
    const source = iterations.some(iteration => iteration.costSource === 'prices')
      ? 'from the price table'
      : 'as the agent reports it';
    const without =
      unreportedCalls > 0 ? `, without ${counted(unreportedCalls, 'call')} that did not tell` : '';
    return `${dollars(totalCost)} (${source}${without})`;
  }
  const known = iterations.reduce((sum, iteration) => sum + (iteration.cost ?? 0), 0);
  return known > 0 ? `unknown, at least ${dollars(known)}` : 'unknown';
}

function waitWords({ waited }: LoopResult): string {
  return waited === undefined ? '' : `, of which ${duration(waited)} waiting`;
}

function branchLines({ branch, worktreePath }: LoopResult): readonly string[] {
  if (branch === null && worktreePath === null) return [];
  const where = worktreePath === null ? '' : ` in ${phrase(worktreePath)}`;
  return [`- Branch: ${branch === null ? 'none' : phrase(branch)}${where}`];
}

/** The one thing to do after each ending. */
export function nextStep(result: LoopResult, command: LoopCommand): string {
  const run = phrase(result.runId);
  const log = `\`ralph log ${run}\``;
  const resume = (flag = '') => resumeWords(run, command, flag);
  const steps: Record<StopReason, string> = {
    promise_accepted: `review the changes; ${log} shows how they came about`,
    all_checks_passed: `review the changes; ${log} shows how they came about`,
    all_stories_approved: `review the changes, then \`ralph prd archive\`; ${log} shows how they came about`,
    max_iterations: `see what was missing with ${log}, then ${resume('--max-iterations')}`,
    budget_exhausted: `see what it was spent on with ${log}, then ${resume('--max-cost or --max-tokens')}`,
    timeout: `see where the time went with ${log}, then ${resume('--max-time')}`,
    stuck: `read the failure with ${log}, give it a hint in the files, then ${resume()}`,
    blocked: `read what the agent needs with ${log}, provide it, then ${resume()}`,
    rate_limited: `wait for the limit to reset, then ${resume()}, or name another agent with --fallback`,
    review_cap: `read the review with ${log}, settle the story by hand or raise --review-cap, then ${resume()}`,
    agent_failed: `read the error with ${log}, run the agent by hand once, then ${resume()}`,
    disk_failed: `make room or make it writable, then ${resume()}`,
    cancelled: `the work so far is kept; ${resume()} goes on`,
    invalid_config: `fix the configuration, then ${resume()}`,
    interrupted: `the work so far is kept; ${resume()} goes on`,
  };
  return steps[result.stopReason];
}

/** A loop inside a session is begun anew; any other goes on. `flag`: what it needs more of. */
function resumeWords(run: string, command: LoopCommand, flag: string): string {
  if (command === 'session') return flag === '' ? 'start again' : `start again with more ${flag}`;
  return `\`ralph resume ${run}\`${flag === '' ? '' : ` with more ${flag}`}`;
}
