/** Where a run was resumed, in lines for a terminal. */
import type { Resumption } from '../domain/event.ts';
import { outputLines } from './format-agent.ts';
import { capital, phrase } from './phrases.ts';
import { hanging, type Style, sign } from './style.ts';
import { resumedPhrase } from './waits.ts';

/** So much of it fits a screen; the whole is in the run's folder. */
const DIFF_LINES = 20;
const DIFF_CHARS = 2_000;

export function resumptionLines(style: Style, event: Resumption): readonly string[] {
  const { repaired, changes, diff } = event;
  return [
    ...hanging(style, sign(style, 'next'), resumedPhrase(event)),
    ...repaired.flatMap(text =>
      hanging(style, sign(style, 'warning'), `${capital(phrase(text))}.`, 'yellow'),
    ),
    ...changes.flatMap(text =>
      hanging(style, sign(style, 'note'), `Changed since the start: ${phrase(text)}`),
    ),
    ...(diff === undefined || diff.trim() === ''
      ? []
      : [
          ...hanging(style, sign(style, 'note'), 'Changes of the turn that was cut off:'),
          ...outputLines({ ...style, maxOutputLines: DIFF_LINES, maxOutputChars: DIFF_CHARS }, diff),
        ]),
  ];
}
