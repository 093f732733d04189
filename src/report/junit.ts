/** The checks of a run as JUnit XML, which every CI can show. */
import type { CheckSummary, LoopResult } from '../domain/result.ts';
import { harmless } from '../platform/text.ts';

/** The checks as they stood at the end; a run that never got to a check has none. */
export function junitOf(result: LoopResult): string {
  const checks =
    result.iterations.findLast(iteration => iteration.checkResults.length > 0)?.checkResults ?? [];
  const failures = checks.filter(isFailure).length;
  const time = checks.reduce((sum, check) => sum + check.duration, 0).toFixed(3);
  const suite = `name="ralph" tests="${checks.length}" failures="${failures}" errors="0" skipped="0" time="${time}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${suite}>`,
    `  <testsuite ${suite}>`,
    ...checks.flatMap(testCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
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

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** XML has no place for control characters or halves of pairs, not even escaped. */
function escaped(text: string): string {
  return harmless(text)
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"']/g, character => ENTITIES[character] ?? character);
}
