/** How far a ledger can be believed, and the one sentence for it. */

export type LedgerTrust =
  /** It is what Ralph wrote here. */
  | { readonly kind: 'intact' }
  /** Its lines do not follow from each other, or cannot be read. */
  | { readonly kind: 'changed'; readonly what: readonly string[] }
  /** It was not recorded here: it came from another folder, machine or user, or somebody made it up. */
  | { readonly kind: 'elsewhere'; readonly why?: string };

/** A hundred broken lines say no more than the first. */
export function trustSentence(trust: LedgerTrust): string {
  switch (trust.kind) {
    case 'intact':
      return 'The ledger is intact: every line carries the hash of the line before it';
    case 'changed': {
      const [first = 'its lines do not follow from each other', ...more] = trust.what;
      return `The ledger has been changed: ${first}${more.length > 0 ? `, and ${more.length} more` : ''}`;
    }
    case 'elsewhere':
      return `The ledger was not recorded on this machine for this folder: it is a copy, and not verified${trust.why === undefined ? '' : ` (${trust.why})`}`;
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
