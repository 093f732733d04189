/** Counts how often a turn has failed in the same way without changing a file. */
import type { CheckResult } from '../domain/check.ts';
import type { Claim } from '../domain/completion.ts';
import type { TurnOutcome } from '../domain/evidence.ts';
import type { Past } from '../domain/past.ts';

export interface TurnEnding {
  readonly outcome: TurnOutcome;
  readonly claim: Claim;
  readonly checks: readonly CheckResult[];
  /** What the files are; null: not looked at. */
  readonly tree: string | null;
}

/** The number of turns in a row that ended like this one, this one included; 0 where the files are not looked at. */
export function createRepeats(past?: Past): (ending: TurnEnding) => number {
  let last: string | undefined;
  let count = 0;
  const repeats = (ending: TurnEnding) => {
    if (ending.tree === null) return 0;
    const signature = signatureOf(ending);
    count = signature === last ? count + 1 : 1;
    last = signature;
    return count;
  };
  // Whoever resumes a run that was stuck has changed something that is not in the files.
  if (past?.result?.stopReason === 'stuck') return repeats;
  for (const { turn, judged, checks } of past?.iterations ?? []) {
    if (turn && judged) repeats({ outcome: turn.outcome, claim: turn.claim, checks, tree: judged.tree });
  }
  return repeats;
}

/** Times and counts differ from run to run of the same failure: numbers do not matter. */
function signatureOf({ outcome, claim, checks, tree }: TurnEnding): string {
  const red = checks.filter(check => !check.passed);
  const failures = red.map(check => [check.command, check.exitCode, check.output.replace(/\d+/g, '#')]);
  return JSON.stringify([outcome.kind, claim, failures, tree]);
}
