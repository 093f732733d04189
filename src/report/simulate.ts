/** What Ralph did in a simulated run, from its ledger. */
import type { RunEvent } from '../domain/run/event.ts';
import { resultSentence } from './ending-words.ts';
import { newsOf } from './news.ts';
import { type checkNoun, restoredPhrase, turnPhrase, violationPhrase, whyContinue } from './phrases.ts';
import { hanging, markLines, type Style, sign } from './style.ts';

/** A failure that was simulated, and whether the settings caught it. */
export interface Simulated {
  readonly trouble: string;
  readonly title: string;
  /** What Ralph did, a sentence each. */
  readonly story: readonly string[];
  /** What the settings do not catch; undefined: nothing. */
  readonly weakness?: string;
}

/** What happened, a sentence for each thing that Ralph did about it. */
export function storyOf(events: Iterable<RunEvent>, noun: ReturnType<typeof checkNoun>): readonly string[] {
  const story: string[] = [];
  let iteration = 0;
  for (const event of events) {
    if (event.type === 'iteration-started') iteration = event.iteration;
    const words = sentence(event, noun);
    if (words !== undefined)
      story.push(event.type === 'run-ended' ? words : `iteration ${iteration}: ${words}`);
  }
  return story;
}

function sentence(event: RunEvent, noun: string): string | undefined {
  switch (event.type) {
    case 'agent-ended':
      return event.purpose === 'work' ? turnPhrase(event.outcome) : undefined;
    case 'waiting':
      return 'waited, then retried';
    case 'agent-switched':
      return newsOf({ ...event, why: 'limited' }, 0)[1];
    case 'restored':
      return restoredPhrase(event);
    case 'violation':
      return violationPhrase(event.violation);
    case 'judged':
      return event.verdict.kind === 'stop' ? undefined : `not done: ${whyContinue(event.verdict, noun)}`;
    case 'run-ended':
      return resultSentence(event.result);
    default:
      return undefined;
  }
}

export function simulatedLines(simulated: Simulated, style: Style): readonly string[] {
  const { trouble, title, story, weakness } = simulated;
  return [
    ...markLines(style, weakness === undefined ? 'ok' : 'warning', `${trouble}: ${title}`, 'bold'),
    ...story.flatMap(words => hanging(style, `   ${sign(style, 'note')}`, words)),
    ...(weakness === undefined ? [] : hanging(style, `   ${sign(style, 'warning')}`, weakness, 'yellow')),
  ];
}
