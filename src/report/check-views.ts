/** The checks of an iteration as the run view has them. */
import type { CheckResult } from '../domain/check.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { CheckView } from './run-view.ts';
import { soundEntry } from './sound-entry.ts';

export function checkView(result: CheckResult): CheckView {
  const { index, command, passed, exitCode, duration, logFile } = result;
  return {
    index,
    command,
    passed,
    exitCode,
    timedOut: result.timedOut === true,
    seconds: duration,
    flaked: result.flaked ?? 0,
    ungated: result.ungated === true,
    logFile,
  };
}

/** In the order of the configuration; a check that ran again replaces itself. */
export function place(checks: readonly CheckView[], check: CheckView): readonly CheckView[] {
  return [...checks.filter(({ index }) => index !== check.index), check].sort((a, b) => a.index - b.index);
}

/** All that a verdict tells of the checks. */
export function redOnes(verdict: Verdict): readonly CheckView[] {
  if (verdict.kind !== 'continue' || !Array.isArray(verdict.feedback)) return [];
  return verdict.feedback.flatMap(item => {
    const red = item?.kind === 'check-failed' && {
      type: 'check-ended',
      seq: 0,
      at: '1970-01-01',
      result: item.check,
    };
    return red && soundEntry(red) ? [checkView(item.check)] : [];
  });
}
