/** Domain values in words for people. What the agent is told is written elsewhere. */
import type { NearMiss } from '../domain/completion.ts';
import type { LoopCommand } from '../domain/event.ts';
import type { EndedBy } from '../domain/evidence.ts';
import { listSome } from '../domain/feedback.ts';
import { formatStandstill } from '../domain/standstill.ts';
import type { StoryOutcome } from '../domain/story-report.ts';
import type { Trouble, TroubleClass } from '../domain/trouble.ts';
import type { Tokens, Usage } from '../domain/usage.ts';
import type { Feedback, Verdict } from '../domain/verdict.ts';
import { displayWidth, oneLine } from '../platform/text.ts';
import { compact, counted, dollars } from './numbers.ts';
import type { PromptSize } from './run-view.ts';

/** Longer than any sentence should be, short enough for a terminal. */
const SENTENCE = 300;

/** Any text as one harmless line for a sentence. */
export function phrase(text: string): string {
  return oneLine(text, SENTENCE);
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

/** `2/10`; `2` where there is no limit. */
export function iterationOf(iteration: number, maxIterations: number, between = '/'): string {
  return isLimit(maxIterations) ? `${iteration}${between}${maxIterations}` : String(iteration);
}

export function isLimit(maxIterations: number): boolean {
  return maxIterations > 0 && Number.isFinite(maxIterations);
}

/** Why the loop goes on, most telling first. */
export function whyContinue(verdict: Verdict & { kind: 'continue' }, noun: string): string {
  if (verdict.feedback.length === 0) return 'the agent has not said that it is done';
  const phrases = verdict.feedback.map(feedback => feedbackPhrase(feedback, noun).replace(/\.$/, ''));
  return [...new Set(phrases)].join('; ');
}

function feedbackPhrase(feedback: Feedback, noun: string): string {
  switch (feedback.kind) {
    case 'check-failed': {
      const { command, timedOut, exitCode } = feedback.check;
      return `${noun.toLowerCase()} "${phrase(command)}" ${timedOut ? 'timed out' : `failed with exit code ${exitCode}`}`;
    }
    case 'violation': {
      const { what, restored, isSentence } = feedback.violation;
      if (isSentence) return 'what is not allowed was undone';
      return `${phrase(what)} must not be changed (${restored ? 'put back' : 'not put back'})`;
    }
    case 'denied':
      return `the sandbox stopped ${counted(feedback.what.length, 'thing')} it tried`;
    case 'near-miss':
      return nearMissPhrase(feedback.nearMiss, feedback.said);
    case 'claim-missing':
      return 'the agent has not said that it is done';
    case 'claim-unproven':
      return 'the agent says that it is done';
    case 'no-work':
      return 'the agent says that it is done and has done nothing';
    case 'stories-open':
      return `the agent says that everything is complete, and it is not: ${phrase(listSome(feedback.ids))}`;
    case 'story-missing':
      return phrase(feedback.message);
    case 'uncommitted':
      return `not committed: ${phrase(listSome(feedback.paths))}`;
    case 'stuck':
      return `the same failure ${feedback.repeats} times without a change`;
    case 'standstill':
      return formatStandstill(feedback.standstill).replace(/\.$/, '');
    case 'turn-ended':
      return `the turn was ended by ${endedBy(feedback.by)}`;
    case 'turn-failed':
      return `the turn failed (${troublePhrase(feedback.trouble)})`;
    default:
      return feedback satisfies never;
  }
}

const NEAR_MISS: Record<NearMiss, string> = {
  'other-text': 'the completion tag holds something else',
  case: 'the completion tag is in the wrong case',
  spaces: 'the completion tag has the wrong spaces',
  unclosed: 'the completion tag is not closed',
  quoted: 'the completion tag is only quoted',
};

export function nearMissPhrase(nearMiss: NearMiss, said?: string): string {
  return said === undefined ? NEAR_MISS[nearMiss] : `${NEAR_MISS[nearMiss]}: "${phrase(said)}"`;
}

const STORY_STATES = {
  needs_review: 'waits for its review',
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
  config: 'wrong call',
  'rate-limit': 'rate limit',
  quota: 'quota used up',
  transient: 'passing trouble',
  'context-overflow': 'context is full',
  'empty-reply': 'empty reply',
  hang: 'no sign of life',
  crash: 'crash',
};

export function troubleName(trouble: Trouble): string {
  return TROUBLE[trouble.class];
}

export function troublePhrase(trouble: Trouble): string {
  const message = phrase(trouble.message);
  const status =
    trouble.status === undefined || message.includes(String(trouble.status))
      ? ''
      : `, HTTP ${trouble.status}`;
  return message === '' ? `${troubleName(trouble)}${status}` : `${troubleName(trouble)}${status}: ${message}`;
}

/** `cost: $5.76` and `tokens: …`; what nobody told us is not told as zero. */
export function usagePhrases({ cost, costSource, tokens }: Usage): readonly string[] {
  const price = cost === undefined ? 'unknown' : `${costSource === 'prices' ? '~' : ''}${dollars(cost)}`;
  return [`cost: ${price}`, ...(tokens ? [`tokens: ${tokensPhrase(tokens)}`] : [])];
}

/** What the agent was given to read, and how much of it was not the user's own. Four characters are about one token. */
export function promptPhrase({ chars, added }: PromptSize): string {
  return `~${compact(chars / 4)} tokens, ~${compact(added / 4)} of them Ralph's`;
}

/** `1.2M in (850K cached) / 45K out`. */
export function tokensPhrase({ input, output, cacheRead }: Tokens): string {
  const cached = cacheRead > 0 ? ` (${compact(cacheRead)} cached)` : '';
  return `${compact(input)} in${cached} / ${compact(output)} out`;
}
