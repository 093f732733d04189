/** The versions that the host tests run with, and how another version compares with them. */

/** One for each adapter but `generic`; docs/reference/agents.md says what was seen with them. */
export const TESTED: Readonly<Record<string, string>> = {
  claude: '2.1.325',
  codex: '0.166.0',
  opencode: '1.18.18',
  gemini: '0.61.0',
  copilot: '1.0.102',
  qwen: '0.24.4',
  amp: '0.0.1777897475-g2324e1',
};

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
