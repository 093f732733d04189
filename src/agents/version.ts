/** Versions of agents: reading one, and comparing two. */

/** The version in what `--version` printed; undefined when there is none. */
export function versionIn(output: string): string | undefined {
  return /\d+\.\d+\.\d+(?:-[\w.]+)?/.exec(output)?.[0];
}

/** Negative when `a` is older than `b`, 0 when their numbers are the same. What stands behind a `-` is no number. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(version => (version.split('-')[0] ?? '').split('.').map(Number));
  const differences = (left ?? []).map((part, at) => part - (right?.[at] ?? 0));
  return differences.find(difference => difference !== 0) ?? 0;
}
