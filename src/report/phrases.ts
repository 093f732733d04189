/** Domain values in words for people: the one place for each. The words for the agent are in `domain/text/feedback.ts`. */

import { type Measured, mutationWords } from '../domain/checks/mutation.ts';
import { type EndedCheck, outcomeWords } from '../domain/checks/words.ts';
import type { ForkOf, LoopCommand, Restored, RunEvent } from '../domain/run/event.ts';
import type { EndedBy, TurnOutcome, Violation } from '../domain/run/evidence.ts';
import type { BestResult } from '../domain/run/result.ts';
import { formatStandstill } from '../domain/run/standstill.ts';
import type { Feedback, Verdict } from '../domain/run/verdict.ts';
import type { StoryOutcome } from '../domain/stories/report.ts';
import { listSome, NEAR_MISS_WORDS } from '../domain/text/feedback.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import type { NearMiss } from '../domain/turn/claim.ts';
import type { RefusedCalls } from '../domain/turn/refusals.ts';
import type { Trouble, TroubleClass } from '../domain/turn/trouble.ts';
import { dollars, type Tokens, type Usage } from '../domain/turn/usage.ts';
import { displayWidth, oneLine } from '../platform/text.ts';
import { compact, counted, duration } from './numbers.ts';
import type { Phase, PromptSize, RunView, Seconds } from './run-view.ts';

/** Longer than any sentence should be, short enough for a terminal. */
const SENTENCE = 300;

/** Any text as one harmless line for a sentence. */
export function phrase(text: string): string {
  return oneLine(text, SENTENCE);
}

const REASON = 1_000;

/** Why something stopped, with what to do next at its end: that must not be cut off. */
export function reasonPhrase(text: string): string {
  return oneLine(text, REASON);
}

/** As much of the name of a commit as people need. */
export function commitPhrase(commit: string): string {
  return phrase(commit.slice(0, 12));
}

/** `Read(src/sum.ts)`, the brackets closed even where the summary had to be cut. */
export function toolLabel(tool: Tool, columns: number): string {
  const name = oneLine(tool.name, Math.max(1, Math.floor(columns / 2)));
  const summary = oneLine(tool.summary, columns - displayWidth(name) - 2);
  return summary === '' ? name : `${name}(${summary})`;
}

export interface Tool {
  readonly name: string;
  readonly summary: string;
}

/** `ralph run` calls its checks guardrails. */
export function checkNoun(command: LoopCommand): 'Guardrail' | 'Check' {
  return command === 'run' ? 'Guardrail' : 'Check';
}

interface CheckFacts extends EndedCheck {
  readonly flaked?: number | undefined;
  readonly ungated?: boolean;
}

/** How a check ended: `passed`, `timed out`, `failed with exit code 1`. */
export function checkOutcome(check: CheckFacts): string {
  return phrase(outcomeWords(check));
}

/** The same with its time and what one should know of it. */
export function checkPhrase(check: CheckFacts, seconds: number): string {
  const { flaked = 0, ungated } = check;
  const facts = [
    duration(seconds),
    ...(flaked > 0 ? [`flaky: failed ${counted(flaked, 'time')} first`] : []),
    ...(ungated ? ['failed before the run too, so it is not required'] : []),
  ];
  return `${checkOutcome(check)} (${facts.join(', ')})`;
}

/** `test/a.test is protected: the agent's change was undone`. */
export function violationPhrase({ what, restored, refused, isSentence, by }: Violation): string {
  if (refused) return `refused before it ran: ${phrase(what)}`;
  const undone = restored ? 'was undone' : 'could NOT be undone';
  if (isSentence) return `${phrase(what)} This ${undone}`;
  const whose = by === undefined ? "the agent's" : `a check's (${phrase(by)})`;
  const [, path, verb] = CHANGED.exec(what) ?? [];
  if (path === undefined) return `${phrase(what)}: it is protected, and ${whose} change ${undone}`;
  return `${phrase(path)} is protected: ${whose} ${verb === 'deleted' ? 'deletion' : 'change'} ${undone}`;
}

const CHANGED = /^(\S+$|.+?(?= was (changed|deleted)\b))/;

/** The file that a violation is about; '': none. */
export function violatedPath(what: string): string {
  return /^(.+?) (?:was|is) /.exec(what)?.[1] ?? '';
}

/** `commit: Count quantities`, `push failed: no remote`. */
export function scmPhrase({ task, outcome, detail }: Pick<ScmEvent, 'task' | 'outcome' | 'detail'>): string {
  if (outcome === 'nothing-to-do') return `${phrase(task)}: nothing to do`;
  const more = detail.trim() === '' ? '' : `: ${phrase(detail)}`;
  return `${phrase(task)}${outcome === 'failed' ? ' failed' : ''}${more}`;
}

type ScmEvent = RunEvent & { readonly type: 'scm' };

/** `Went back to iteration 2: iterations 3 and 4 ended worse`. */
export function restoredPhrase({ from, to, why, undone, problem }: Restored): string {
  if (problem !== undefined)
    return `Iteration ${to} was better, and its files could not be put back: ${phrase(problem)}`;
  const numbers = undone.map(({ iteration }) => iteration);
  const worse =
    numbers.length > 1
      ? `iterations ${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
      : `iteration ${numbers[0] ?? from}`;
  const what = why === 'end' ? 'The files are those of' : 'Went back to';
  return `${what} iteration ${to}, the best: ${worse} ended worse`;
}

/** `20261115-1203, iteration 2`. */
export function forkPhrase({ run, iteration }: ForkOf): string {
  return `${phrase(run)}, iteration ${iteration}`;
}

/** `iteration 2: 1 of 2 checks passed, 3 failing tests`. */
export function bestPhrase({ iteration, checksGreen, failures }: BestResult, checks: number): string {
  const tests = failures === null || failures === 0 ? '' : `, ${counted(failures, 'failing test')}`;
  return `iteration ${iteration}: ${checksGreen} of ${counted(checks, 'check')} passed${tests}`;
}

export function deniedPhrase(what: string): string {
  return `Blocked by the sandbox: ${phrase(what)}`;
}

const PHASES: Readonly<Record<Phase, string>> = {
  between: 'between two steps',
  agent: 'the agent is working',
  checks: 'checks are running',
  waiting: 'waiting for a limit to reset',
  paused: 'paused',
  ended: 'ended',
};

/** What a run is doing. */
export function phasePhrase(phase: Phase): string {
  return PHASES[phase];
}

/** How a turn ended that did not simply complete; undefined: it did. */
export function turnPhrase(outcome: TurnOutcome): string | undefined {
  if (outcome.kind === 'failed') return `the turn failed (${troublePhrase(outcome.trouble)})`;
  return outcome.kind === 'ended' ? `the turn was ended by ${endedBy(outcome.by)}` : undefined;
}

/** A sentence begins with a capital. */
export function capital(sentence: string): string {
  return sentence.slice(0, 1).toUpperCase() + sentence.slice(1);
}

/** Whether the checks would notice a fault. */
export function measuredPhrase(measured: Measured): string {
  if ('failed' in measured) return `No faults were tried: ${phrase(measured.failed)}`;
  const left = measured.untried > 0 ? `; ${measured.untried} more were not tried` : '';
  return `Would the checks notice? ${mutationWords(measured)}${left}`;
}

/** `2/10`; `2` where there is no limit. */
export function iterationOf(iteration: number, maxIterations: number, between = '/'): string {
  return isLimit(maxIterations) ? `${iteration}${between}${maxIterations}` : String(iteration);
}

export function isLimit(maxIterations: number): boolean {
  return maxIterations > 0 && Number.isFinite(maxIterations);
}

/** Why the loop continues, the most important first. */
export function whyContinue(verdict: Verdict & { kind: 'continue' }, noun: string): string {
  if (verdict.feedback.length === 0) return 'the agent has not said that it is done';
  const phrases = verdict.feedback.map(feedback => {
    const say = FEEDBACK[feedback.kind] as (of: Feedback, noun: string) => string;
    return say(feedback, noun).replace(/\.$/, '');
  });
  return [...new Set(phrases)].join('; ');
}

const FEEDBACK: {
  readonly [Kind in Feedback['kind']]: (of: Extract<Feedback, { kind: Kind }>, noun: string) => string;
} = {
  undone: ({ to }) => `the files are those of iteration ${to} again`,
  'check-failed': ({ check }, noun) =>
    `${noun.toLowerCase()} "${phrase(check.command)}" ${checkOutcome(check)}`,
  violation: ({ violation }) => violationPhrase(violation),
  'inputs-changed': ({ paths, voids }) =>
    `what the checks rest on was changed${voids ? ', which voids the proof' : ''}: ${phrase(listSome(paths))}`,
  unstable: ({ paths, voids }) =>
    `the checks change files each time they run${voids ? ', which voids the proof' : ''}: ${phrase(listSome(paths))}`,
  denied: ({ what }) => `the sandbox blocked ${counted(what.length, 'action')} of the agent`,
  'near-miss': ({ nearMiss, said }) => nearMissPhrase(nearMiss, said),
  'claim-missing': () => 'the agent has not said that it is done',
  'claim-unproven': () => 'the agent says that it is done',
  'no-work': () => 'the agent says that it is done, but it did nothing',
  'stories-open': ({ ids }) =>
    `the agent says that everything is complete, but these stories are not: ${phrase(listSome(ids))}`,
  'story-missing': ({ message }) => phrase(message),
  survivors: ({ survivors, score, min }) =>
    min === undefined
      ? `${counted(survivors.length, 'fault')} that no check notices: the agent hears it once`
      : `the checks notice ${score} % of the faults, and ${min} % is asked for`,
  unmeasured: ({ why }) => `whether the checks would notice a fault is not known: ${phrase(why)}`,
  uncommitted: ({ paths }) => `not committed: ${phrase(listSome(paths))}`,
  stuck: ({ repeats }) => `the same failure ${repeats} times without a change`,
  standstill: ({ standstill }) => formatStandstill(standstill),
  'turn-ended': ({ by }) => turnPhrase({ kind: 'ended', by }) ?? '',
  'turn-failed': ({ trouble }) => turnPhrase({ kind: 'failed', trouble }) ?? '',
};

export function nearMissPhrase(nearMiss: NearMiss, said?: string): string {
  const words = `the completion tag ${NEAR_MISS_WORDS[nearMiss] ?? phrase(nearMiss)}`;
  return said === undefined ? words : `${words}: "${phrase(said)}"`;
}

const STORY_STATES = {
  needs_review: 'waiting for its review',
  changes_requested: 'changes requested',
  approved: 'approved',
} as const;

/** Where a story stands, in words. */
export function storyState({ done, reviewStatus }: Pick<StoryOutcome, 'done' | 'reviewStatus'>): string {
  if (done && reviewStatus === null) return 'done, not reviewed';
  return reviewStatus === null ? 'open' : STORY_STATES[reviewStatus];
}

export function endedBy(by: EndedBy): string {
  return by === 'interrupt' ? 'a signal' : `--${by}`;
}

const TROUBLE: Record<TroubleClass, string> = {
  auth: 'not logged in',
  config: 'wrong arguments',
  'rate-limit': 'rate limit',
  quota: 'quota exhausted',
  transient: 'temporary error',
  'context-overflow': 'context is full',
  'permission-denied': 'permission denied',
  'empty-reply': 'empty reply',
  hang: 'no output',
  crash: 'crash',
};

export function troubleName(trouble: Trouble): string {
  return TROUBLE[trouble.class] ?? phrase(trouble.class);
}

export function refusedPhrase({ calls, tools }: RefusedCalls): string {
  return `The agent's own permissions refused ${counted(calls, 'tool call')}: ${phrase(tools.join(', '))}`;
}

/** As it was reported while the agent worked. */
export function eventPhrase({ trouble, retrying, call }: AgentEvent & { kind: 'trouble' }): string {
  return `${troublePhrase(trouble)}${retrying && !call ? ' (the agent retries)' : ''}`;
}

export function troublePhrase(trouble: Trouble): string {
  const message = phrase(trouble.message);
  const status =
    trouble.status === undefined || message.includes(String(trouble.status))
      ? ''
      : `, HTTP ${trouble.status}`;
  return message === '' ? `${troubleName(trouble)}${status}` : `${troubleName(trouble)}${status}: ${message}`;
}

/** Unknown is not zero; where some calls reported no cost, what is known is a lower bound. */
export function costPhrase(cost: number | null | undefined, unpriced = 0): string {
  if (cost === undefined || cost === null) return 'unknown';
  return unpriced > 0 ? `at least ${dollars(cost)}` : dollars(cost);
}

/** `cost: $5.76` and `tokens: …`. */
export function usagePhrases({ cost, costSource, tokens, unpriced, uncounted }: Usage): readonly string[] {
  const isEstimate = cost !== undefined && (costSource === 'prices' || costSource === 'estimated');
  return [
    `cost: ${isEstimate ? '~' : ''}${costPhrase(cost, unpriced)}`,
    ...(tokens ? [`tokens: ${tokensPhrase(tokens, uncounted)}`] : []),
  ];
}

/** How long the prompt was, and how much of it was not the user's own. Four characters are about one token. */
export function promptPhrase({ chars, added }: PromptSize): string {
  return `~${compact(chars / 4)} tokens, ~${compact(added / 4)} of them added by Ralph`;
}

/** `agent 6m7s`, `checks 42s`, and `waiting 1h45m` where there was any. */
export function timePhrases({ agent, checks, waiting }: Seconds): readonly string[] {
  return [
    `agent ${duration(agent)}`,
    `checks ${duration(checks)}`,
    ...(waiting > 0 ? [`waiting ${duration(waiting)}`] : []),
  ];
}

/** `1.2M in (850K cached) / 45K out`; a lower bound where some calls reported no tokens. */
export function tokensPhrase({ input, output, cacheRead }: Tokens, uncounted = 0): string {
  const cached = cacheRead > 0 ? ` (${compact(cacheRead)} cached)` : '';
  return `${uncounted > 0 ? 'at least ' : ''}${compact(input)} in${cached} / ${compact(output)} out`;
}

/** Where the iteration has left its story, in words. */
export function movedIn(moves: RunView['moves'], iteration: number): string | undefined {
  const move = moves.at(-1);
  if (!move || move.iteration !== iteration) return undefined;
  const { story, status, feedback } = move;
  const state = storyState({ done: status === 'approved', reviewStatus: status === 'open' ? null : status });
  return `${story}: ${state}${status === 'changes_requested' && feedback !== '' ? `: ${feedback}` : ''}`;
}
