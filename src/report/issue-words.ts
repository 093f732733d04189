/** What Ralph says of an issue that it works on: in comments there, and in a line here. */
import type { ForgeState } from '../domain/forge/forge-state.ts';
import type { IssueStanding } from '../domain/forge/next-watch.ts';
import { fenced } from '../domain/run/loop-prompt.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { visible } from '../domain/text/visible.ts';
import { beginning } from '../platform/text.ts';
import { resultSentence } from './ending-words.ts';
import { endingSentence } from './forge-words.ts';
import { phrase, reasonPhrase } from './phrases.ts';
import { hiddenMark } from './pull-request.ts';
import { MARKDOWN_WORDS, TERMINAL_WORDS } from './words.ts';

/** A comment that Ralph knows again. */
export function issueComment(mark: string, ...parts: readonly string[]): string {
  return [`**Ralph**: ${parts.join('\n\n')}`, hiddenMark(mark)].join('\n\n');
}

export const STARTED_WORDS = 'working on this. Take the label away, or close the issue, to stop it.';

const LONGEST_QUESTION = 4_000;

/** Words of an agent: they mention nobody and are not rendered. */
export function questionParts(question: string): readonly string[] {
  const clean = visible(question).trim();
  const cut = clean.length > LONGEST_QUESTION ? `${beginning(clean, LONGEST_QUESTION)}\n…` : clean;
  return [
    'a question.',
    fenced(cut, ''),
    'The next comment of somebody with write permission is the answer.',
  ];
}

export function linkWords(address: string): string {
  return `the pull request is ${address}`;
}

const TRY_AGAIN = 'Take the label away and set it again to let Ralph try again.';

export interface EndedIssue {
  readonly standing: IssueStanding;
  /** Why nobody wants it any more, or why it is not continued. */
  readonly why: string | undefined;
  readonly result: LoopResult | undefined;
  readonly forge: ForgeState | undefined;
  /** Something on the machine of the watcher was in its way. */
  readonly isFailed: boolean;
}

export function endParts(issue: EndedIssue): readonly string[] {
  const { standing, why, forge, isFailed } = issue;
  const { ended } = forge ?? {};
  const said = ended && endedWords(ended);
  if (standing === 'done') return [`done. ${said ?? ''}`];
  if (standing === 'cancelled') {
    if (said !== undefined) return [`over. ${said}`];
    return [`stopped: ${MARKDOWN_WORDS.reason(why ?? '')}. What was done so far is kept.`];
  }
  if (isFailed)
    return [
      'needs you. Something is in the way, on the machine that works on it or at the forge; `ralph watch` says there what.',
      TRY_AGAIN,
    ];
  return [`needs you. ${needsWords(issue, MARKDOWN_WORDS)}`, TRY_AGAIN];
}

/** Why it needs somebody: of its pull request, or of the run itself. */
export function needsWords(
  { why, forge, result }: Pick<EndedIssue, 'why' | 'forge' | 'result'>,
  words = TERMINAL_WORDS,
): string {
  const detail = why ?? forge?.ended?.detail;
  if (detail !== undefined) return words.reason(detail);
  return result ? resultSentence(result, words) : '';
}

/** Our own words as they are, those of others as code. */
export function endedWords(ended: NonNullable<ForgeState['ended']>): string {
  return [endingSentence(ended), MARKDOWN_WORDS.reason(ended.detail)].filter(Boolean).join(' ');
}

/** How an issue stands, for whoever watches. */
export interface IssueLine {
  readonly issue: number;
  readonly title: string;
  readonly standing: IssueStanding;
  readonly why: string | null;
  readonly runId: string | null;
  readonly pullRequest: string | null;
}

const STANDINGS: Readonly<Record<IssueStanding, string>> = {
  waiting: 'waiting',
  working: 'working',
  following: 'following its pull request',
  asking: 'asks a question: answer it in a comment there',
  done: 'done',
  needs_you: 'needs you; set its label again when it is fixed',
  cancelled: 'stopped',
  refused: 'not begun',
  elsewhere: 'another Ralph has begun it; set the label again to begin it here',
};

export function issueLine({ issue, title, standing, why, runId, pullRequest }: IssueLine): string {
  const facts = [
    `${STANDINGS[standing]}${why === null ? '' : `: ${reasonPhrase(why)}`}`,
    ...(pullRequest === null ? [] : [phrase(pullRequest)]),
    ...(runId === null ? [] : [runId]),
  ];
  return `#${issue} ${phrase(title).slice(0, 60)}: ${facts.join(' · ')}`;
}
