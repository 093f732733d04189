/** How a run stands, in one sentence, and what that rests on. The head of every form of a report. */
import { STOP_REASONS, sentenceOf } from '../domain/stop-reason.ts';
import { counted, duration } from './numbers.ts';
import { checkNoun, nearMissPhrase, phrase } from './phrases.ts';
import { type CheckView, type Integrity, lastChecks, type RunView, type Standing } from './run-view.ts';

/** One thing that speaks for the verdict or against it; `unknown` is neither. */
export interface Proof {
  readonly holds: 'yes' | 'no' | 'unknown';
  readonly text: string;
}

export function verdictWords(view: RunView, state: Standing): string {
  const { ending } = view;
  if (ending) {
    const known = STOP_REASONS.find(reason => reason === ending.stopReason);
    return known ? sentenceOf(known) : `Stopped: ${phrase(String(ending.stopReason))}.`;
  }
  if (state === 'crashed') return 'Cut off: the run ended without a word.';
  return PHASES[view.phase];
}

const PHASES: Record<RunView['phase'], string> = {
  between: 'Running.',
  agent: 'Running: the agent is at work.',
  checks: 'Running: the checks.',
  waiting: 'Waiting for a limit to end.',
  paused: 'Paused.',
  ended: 'Ended.',
};

export function proofs(view: RunView, integrity: Integrity): readonly Proof[] {
  const noun = checkNoun(view.command);
  return [
    ...lastChecks(view).map(check => checkProof(check, noun)),
    ...claimProof(view),
    ...violationProof(view),
    ...ledgerProof(integrity),
  ];
}

function checkProof(
  { command, passed, ungated, exitCode, seconds, flaked, timedOut }: CheckView,
  noun: string,
): Proof {
  const how = timedOut ? 'timed out' : passed ? 'passes' : `fails with exit code ${exitCode}`;
  const more = [
    duration(seconds),
    ...(flaked > 0 ? ['flaky'] : []),
    ...(ungated ? ['was red before and does not gate'] : []),
  ];
  return {
    holds: passed ? 'yes' : ungated ? 'unknown' : 'no',
    text: `${noun} ${phrase(command)} ${how} (${more.join(', ')})`,
  };
}

function claimProof({ iterations }: RunView): readonly Proof[] {
  const claim = iterations.findLast(iteration => iteration.claim !== null)?.claim;
  if (!claim) return [];
  if (claim.found) return [{ holds: 'yes', text: 'The agent says that it is done' }];
  const miss = claim.nearMiss ? `: ${nearMissPhrase(claim.nearMiss, claim.said)}` : '';
  return [{ holds: 'no', text: `The agent has not said that it is done${miss}` }];
}

function violationProof({ violations }: RunView): readonly Proof[] {
  if (violations.length === 0) return [];
  const left = violations.filter(({ restored }) => !restored).length;
  const what = `${counted(violations.length, 'change')} to what is not the agent's`;
  return left === 0
    ? [{ holds: 'yes', text: `${what}, all put back` }]
    : [{ holds: 'no', text: `${what}, ${left} NOT put back` }];
}

/** The numbers of a hundred broken lines say no more than the first. */
function ledgerProof({ problems, torn }: Integrity): readonly Proof[] {
  const [first] = problems;
  if (first !== undefined) {
    const more = problems.length > 1 ? `, and ${problems.length - 1} more` : '';
    return [{ holds: 'no', text: `The ledger has been changed: ${phrase(first)}${more}` }];
  }
  if (torn > 0)
    return [{ holds: 'unknown', text: `The ledger's last line is incomplete (${counted(torn, 'byte')})` }];
  return [{ holds: 'yes', text: 'The ledger is whole: every line follows from the one before' }];
}
