/** Counts how often a turn has failed in the same way without changing a file. */
import type { CheckResult } from './check.ts';
import type { Claim } from './completion.ts';
import type { TurnOutcome } from './evidence.ts';
import type { IterationTrace } from './standstill.ts';
import type { Usage } from './usage.ts';

export interface Ending {
  readonly outcome: TurnOutcome;
  readonly claim: Claim;
  readonly checks: readonly CheckResult[];
  /** A name for what the files are; null: not looked at. */
  readonly tree: string | null;
}

export interface Repeated {
  readonly signature: string;
  readonly times: number;
}

/** The number of turns in a row that ended like this one, this one included; 0 where the files are not looked at. */
export function timesRepeated(before: Repeated | undefined, ending: Ending): number {
  if (ending.tree === null) return 0;
  return before?.signature === signatureOf(ending) ? before.times + 1 : 1;
}

/** Times and counts differ from run to run of the same failure: numbers do not matter. */
export function signatureOf({ outcome, claim, checks, tree }: Ending): string {
  const red = checks.filter(check => !check.passed);
  const failures = red.map(check => [check.command, check.exitCode, check.output.replace(/\d+/g, '#')]);
  return JSON.stringify([outcome.kind, claim, failures, tree]);
}

/** What an iteration left behind, to see a standstill. */
export function momentOf({ checks, tree }: Ending, { cost }: Usage): IterationTrace {
  const green = checks.filter(check => check.passed).length;
  return { tree, green, ...(cost !== undefined && { cost }) };
}
