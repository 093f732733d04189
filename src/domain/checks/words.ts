/** How a check ended, in words: the same to the agent and in reviews, reports, claims and notices. */
import type { CheckResult } from './check.ts';

export interface EndedCheck extends Partial<Pick<CheckResult, 'passed' | 'timedOut' | 'duration'>> {
  readonly exitCode: number;
  readonly voided?: string | null | undefined;
  readonly clean?: boolean | undefined;
  readonly without?: readonly string[] | undefined;
}

/** Why it is red: `exit code 1`, `Timeout after 3.0 s`. */
export function redReason({ exitCode, timedOut, duration = 0 }: EndedCheck): string {
  if (timedOut) return `Timeout after ${duration.toFixed(1)} s`;
  return exitCode === 127 ? 'exit code 127: there is no such command' : `exit code ${exitCode}`;
}

/** `passed`, `timed out`, `failed with exit code 1 in a clean checkout`, `is void: …`. */
export function outcomeWords({ passed, timedOut, exitCode, voided, clean, without }: EndedCheck): string {
  const where = clean ? ' in a clean checkout' : without ? ' in what is committed' : '';
  if (voided !== undefined && voided !== null) return `is void${where}: ${voided}`;
  if (passed) return `passed${where}`;
  return timedOut ? `timed out${where}` : `failed with exit code ${exitCode}${where}`;
}

/** All of them in a sentence: `npm test` failed (exit code 1). */
export function redWords(red: readonly CheckResult[]): string {
  const words = (check: CheckResult) =>
    check.voided === undefined
      ? `failed${check.clean ? ' in a clean checkout' : ''} (${redReason(check)})`
      : `does not count (${check.voided})`;
  return red.map(check => `\`${check.command}\` ${words(check)}`).join(', ');
}
