/** The lines of a job's log that say why it is red. */
import { excerptOf, plain } from '../checks/failure.ts';

/** `2026-11-17T22:15:33.1234567Z ` at the beginning of each line. */
const STAMP = /^\uFEFF?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ?/;
const BEGINS = /^##\[group\]/;
const FAILED = /^##\[error\]/;
const MARK = /^##\[(?:group|endgroup|error|warning|debug|command|section)\]/;

/** Of the step that failed; of a text that is no such log, all of it. */
export function failingStep(log: string): string {
  const lines = plain(log)
    .split('\n')
    .map(line => line.replace(STAMP, ''));
  const failed = lines.findIndex(line => FAILED.test(line));
  if (failed < 0) return lines.join('\n').trim();
  const before = lines.slice(0, failed).findLastIndex(line => BEGINS.test(line));
  const step = lines.slice(Math.max(0, before), lastError(lines, failed) + 1);
  return step
    .map(line => line.replace(MARK, ''))
    .join('\n')
    .trim();
}

/** A step may say several errors in a row. */
function lastError(lines: readonly string[], first: number): number {
  let at = first;
  while (at + 1 < lines.length && FAILED.test(lines[at + 1] ?? '')) at++;
  return at;
}

/** Characters of one log in a prompt. */
const ROOM = 6_000;

export function failureExcerpt(log: string): string {
  return excerptOf(failingStep(log), { chars: ROOM, from: 'tail' }).text;
}
