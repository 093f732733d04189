/** How a run goes on, in words for people. */
import type { ResumedStep, Resumption } from '../domain/event.ts';
import { outputLines } from './format-agent.ts';
import { phrase } from './phrases.ts';
import { hanging, type Style, sign } from './style.ts';

const STEPS: Record<ResumedStep, (iteration: number) => string> = {
  prepare: () => 'it had not begun its first iteration',
  agent: n => `iteration ${n} was cut off in the agent's turn: it is taken again, what it did is kept`,
  check: n => `iteration ${n} was cut off after the agent's turn: the agent is not asked again`,
  scm: n => `iteration ${n} was cut off while its work was kept: only that is finished`,
  next: n => `iteration ${n} is next`,
  end: n => `iteration ${n} was the last one: only the end was missing`,
};

/** So much of it fits a screen; the whole is in the run's folder. */
const DIFF_LINES = 20;
const DIFF_CHARS = 2_000;

export function resumptionLines(style: Style, event: Resumption): readonly string[] {
  const { step, iteration, repaired, changes, diff } = event;
  return [
    ...hanging(style, sign(style, 'next'), `Resumed: ${STEPS[step](iteration)}`),
    ...repaired.flatMap(text => hanging(style, sign(style, 'warning'), sentence(text), 'yellow')),
    ...changes.flatMap(text => hanging(style, sign(style, 'note'), `Changed since: ${phrase(text)}`)),
    ...(diff === undefined || diff.trim() === ''
      ? []
      : [
          ...hanging(style, sign(style, 'note'), 'What the turn that was cut off had changed:'),
          ...outputLines({ ...style, maxOutputLines: DIFF_LINES, maxOutputChars: DIFF_CHARS }, diff),
        ]),
  ];
}

function sentence(text: string): string {
  const words = phrase(text);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}
