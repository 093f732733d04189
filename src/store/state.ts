/** What is kept outside of every project, where no agent works: `$XDG_STATE_HOME/ralph`. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '../platform/hash.ts';

export interface StatePaths {
  /** A small file for each project in which Ralph has run. */
  readonly projects: string;
  /** The hash of a run's checkpoint. */
  head(root: string, run: string): string;
}

export function statePaths({
  XDG_STATE_HOME,
  HOME,
}: Readonly<Record<string, string | undefined>>): StatePaths {
  const folder = join(XDG_STATE_HOME || join(HOME || homedir(), '.local/state'), 'ralph');
  return {
    projects: join(folder, 'projects'),
    head: (root, run) => join(folder, 'heads', `${sha256(root).slice(0, 16)}-${run}`),
  };
}
