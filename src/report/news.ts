/** What happens beside the steps of an iteration, in words: the terminal shows it as it comes, the report lists it as a remark. */
import { isRound } from '../domain/forge/forge-event.ts';
import type { ResumedStep, Resumption, RunEvent } from '../domain/run/event.ts';
import type { Wait } from '../domain/run/state.ts';
import { answerCommand, questionWords } from '../domain/stories/questions.ts';
import { sameFor } from '../domain/text/fields.ts';
import { type EventTable, FORGE, lookUp, type Of } from './event-table.ts';
import { forgeWords } from './forge-words.ts';
import { outputLines } from './format-agent.ts';
import { timeOfDay, wholeSeconds } from './numbers.ts';
import {
  capital,
  deniedPhrase,
  measuredPhrase,
  phrase,
  restoredPhrase,
  scmPhrase,
  troubleName,
} from './phrases.ts';
import { type Mark, markLines, type Paint, type Style } from './style.ts';

export type News = readonly [mark: Mark, words: string, color?: Paint];

const NEWS = {
  waiting({ agent, trouble, until }, now) {
    return ['retry', `${phrase(agent)}: ${troubleName(trouble)}. Retrying ${countdown(until, now)}`];
  },
  'agent-switched'(event, now) {
    const to = phrase(event.to);
    if (event.why === 'free-again') return ['next', `${to} is available again: using it`];
    const until = event.until === undefined ? '' : ` until ${timeOfDay(event.until, now)}`;
    return ['next', `${phrase(event.from)} is rate-limited${until}: using ${to}`];
  },
  paused: () => ['attention', 'Paused. Continue: `ralph continue`'],
  continued: () => ['next', 'Continued'],
  'hint-delivered': ({ hint: id, text }) => [
    'note',
    `${isRound({ id }) ? 'For the pull request' : 'Hint from the user'}: ${phrase(text)}`,
  ],
  'question-asked': event => [
    'attention',
    `${phrase(questionWords(event))} Answer: \`${phrase(answerCommand(event.story))}\``,
  ],
  'question-answered': ({ story, answer }) => ['note', `Answer to ${phrase(story)}: ${phrase(answer)}`],
  mutated: event => ['tool', measuredPhrase(event)],
  denied: ({ what }) => ['warning', deniedPhrase(what)],
  scm(event) {
    if (event.outcome === 'nothing-to-do') return ['note', scmPhrase(event), 'dim'];
    return [event.outcome === 'failed' ? 'error' : 'ok', scmPhrase(event)];
  },
  restored: event => [event.problem === undefined ? 'retry' : 'warning', restoredPhrase(event)],
  ...sameFor(forgeWords, ...FORGE),
} as const satisfies Partial<EventTable<[now: number], News>>;

export type NewsEvent = Of<keyof typeof NEWS>;

/** undefined: it is no news, but a step of an iteration or nothing that people need to know. */
export function newsOf(event: NewsEvent, now: number): News;
export function newsOf(event: RunEvent, now: number): News | undefined;
export function newsOf(event: RunEvent, now: number): News | undefined {
  return lookUp<[now: number], News>(NEWS, event, now);
}

/** For the live line: `rate limit: retrying in 1h45m (16:15)`. */
export function waitingPhrase({ trouble, until }: Wait, now: number): string {
  return `${troubleName(trouble)}: retrying ${countdown(until, now)}`;
}

function countdown(until: number, now: number): string {
  const seconds = Math.max(0, (until - now) / 1000);
  const at = seconds < 60 ? '' : ` (${timeOfDay(until, now)})`;
  return `in ${wholeSeconds(seconds)}${at}`;
}

/** A ledger of a later version may name a step that is not here. */
const STEPS: Readonly<Record<ResumedStep, (iteration: number) => string>> = {
  lanes: () => 'what has landed stays, and the rest continues',
  prepare: () => 'the first iteration had not started',
  agent: n =>
    `iteration ${n} was cut off during the agent's turn: the turn is repeated, its changes are kept`,
  check: n => `iteration ${n} was cut off after the agent's turn: the agent is not called again`,
  scm: n => `iteration ${n} was cut off during its source control tasks: only those are finished`,
  next: n => `iteration ${n} is next`,
  end: n => `iteration ${n} was the last one: only the end was missing`,
};

export function resumedPhrase({ step, iteration }: Pick<Resumption, 'step' | 'iteration'>): string {
  return `Resumed: ${Object.hasOwn(STEPS, step) ? STEPS[step](iteration) : `in iteration ${iteration}`}`;
}

/** So much of it fits a screen; the whole is in the run's folder. */
const DIFF_LINES = 20;
const DIFF_CHARS = 2_000;

export function resumptionLines(style: Style, event: Resumption): readonly string[] {
  const { repaired, changes, diff = '' } = event;
  const wide = { ...style, maxOutputLines: DIFF_LINES, maxOutputChars: DIFF_CHARS };
  return [
    ...markLines(style, 'next', resumedPhrase(event)),
    ...repaired.flatMap(text =>
      markLines(style, 'warning', capital(phrase(text)).replace(/\.?$/, '.'), 'yellow'),
    ),
    ...changes.flatMap(text => markLines(style, 'note', `Changed since the start: ${phrase(text)}`)),
    ...(diff.trim() === '' ? [] : markLines(style, 'note', 'Changes of the turn that was cut off:')),
    ...(diff.trim() === '' ? [] : outputLines(wide, diff)),
  ];
}
