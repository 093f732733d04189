/** What each iteration of a run left behind, those before a resumption too, and whether it stands still. */
import type { CheckResult } from '../domain/check.ts';
import type { Past } from '../domain/past.ts';
import {
  findStandstill,
  type IterationTrace,
  type Standstill,
  type StandstillLimits,
} from '../domain/standstill.ts';
import type { Usage } from '../domain/usage.ts';

export interface IterationEnding {
  readonly checks: readonly CheckResult[];
  /** What the files are; null: not looked at. */
  readonly tree: string | null;
  /** Of this iteration. */
  readonly usage: Usage;
}

export function createHistory(
  limits: StandstillLimits | undefined,
  past?: Past,
): (ending: IterationEnding) => Standstill | undefined {
  const history: IterationTrace[] = [];
  // Whoever resumes a run that was stuck has changed something that is not in the files.
  if (past?.result?.stopReason !== 'stuck') {
    for (const { turn, judged, checks } of past?.iterations ?? []) {
      if (turn && judged) history.push(momentOf({ checks, tree: judged.tree, usage: turn.usage }));
    }
  }
  return ending => {
    history.push(momentOf(ending));
    if (history.length > LONGEST) history.shift();
    return limits && findStandstill(history, limits);
  };
}

/** More than anybody would wait for progress; a run of any length looks back no further. */
const LONGEST = 500;

function momentOf({ checks, tree, usage: { cost } }: IterationEnding): IterationTrace {
  const green = checks.filter(check => check.passed).length;
  return { tree, green, ...(cost !== undefined && { cost }) };
}
