/** How far a ledger can be believed, and the one sentence for it. */

export type LedgerTrust =
  /** It is what Ralph wrote here. */
  | { readonly kind: 'intact' }
  /** Lines were changed, taken out or put in, or what the run was given was. */
  | { readonly kind: 'changed'; readonly what: readonly string[] }
  /** There is no record of it here: it came from another folder, machine or user, or the record is lost. */
  | { readonly kind: 'elsewhere'; readonly why?: string }
  /** It was written by a Ralph that kept no record outside the project. */
  | { readonly kind: 'none' };

/** A hundred broken lines say no more than the first. */
export function trustSentence(trust: LedgerTrust): string {
  switch (trust.kind) {
    case 'intact':
      return 'The ledger is intact: every line carries the hash of the line before it';
    case 'changed': {
      const [first = 'it does not fit its record', ...more] = trust.what;
      return `The ledger has been changed: ${first}${more.length > 0 ? `, and ${more.length} more` : ''}`;
    }
    case 'elsewhere':
      return `The ledger was recorded elsewhere and is not verified here${trust.why === undefined ? '' : `: ${trust.why}`}`;
    case 'none':
      return 'The ledger was recorded before its end was kept outside the project: it cannot be verified';
    default:
      return trust satisfies never;
  }
}

/** Behind the result of a run in a list. */
export function trustMark(kind: LedgerTrust['kind']): string {
  if (kind === 'changed') return ' (ledger changed)';
  return kind === 'elsewhere' ? ' (not verified here)' : '';
}

/** What was found while the whole of it was read counts as well. */
export function trustWith(trust: LedgerTrust, problems: readonly string[]): LedgerTrust {
  if (problems.length === 0) return trust;
  return { kind: 'changed', what: trust.kind === 'changed' ? [...trust.what, ...problems] : problems };
}

/** What speaks against resuming: a sentence each. */
export function doubtsOf(trust: LedgerTrust): readonly string[] {
  if (trust.kind === 'intact') return [];
  return trust.kind === 'changed'
    ? trust.what.map(what => `the ledger has been changed: ${what}`)
    : [trustSentence(trust)];
}
