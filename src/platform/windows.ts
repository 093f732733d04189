/** Windows has no process groups, no `sh` and no marks to find a process by: what Ralph promises of processes would not hold. docs/containment.md. */
import type { Problem } from '../domain/problem.ts';

export function refuseWindows(platform: NodeJS.Platform = process.platform): Problem | undefined {
  if (platform !== 'win32') return undefined;
  return {
    where: 'Windows',
    what: 'Ralph runs on Linux and macOS, and on Windows in WSL only',
    fix: 'run `wsl --install`, and then Ralph, git and your agent in there',
  };
}
