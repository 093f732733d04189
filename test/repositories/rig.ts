/** Runs `ralph loop` with an agent that is a shell script. */
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { ralph } from '../rig/commands.ts';
import type { RalphOptions } from '../rig/ralph.ts';
import { folder, type Repo } from '../rig/repo.ts';

export interface Looped {
  readonly code: number | null;
  readonly said: string;
  readonly stdout: string;
  /** The folder of each turn. */
  readonly turns: readonly string[];
}

/** The agent writes a file of its own in each lane, and claims. */
export const WRITES = 'echo made > "made-$RALPH_LANE_INDEX"';

export async function loop(
  project: Pick<Repo, 'dir'>,
  script: string,
  flags: readonly string[],
  options: Partial<RalphOptions> = {},
): Promise<Looped> {
  const place = folder('ralph-agent-');
  const called = place.path('called');
  const text = `cat >/dev/null\necho "$PWD" >> ${called}\n${script}\necho "<promise>COMPLETE</promise>"`;
  place.script('agent', text);
  // Whoever Ralph is started as may use it.
  chmodSync(place.dir, 0o777);
  const args = ['loop', ...flags, '--agent', place.path('agent'), '--json'];
  const { code, stdout, stderr } = await ralph(args, { cwd: project.dir, ...options });
  const turns = existsSync(called) ? readFileSync(called, 'utf8').trim().split('\n') : [];
  return { code, stdout, said: stderr.replace(/\s+/g, ' '), turns };
}
