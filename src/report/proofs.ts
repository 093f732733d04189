/** What supports the result of a run, and what speaks against it. The head of every form of a report, and of `ralph explain`. */

import { mutationWords } from '../domain/checks/mutation.ts';
import { hasProven, isSupported, provenWords, supportOf } from '../domain/checks/proof.ts';
import { trustSentence } from '../domain/run/ledger-trust.ts';
import { viewProven } from './ending-words.ts';
import { counted } from './numbers.ts';
import { checkNoun, checkPhrase, nearMissPhrase, phrase } from './phrases.ts';
import { type CheckView, type Integrity, lastChecks, type RunView } from './run-view.ts';

/** One piece of evidence; `unknown` supports nothing and contradicts nothing. */
export interface Proof {
  readonly holds: 'yes' | 'no' | 'unknown';
  readonly text: string;
  /** What was printed that says why. */
  readonly cause?: readonly string[] | undefined;
}

export function proofs(view: RunView, integrity: Integrity): readonly Proof[] {
  const noun = checkNoun(view.command);
  const ledger = ledgerProof(integrity);
  // Nothing else can be believed then.
  if (integrity.trust.kind !== 'intact') return ledger;
  return [
    ...(view.board ? boardProof(view) : []),
    ...levelProof(view),
    ...lastChecks(view).map(check => checkProof(check, noun)),
    ...testProof(view),
    ...mutationProof(view),
    ...claimProof(view),
    ...violationProof(view),
    ...ledger,
  ];
}

/** What has landed rests on checks of the very commit. */
function boardProof({ board, lanes: { spans }, ending }: RunView): readonly Proof[] {
  const all = board?.lanes.length ?? 0;
  const landed = board?.landed ?? [];
  const isChecked = (story: string) =>
    spans.findLast(span => span.story === story && span.kind === 'checks')?.passed === true;
  const checked = landed.filter(({ story }) => isChecked(story)).length;
  const open = all - landed.length - (board?.lanes.filter(({ state }) => state === 'kept').length ?? 0);
  const each = checked === landed.length ? 'each' : `${checked} of them`;
  const text = `${landed.length} of ${all} landed, ${each} after every check passed on the commit that landed`;
  return [
    ...(landed.length === 0 ? [] : [{ holds: checked === landed.length ? 'yes' : 'unknown', text } as const]),
    ...(ending && open > 0 ? [{ holds: 'no', text: `${open} of ${all} did not land` } as const] : []),
  ];
}

/** How far the result can be trusted at all. */
export function levelProof(view: RunView): readonly Proof[] {
  const run = viewProven(view);
  if (!run) return [];
  const holds = !hasProven(run) ? 'unknown' : isSupported(supportOf(run)) ? 'yes' : 'no';
  return [{ holds, text: `Proof: ${phrase(provenWords(run))}` }];
}

export function checkProof(check: CheckView, noun: string): Proof {
  const { command, passed, ungated, seconds, cause } = check;
  return {
    holds: passed ? 'yes' : ungated ? 'unknown' : 'no',
    text: `${noun} \`${phrase(command)}\` ${checkPhrase(check, seconds)}`,
    ...(cause && { cause }),
  };
}

/** They may be right and may be wrong: somebody has to look. */
export function testProof({ ending }: RunView): readonly Proof[] {
  const { testsChanged = [] } = ending ?? {};
  return testsChanged.map(line => ({ holds: 'unknown', text: `Tests changed: ${phrase(line)}` }));
}

/** It supports nothing and contradicts nothing: it says what the checks are worth. */
export function mutationProof({ ending }: RunView): readonly Proof[] {
  const mutation = ending?.mutation;
  return mutation ? [{ holds: 'unknown', text: `Mutation: ${mutationWords(mutation)}` }] : [];
}

/** Of stories the reviews say it: a claim is neither needed nor enough. */
export function claimProof({ iterations, command }: RunView): readonly Proof[] {
  if (command === 'prd') return [];
  const { claim, checks } = iterations.findLast(iteration => iteration.claim !== null) ?? {};
  if (!claim) return [];
  const isFalse = checks?.some(({ passed, ungated }) => !passed && !ungated);
  if (claim.found && isFalse) return [{ holds: 'no', text: 'The agent says that it is done, and it is not' }];
  if (claim.found) return [{ holds: 'yes', text: 'The agent says that it is done' }];
  const miss = claim.nearMiss ? `: ${nearMissPhrase(claim.nearMiss, claim.said)}` : '';
  return [{ holds: 'no', text: `The agent has not said that it is done${miss}` }];
}

function violationProof({ violations }: RunView): readonly Proof[] {
  if (violations.length === 0) return [];
  const left = violations.filter(({ restored }) => !restored).length;
  const what = `${counted(violations.length, 'change')} to protected files`;
  return left === 0
    ? [{ holds: 'yes', text: `${what}, all undone` }]
    : [{ holds: 'no', text: `${what}, ${left} NOT undone` }];
}

export function ledgerProof({ trust, torn }: Integrity): readonly Proof[] {
  const text = phrase(trustSentence(trust));
  if (trust.kind !== 'intact') return [{ holds: 'no', text }];
  const cut = `The ledger's last line is incomplete (${counted(torn, 'byte')})`;
  return torn > 0 ? [{ holds: 'unknown', text: cut }] : [{ holds: 'yes', text }];
}
