/** What may be given to git as a commit: never a word that it could take for an option. */
export function isCommit(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value);
}
