/** Counts how often a turn has failed in the same way without changing a file. */
import type { CheckResult } from '../domain/check.ts';
import type { Claim } from '../domain/completion.ts';
import type { TurnOutcome } from '../domain/evidence.ts';

export interface TurnEnding {
  readonly outcome: TurnOutcome;
  readonly claim: Claim;
  readonly checks: readonly CheckResult[];
  /** What the files are; null: not looked at. */
  readonly tree: string | null;
}

/** The number of turns in a row that ended like this one, this one included; 0 where the files are not looked at. */
export function createRepeats(): (ending: TurnEnding) => number {
  let last: string | undefined;
  let count = 0;
  return ending => {
    if (ending.tree === null) return 0;
    const signature = signatureOf(ending);
    count = signature === last ? count + 1 : 1;
    last = signature;
    return count;
  };
}

/** Times and counts differ from run to run of the same failure: numbers do not matter. */
function signatureOf({ outcome, claim, checks, tree }: TurnEnding): string {
  const red = checks.filter(check => !check.passed);
  const failures = red.map(check => [check.command, check.exitCode, check.output.replace(/\d+/g, '#')]);
  return JSON.stringify([outcome.kind, claim, failures, tree]);
}
