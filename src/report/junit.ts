/** The checks of a run as JUnit XML, which every CI can show. */

import { provenWords } from '../domain/checks/proof.ts';
import { type LaneOutcome, laneOutcome } from '../domain/lanes/board.ts';
import { trustSentence } from '../domain/run/ledger-trust.ts';
import { type CheckSummary, type LoopResult, lastChecksOf, provenBy } from '../domain/run/result.ts';
import type { StopReason } from '../domain/run/stop-reason.ts';
import { harmless } from '../platform/text.ts';
import { viewProven } from './ending-words.ts';
import { notLanded } from './lane-words.ts';
import { type Integrity, lastChecks, type RunView } from './run-view.ts';
import { escapeMarkup } from './words.ts';

interface Case {
  readonly kind: 'check' | 'story' | 'ledger';
  readonly name: string;
  readonly seconds: number;
  readonly failure?: { readonly message: string; readonly output: string };
}

/** The checks as they stood at the end, and the stories of a parallel run; a run that never got to a check has none. */
export function junitOf(result: LoopResult, sandbox?: string | null): string {
  const checks = lastChecksOf(result);
  const lanes = storyCases(result.lanes ?? [], result.stopReason);
  return suiteOf([...checks.map(checkCase), ...lanes], provenWords(provenBy(result, sandbox)));
}

/** The same from a ledger; `outputs` by the position of the check. A ledger that nobody vouches for is a failure, too. */
export function junitOfChecks(
  view: RunView,
  outputs: ReadonlyMap<number, string>,
  { trust }: Integrity,
): string {
  const proven = viewProven(view);
  const checks = lastChecks(view).map(({ index, command, passed, exitCode, seconds, ungated }) =>
    checkCase({
      name: command,
      passed,
      exitCode,
      duration: seconds,
      output: outputs.get(index) ?? '',
      ...(ungated && { ungated }),
    }),
  );
  const lanes = storyCases(view.board?.lanes.map(laneOutcome) ?? [], view.ending?.stopReason ?? null);
  const failure = { message: 'the ledger is not verified', output: trustSentence(trust) };
  const ledger: Case = { kind: 'ledger', name: 'the ledger is intact', seconds: 0, failure };
  return suiteOf(
    [...checks, ...lanes, ...(trust.kind === 'intact' ? [] : [ledger])],
    proven && provenWords(proven),
  );
}

function checkCase({ name, passed, ungated, exitCode, duration, output }: CheckSummary): Case {
  const failure = { message: `exit code ${exitCode}`, output };
  return { kind: 'check', name, seconds: duration, ...(!passed && !ungated && { failure }) };
}

function storyCases(lanes: readonly LaneOutcome[], reason: StopReason | null): readonly Case[] {
  return lanes.map(lane => {
    const message = notLanded(lane, reason);
    const failure = message === undefined ? undefined : { message, output: lane.why ?? '' };
    return { kind: 'story', name: `${lane.id} ${lane.title}`, seconds: 0, ...(failure && { failure }) };
  });
}

function suiteOf(cases: readonly Case[], proof: string | undefined): string {
  const failures = cases.filter(({ failure }) => failure).length;
  const time = cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3);
  const suite = `name="ralph" tests="${cases.length}" failures="${failures}" errors="0" skipped="0" time="${time}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${suite}>`,
    `  <testsuite ${suite}>`,
    ...(proof === undefined
      ? []
      : [
          '    <properties>',
          `      <property name="ralph.proof" value="${escaped(proof)}"/>`,
          '    </properties>',
        ]),
    ...cases.flatMap(testCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase({ kind, name, seconds, failure }: Case): readonly string[] {
  const head = `    <testcase classname="ralph.${kind}" name="${escaped(name)}" time="${seconds.toFixed(3)}"`;
  if (!failure) return [`${head}/>`];
  return [
    `${head}>`,
    `      <failure message="${escaped(failure.message)}">${escaped(failure.output)}</failure>`,
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
