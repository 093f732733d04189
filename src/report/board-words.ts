/** What happens in a parallel run, in words for the terminal, the log and the report. */

import { redChecks } from '../domain/checks/check.ts';
import { redReason } from '../domain/checks/words.ts';
import { type LaneHead, type LaneStep, SENT_BACK, type SentBack } from '../domain/lanes/board.ts';
import type { BoardEvent } from '../domain/lanes/board-event.ts';
import { pathsOf } from '../domain/lanes/conflict.ts';
import type { RunEvent } from '../domain/run/event.ts';
import { endingSentence } from '../domain/run/headline.ts';
import { provenBy } from '../domain/run/result.ts';
import { listSome } from '../domain/text/feedback.ts';
import { oneLine } from '../platform/text.ts';
import { duration } from './numbers.ts';
import { commitPhrase, phrase } from './phrases.ts';
import type { Mark } from './style.ts';

export type BoardLine = readonly [mark: Mark, words: string];

export type LaneNames = ReturnType<typeof createLaneNames>;

/** More of a title would hide what happened to it. */
const MOST_TITLE = 48;

/** What lanes are called in a line of their own: by their id, and by their title once that is known. */
export function createLaneNames() {
  const titles = new Map<string, string>();
  return {
    learn(lanes: readonly Pick<LaneHead, 'id' | 'title'>[]): void {
      for (const { id, title } of lanes) titles.set(id, title);
    },
    of(id: string): string {
      const title = titles.get(id);
      return title === undefined ? phrase(id) : `${phrase(id)} ${oneLine(phrase(title), MOST_TITLE)}`;
    },
  };
}

export function boardWords(event: BoardEvent, names: LaneNames): BoardLine | undefined {
  const write = WORDS[event.type] as ((event: BoardEvent, story: string) => BoardLine) | null;
  return write?.(event, 'story' in event ? names.of(event.story) : '');
}

type Of<Type extends BoardEvent['type']> = Extract<BoardEvent, { readonly type: Type }>;

/** `story`: what the lane is called. null: no news. */
const WORDS: {
  readonly [Type in BoardEvent['type']]: ((event: Of<Type>, story: string) => BoardLine) | null;
} = {
  'board-set': ({ lanes, base }) => ['note', `${lanes.length} to do, from ${commitPhrase(base)}`],
  'story-started': ({ child }, story) => ['tool', `${story}: started (${phrase(child)})`],
  'story-step': (event, story) => ['note', `${story}: ${stepWords(event)}`],
  'story-ended': ({ why }, story) =>
    why === undefined ? ['ok', `${story}: proven`] : ['error', `${story}: ${phrase(why)}`],
  'merge-left': ({ conflicts }, story) => [
    'note',
    `${story}: conflicts to decide in ${listSome(pathsOf(conflicts).map(phrase))}`,
  ],
  queued: (_, story) => ['note', `${story}: in the merge queue`],
  candidate: null,
  'lane-place': null,
  'candidate-checked': checkedWords,
  landed: ({ commit }, story) => ['ok', `${story}: landed (${commitPhrase(commit)})`],
  'sent-back': (event, story) => ['warning', `${story}: sent back, because ${sentBackWords(event)}`],
  'lane-kept': ({ needsYou, why }, story) => [needsYou ? 'error' : 'note', `${story}: ${phrase(why)}`],
  'account-limited': ({ agent, until }) => [
    'warning',
    `${phrase(agent)} is limited until ${timeWords(until)}: nothing new is begun`,
  ],
  integrated: ({ branch, commit, problem }) =>
    problem === undefined
      ? ['ok', `${phrase(branch)} is at ${commitPhrase(commit)} now, with all that has landed`]
      : ['warning', phrase(problem)],
};

/** A damaged number is no time. */
function timeWords(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? 'some time' : time.toISOString();
}

/** `iteration 2, review`. */
export function stepWords({ mode, number }: LaneStep): string {
  return number === undefined ? phrase(mode) : `iteration ${number}, ${phrase(mode)}`;
}

/** `it conflicts with what has landed in src/cart.js (The cart counts)`. */
export function sentBackWords(back: Pick<SentBack, 'why' | 'files' | 'others'>): string {
  return `${SENT_BACK[back.why] ?? phrase(back.why)}${metWords(back)}`;
}

function checkedWords(
  { passed, results, duration: seconds, number }: Of<'candidate-checked'>,
  story: string,
): BoardLine {
  const what = `${story}: candidate ${number}`;
  if (passed)
    return [
      'ok',
      `${what}: ${results.length === 1 ? 'the check passes' : `${results.length} checks pass`} as it would land (${duration(seconds)})`,
    ];
  const red = redChecks(results).map(({ command }) => `"${phrase(command)}"`);
  return ['error', `${what}: ${listSome(red)} failed as it would land (${duration(seconds)})`];
}

function metWords({ files, others }: Pick<SentBack, 'files' | 'others'>): string {
  const at = files.length > 0 ? ` in ${listSome(files.map(phrase))}` : '';
  const met = others.length > 0 ? ` (${listSome(others.map(phrase))})` : '';
  return `${at}${met}`;
}

/** What is worth a line of what happens in the run of a lane. */
export function childWords(event: RunEvent): readonly [level: 'info' | 'warning', words: string] | undefined {
  switch (event.type) {
    case 'check-ended': {
      const { passed, command, voided } = event.result;
      const why = voided ?? redReason(event.result);
      return passed ? ['info', `"${command}" passed`] : ['warning', `"${command}" failed: ${why}`];
    }
    case 'violation':
      return ['warning', event.violation.what];
    case 'question-asked':
      return ['warning', `asks: ${event.question} (ralph answer ${event.story} "…")`];
    case 'notice':
      return event.level === 'debug' ? undefined : [event.level, event.text];
    case 'agent-ended':
      return event.outcome.kind === 'failed' ? ['warning', event.outcome.trouble.message] : undefined;
    case 'run-ended':
      return ['info', endingSentence(provenBy(event.result))];
    default:
      return undefined;
  }
}
