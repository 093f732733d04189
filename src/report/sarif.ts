/** Violations and red checks as SARIF 2.1.0, which code hosts show beside the code. */

import { proofOf, provenWords } from '../domain/checks/proof.ts';
import { type LaneOutcome, laneOutcome } from '../domain/lanes/board.ts';
import { trustSentence } from '../domain/run/ledger-trust.ts';
import { harmless } from '../platform/text.ts';
import { viewProven } from './ending-words.ts';
import { notLanded } from './lane-words.ts';
import { checkOutcome, phrase, violatedPath, violationPhrase } from './phrases.ts';
import { type CheckView, type Integrity, lastChecks, type RunView, type ViolationView } from './run-view.ts';

const RULES = Object.entries({
  'protected-path': 'The agent changed a protected file.',
  'check-failed': 'A check failed when the run ended.',
  'not-landed': 'A story of a parallel run did not land.',
  ledger: 'The ledger of the run is not known to be what Ralph wrote.',
}).map(([id, text]) => ({ id, shortDescription: { text }, defaultConfiguration: { level: 'error' } }));

export function sarifOf(view: RunView, integrity: Integrity, version: string): string {
  const results = [
    ...ledgerResult(integrity, view),
    ...view.violations.map(violationResult),
    ...lastChecks(view)
      .filter(check => !check.passed)
      .map(checkResult),
    ...(view.board?.lanes ?? []).flatMap(lane => laneResult(laneOutcome(lane), view)),
  ];
  const proven = viewProven(view);
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'ralph', version, rules: RULES } },
        automationDetails: { id: `ralph/${view.command}/${view.runId}` },
        results,
        ...(proven && { properties: { proof: text(provenWords(proven)), ...proofOf(proven) } }),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function ledgerResult({ trust }: Integrity, { runId }: RunView) {
  if (trust.kind === 'intact') return [];
  const locations = [location(`.ralph/runs/${runId}/events.jsonl`)];
  return [
    { ruleId: 'ledger', level: 'error', message: { text: `${phrase(trustSentence(trust))}.` }, locations },
  ];
}

/** What was undone is on record, but is no longer wrong. */
function violationResult(violation: ViolationView) {
  const { what, restored, iteration } = violation;
  return {
    ruleId: 'protected-path',
    level: restored ? 'note' : 'error',
    message: { text: text(`Iteration ${iteration}: ${violationPhrase(violation)}.`) },
    locations: [location(violatedPath(what))],
  };
}

function checkResult(check: CheckView) {
  const { command, ungated, logFile } = check;
  const before = ungated ? ' It failed before the run too.' : '';
  return {
    ruleId: 'check-failed',
    level: ungated ? 'note' : 'error',
    message: { text: text(`\`${phrase(command)}\` ${checkOutcome(check)}.${before}`) },
    locations: [location(logFile)],
  };
}

function laneResult(lane: LaneOutcome, { ending }: RunView) {
  const words = notLanded(lane, ending?.stopReason ?? null);
  if (words === undefined) return [];
  const why = lane.why === undefined ? '' : ` (${phrase(lane.why)})`;
  const message = { text: text(`${phrase(`${lane.id} ${lane.title}`)} ${words}${why}.`) };
  return [{ ruleId: 'not-landed', level: 'error', message, locations: [location('')] }];
}

/** In a message `[words](place)` would be a link, and a backslash before it may have been taken by another one. */
function text(words: string): string {
  return words.replaceAll('](', '] (');
}

/** A code host needs a location for everything; where there is none it is the project itself. */
function location(path: string) {
  const uri = path === '' ? '.' : harmless(path).split('/').map(encodeURIComponent).join('/');
  return { physicalLocation: { artifactLocation: { uri, uriBaseId: '%SRCROOT%' } } };
}
