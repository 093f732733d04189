/** The checks and the verdict of an iteration as the run view has them. */
import type { CheckResult } from '../domain/checks/check.ts';
import { failureLines } from '../domain/checks/failure.ts';
import type { LoopCommand } from '../domain/run/event.ts';
import { knownEntry } from '../domain/run/ledger-entry.ts';
import type { Verdict } from '../domain/run/verdict.ts';
import { pick } from '../domain/text/fields.ts';
import { clip, harmless, oneLine } from '../platform/text.ts';
import { checkNoun, whyContinue } from './phrases.ts';
import type { CheckView } from './run-view.ts';

export function checkView(result: CheckResult): CheckView {
  const { passed, timedOut, duration: seconds, flaked = 0, ungated, logFile } = result;
  return {
    ...pick(result, 'index', 'command', 'passed', 'exitCode'),
    ...{ timedOut: timedOut === true, seconds, flaked, ungated: ungated === true },
    ...pick(result, 'voided', 'clean', 'without'),
    logFile,
    ...(!passed && { cause: causeOf(result) }),
  };
}

const CAUSE_LINES = 12;

/** The same lines as the terminal has them. */
function causeOf({ output }: CheckResult): readonly string[] {
  return failureLines(output, CAUSE_LINES).map(line => clip(harmless(line).trimEnd(), 200));
}

/** In the order of the configuration; a check that ran again replaces itself. */
export function place(checks: readonly CheckView[], check: CheckView): readonly CheckView[] {
  const others = checks.filter(({ index, clean }) => index !== check.index || clean !== check.clean);
  return [...others, check].sort((a, b) => Number(a.clean ?? 0) - Number(b.clean ?? 0) || a.index - b.index);
}

/** All that a verdict says of the checks. */
export function redOnes(verdict: Verdict): readonly CheckView[] {
  if (verdict.kind !== 'continue' || !Array.isArray(verdict.feedback)) return [];
  return verdict.feedback.flatMap(item => {
    const red = item?.kind === 'check-failed' && {
      type: 'check-ended',
      seq: 0,
      at: '1970-01-01',
      result: item.check,
    };
    return red && knownEntry(red) ? [checkView(item.check)] : [];
  });
}

/** A ledger may be damaged: its feedback is read here for the first time. */
export function whyNotDone(
  verdict: Verdict & { kind: 'continue' },
  command: LoopCommand,
  moved?: string,
): string {
  try {
    if (command === 'prd' && verdict.feedback.length === 0)
      return oneLine(moved ?? 'no story has moved', 600);
    return oneLine(whyContinue(verdict, checkNoun(command)), 600);
  } catch {
    return 'the reason cannot be read';
  }
}
