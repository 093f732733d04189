/** What Ralph runs on: a Node that is new enough, and not Windows. */
import type { Problem } from '../domain/text/problem.ts';

const NEEDED = [20, 11] as const;

export const OLDEST_NODE = NEEDED.join('.');

/** The one sentence for a Node that is too old; undefined: it will do. */
export function tooOldNode(version = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined;
  return `Ralph needs Node ${OLDEST_NODE} or later, and this is Node ${version}: install a newer one from https://nodejs.org.`;
}

/** Windows has no process groups, no `sh` and no marks to find a process by: what Ralph promises of processes would not hold. docs/reference/containment.md. */
export function refuseWindows(platform: NodeJS.Platform = process.platform): Problem | undefined {
  if (platform !== 'win32') return undefined;
  return {
    where: 'Windows',
    what: 'Ralph runs on Linux and macOS, and on Windows in WSL only',
    fix: 'run `wsl --install`, and then Ralph, git and your agent in there',
  };
}
