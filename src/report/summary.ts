/** The final block: the result of a run, in lines that can be pasted into a pull request; as text for a terminal. */

import { mutationWords } from '../domain/checks/mutation.ts';
import type { Integrated } from '../domain/lanes/board.ts';
import type { ForkOf, LoopCommand } from '../domain/run/event.ts';
import { type CheckSummary, type IterationResult, type LoopResult, provenBy } from '../domain/run/result.ts';
import type { KnownLimits } from '../domain/run/resume-command.ts';
import { hasBegun, lastLimits, type RunState } from '../domain/run/state.ts';
import { exitCodeOf } from '../domain/run/stop-reason.ts';
import type { RoleOutcome, StoryOutcome } from '../domain/stories/report.ts';
import { dollars } from '../domain/turn/usage.ts';
import { oneLine } from '../platform/text.ts';
import { endedRun, nextSteps, proofLine, resultSentence } from './ending-words.ts';
import { laneLines } from './lane-words.ts';
import { counted, duration } from './numbers.ts';
import {
  bestPhrase,
  checkNoun,
  checkPhrase,
  costPhrase,
  forkPhrase,
  scmPhrase,
  storyState,
  tokensPhrase,
} from './phrases.ts';
import { TERMINAL_WORDS, type Words } from './words.ts';

/** What the result itself does not know. */
export interface RunLabel extends KnownLimits {
  readonly command: LoopCommand;
  readonly agent: string;
  readonly title?: string | null | undefined;
  readonly sandbox?: string | null | undefined;
  readonly forkOf?: ForkOf | null | undefined;
  readonly cwd?: string | undefined;
  /** An agent was asked for something. */
  readonly hasBegun?: boolean | undefined;
  /** A command without an id means it. */
  readonly isLatest?: boolean | undefined;
  /** Of a parallel run: what became of the user's branch. */
  readonly integrated?: Integrated | null | undefined;
  /** What to do next, where no command does it here. */
  readonly next?: readonly string[] | undefined;
}

export function labelOf(state: RunState): RunLabel {
  const { head, integrated } = state;
  return {
    command: 'run',
    agent: '',
    ...head,
    limits: lastLimits(state),
    integrated,
    hasBegun: hasBegun(state),
  };
}

/** The outcome first, the stop reason last: the two lines that people look for. */
export function summaryLines(
  result: LoopResult,
  label: RunLabel,
  words: Words = TERMINAL_WORDS,
): readonly string[] {
  const { say } = words;
  const agent = label.agent === '' ? '' : ` with ${say(label.agent)}`;
  const waited = result.waited === undefined ? '' : `, of which ${duration(result.waited)} waiting`;
  return [
    resultSentence(result, words),
    '',
    ...(label.title ? [`- Task: ${say(label.title)}`] : []),
    `- Run: ${say(result.runId)} (ralph ${say(label.command)}${agent})`,
    ...(label.forkOf ? [`- Fork of: ${say(forkPhrase(label.forkOf))}`] : []),
    ...(label.sandbox ? [`- Sandbox: ${say(label.sandbox)}`] : []),
    ...(result.lanes ? [] : [`- Iterations: ${result.iterations.length}`]),
    ...storyLines(result, words),
    ...laneLines(result, label, words),
    ...checkLines(result, checkNoun(label.command), words),
    `- ${proofLine(provenBy(result, label.sandbox), words)}`,
    ...testLines(result, words),
    ...mutationLines(result, words),
    ...violationLines(result.iterations, words),
    ...errorLines(result, words),
    ...bestLines(result, words),
    `- Cost: ${costWords(result)}`,
    `- Tokens: ${tokenWords(result)}`,
    `- Time: ${duration(result.totalDuration)}${waited}`,
    ...(result.lanes ? [] : branchLines(result, words)),
    ...scmLines(result, words),
    ...nextLines(
      label.next ?? nextSteps({ ...endedRun(result, label.command, label), isLatest: label.isLatest }),
    ),
    `- Stop reason: ${/^[a-z_]+$/.test(result.stopReason) ? result.stopReason : say(result.stopReason)} (exit code ${exitCodeOf(result.stopReason)})`,
  ];
}

/** A line each: a command that is broken in two cannot be pasted. */
function nextLines([first, ...rest]: readonly string[]): readonly string[] {
  return [`- Next: ${first}`, ...rest.map(step => `  - ${step}`)];
}

/** The same for a terminal: a list there needs no Markdown. */
export function asText(lines: readonly string[]): readonly string[] {
  return lines.map(line => line.replace(/^( *)- /, '$1  '));
}

/** Of a parallel run the lanes say what became of each. */
function storyLines({ stories: report, lanes }: LoopResult, words: Words): readonly string[] {
  if (!report) return [];
  const caps = report.capHits === 0 ? '' : `, ${counted(report.capHits, 'review cap')} reached`;
  return [
    `- Stories: ${report.done} of ${report.total} done, ${counted(report.reviews, 'review')}${caps}`,
    ...(lanes ? [] : report.stories.map(story => `  - ${storyWords(story, words)}`)),
    ...(report.roles ?? []).map(role => roleWords(role, words)),
  ];
}

function roleWords({ role, agent, iterations, cost }: RoleOutcome, { say }: Words): string {
  const price = cost === null ? 'cost unknown' : dollars(cost);
  return `  - ${role} ${say(agent)}: ${counted(iterations, 'iteration')}, ${price}`;
}

function storyWords(story: StoryOutcome, { say }: Words): string {
  const { id, title, reviews, reachedCap, autoApproved, unsaid, iterations, cost } = story;
  const facts = [
    storyState(story),
    ...(reviews > 0 ? [`${counted(reviews, 'review')}${reachedCap ? ' (cap reached)' : ''}`] : []),
    ...(autoApproved ? ['approved only because of the cap: read its feedback'] : []),
    ...(unsaid ? ['approved in the list, not in words'] : []),
    ...(iterations > 0 ? [counted(iterations, 'iteration'), ...(cost === null ? [] : [dollars(cost)])] : []),
  ];
  const asks = story.feedback === undefined ? '' : `: ${say(oneLine(story.feedback, 200))}`;
  return `${say(id)} ${say(title)}: ${facts.join(', ')}${asks}`;
}

/** The last state of each check; an iteration that never got to a check does not change it. */
export function checkLines(
  { iterations, restored }: Pick<LoopResult, 'iterations' | 'restored'>,
  noun: string,
  { code }: Words,
): readonly string[] {
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
    check => `  - ${code(check.name)} ${checkPhrase(check, check.duration)}`,
  );
  const of = restored ? ` of iteration ${iterations.at(-1)?.iteration}` : '';
  return [`- ${noun}s${of}:`, ...lines];
}

const MAX_TESTS = 10;

/** What changed in the tests is to be looked at: a green check is worth what they are. */
export function testLines({ testsChanged = [] }: LoopResult, { say }: Words): readonly string[] {
  if (testsChanged.length === 0) return [];
  const more = testsChanged.length - MAX_TESTS;
  return [
    '- Tests changed, look at them:',
    ...testsChanged.slice(0, MAX_TESTS).map(line => `  - ${say(line)}`),
    ...(more > 0 ? [`  - ${more} more`] : []),
  ];
}

const MAX_SURVIVORS = 7;

export function mutationLines({ mutation }: LoopResult, { say, code }: Words): readonly string[] {
  if (!mutation) return [];
  const { survivors } = mutation;
  const shown = survivors
    .slice(0, MAX_SURVIVORS)
    .map(({ file, line, change }) => `  - not noticed: ${code(`${file}:${line}`)} ${say(change)}`);
  const more = survivors.length - shown.length;
  return [`- Mutation: ${mutationWords(mutation)}`, ...shown, ...(more > 0 ? [`  - ${more} more`] : [])];
}

const MAX_VIOLATIONS = 10;

function violationLines(iterations: readonly IterationResult[], { say }: Words): readonly string[] {
  const all = [...new Set(iterations.flatMap(iteration => iteration.violations))];
  if (all.length === 0) return [];
  const more = all.length > MAX_VIOLATIONS ? [`  - ${all.length - MAX_VIOLATIONS} more`] : [];
  return ['- Violations:', ...all.slice(0, MAX_VIOLATIONS).map(what => `  - ${say(what)}`), ...more];
}

/** The detail has the error of a run that failed; a run that recovered from its errors says how many there were. */
function errorLines({ iterations }: LoopResult, { say }: Words): readonly string[] {
  const failed = iterations.filter(iteration => iteration.error !== null);
  const last = failed.at(-1)?.error;
  return last ? [`- Failed turns: ${failed.length}, the last one: ${say(last)}`] : [];
}

/** Where the best is the last one there is nothing to say. */
function bestLines(
  { best, restored, iterations, success }: LoopResult,
  { say, code }: Words,
): readonly string[] {
  const last = iterations.at(-1)?.iteration;
  if (!best || success || best.iteration === last) return [];
  const { checkResults = [] } = iterations.find(({ iteration }) => iteration === best.iteration) ?? {};
  const line = `- Best: ${bestPhrase(best, checkResults.filter(({ clean }) => !clean).length)}`;
  if (!restored) return [`${line}; the files are as iteration ${last} left them`];
  const { aside, bringBack } = restored;
  return [
    `${line}; the files are as it left them, and what came after it is put aside${aside === undefined ? '' : ` in ${say(aside)}`}`,
    ...(bringBack === undefined ? [] : [`  - Bring it back: ${code(bringBack)}`]),
  ];
}

export function costWords({ totalCost, iterations, unreportedCalls }: LoopResult): string {
  const known = iterations.reduce((sum, iteration) => sum + (iteration.cost ?? 0), 0);
  if (totalCost === null) return known > 0 ? `unknown, at least ${dollars(known)}` : 'unknown'; // by 0.1
  const sources = new Set(iterations.map(iteration => iteration.costSource));
  const source = sources.has('estimated')
    ? 'an estimate by list prices'
    : sources.has('prices')
      ? 'from the price table'
      : 'as the agent reports it';
  const without = unreportedCalls > 0 ? `; ${counted(unreportedCalls, 'call')} reported no cost` : '';
  return `${costPhrase(totalCost)} (${source}${without})`;
}

function tokenWords({ totalTokens, uncountedCalls = 0 }: LoopResult): string {
  if (!totalTokens) return 'unknown';
  const without = uncountedCalls > 0 ? ` (${counted(uncountedCalls, 'call')} reported none)` : '';
  return `${tokensPhrase(totalTokens, uncountedCalls)}${without}`;
}

function scmLines({ scm = [] }: LoopResult, { say }: Words): readonly string[] {
  return scm.length === 0 ? [] : ['- Source control:', ...scm.map(task => `  - ${say(scmPhrase(task))}`)];
}

function branchLines({ branch, worktreePath }: LoopResult, { say }: Words): readonly string[] {
  if (branch === null && worktreePath === null) return [];
  const where = worktreePath === null ? '' : ` in ${say(worktreePath)}`;
  return [`- Branch: ${branch === null ? 'none' : say(branch)}${where}`];
}
