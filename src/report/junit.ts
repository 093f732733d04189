/** The checks of a run as JUnit XML, which every CI can show. */
import { trustSentence } from '../domain/ledger-trust.ts';
import { provenWords } from '../domain/proof.ts';
import { type CheckSummary, type LoopResult, provenBy } from '../domain/result.ts';
import { harmless } from '../platform/text.ts';
import { viewProven } from './ending-words.ts';
import { escapeMarkup } from './markup.ts';
import { type Integrity, lastChecks, type RunView } from './run-view.ts';

/** The checks as they stood at the end; a run that never got to a check has none. */
export function junitOf(result: LoopResult, sandbox?: string | null): string {
  const checks =
    result.iterations.findLast(iteration => iteration.checkResults.length > 0)?.checkResults ?? [];
  return suiteOf(checks, provenWords(provenBy(result, sandbox)));
}

/** The same from a ledger; `outputs` by the position of the check. A ledger that was changed is a failure, too. */
export function junitOfChecks(
  view: RunView,
  outputs: ReadonlyMap<number, string>,
  { trust }: Integrity,
): string {
  const proven = viewProven(view);
  const ledger = {
    name: 'the ledger is intact',
    passed: trust.kind !== 'changed',
    exitCode: 1,
    duration: 0,
    output: trustSentence(trust),
  };
  const checks: readonly CheckSummary[] = [
    ...lastChecks(view).map(({ index, command, passed, exitCode, seconds, ungated }) => ({
      name: command,
      passed,
      exitCode,
      duration: seconds,
      output: outputs.get(index) ?? '',
      ...(ungated && { ungated }),
    })),
    ...(trust.kind === 'changed' ? [ledger] : []),
  ];
  return suiteOf(checks, proven && provenWords(proven));
}

function suiteOf(checks: readonly CheckSummary[], proof: string | undefined): string {
  const failures = checks.filter(isFailure).length;
  const time = checks.reduce((sum, check) => sum + check.duration, 0).toFixed(3);
  const suite = `name="ralph" tests="${checks.length}" failures="${failures}" errors="0" skipped="0" time="${time}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${suite}>`,
    `  <testsuite ${suite}>`,
    ...(proof === undefined ? [] : properties(proof)),
    ...checks.flatMap(testCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function properties(proof: string): readonly string[] {
  return [
    '    <properties>',
    `      <property name="ralph.proof" value="${escaped(proof)}"/>`,
    '    </properties>',
  ];
}

function isFailure({ passed, ungated }: CheckSummary): boolean {
  return !passed && !ungated;
}

function testCase(check: CheckSummary): readonly string[] {
  const head = `    <testcase classname="ralph.check" name="${escaped(check.name)}" time="${check.duration.toFixed(3)}"`;
  if (!isFailure(check)) return [`${head}/>`];
  const output = escaped(check.output);
  return [
    `${head}>`,
    `      <failure message="exit code ${check.exitCode}">${output}</failure>`,
    '    </testcase>',
  ];
}

/** XML has no place for control characters or halves of pairs, not even escaped. */
function escaped(text: string): string {
  const allowed = harmless(text).replace(
    /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu,
    '\uFFFD',
  );
  return escapeMarkup(allowed);
}
