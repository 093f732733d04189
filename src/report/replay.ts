/** A replay in lines: each verdict, and whether today's judge agrees. */
import type { LoopCommand } from '../domain/event.ts';
import { endingOf } from '../domain/stop-reason.ts';
import type { Verdict } from '../domain/verdict.ts';
import { whyNotDone } from './check-views.ts';
import { counted } from './numbers.ts';
import { phrase } from './phrases.ts';
import { hanging, markLines, type Style } from './style.ts';

export interface ReplayRow {
  readonly iteration: number;
  readonly recorded: Verdict;
  readonly today: Verdict;
  readonly same: boolean;
  readonly differences: readonly string[];
  readonly unread?: string;
}

export function replayLines(
  rows: readonly ReplayRow[],
  command: LoopCommand,
  style: Style,
): readonly string[] {
  const different = rows.filter(row => !row.same).length;
  const lines = rows.flatMap(row => [
    ...markLines(
      style,
      row.same ? 'ok' : 'error',
      `Iteration ${row.iteration}: ${row.same ? 'the same' : 'DIFFERENT'}: ${words(row.recorded, command)}`,
    ),
    ...(row.same ? [] : hanging(style, '   ', `today: ${words(row.today, command)}`)),
    ...row.differences.flatMap(text => hanging(style, '   ', phrase(text), 'dim')),
    ...(row.unread === undefined ? [] : hanging(style, '   ', `from the ledger alone: ${row.unread}`, 'dim')),
  ]);
  const all = `${counted(rows.length, 'verdict')} judged again`;
  return [...lines, '', different === 0 ? `${all}: all the same.` : `${all}: ${different} different.`];
}

function words(verdict: Verdict, command: LoopCommand): string {
  return verdict.kind === 'stop'
    ? `${phrase(String(verdict.reason))}: ${phrase(endingOf(verdict.reason).sentence)}`
    : `continue: ${whyNotDone(verdict, command)}`;
}
