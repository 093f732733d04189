/** What a rule of the guard is. */
import type { Call } from './call.ts';
import type { Surroundings, Where } from './place.ts';

/** The kinds of harm, by number. */
export const CATEGORIES = {
  1: 'destructive file operations',
  2: 'disks, partitions, boot',
  3: 'resource exhaustion',
  4: 'exfiltration over the network',
  5: 'reverse shells and remote access',
  6: 'exposure of credentials',
  7: 'escalation of privileges',
  8: 'escape from containers',
  9: 'the supply chain of packages',
  10: 'destructive git',
  11: 'configuration of the system',
  12: 'hidden or indirect execution',
  13: 'environment and PATH',
  14: 'processes and the machine',
  15: 'persistence',
  16: 'destruction of databases',
  17: 'destruction in the cloud',
  18: 'writes to sensitive paths',
} as const;

export type Category = keyof typeof CATEGORIES;

/** `block`: the call is refused. `warn`: it passes, with a warning to the agent and in the ledger. */
export type Tier = 'block' | 'warn';

export interface Scene {
  readonly call: Call;
  readonly around: Surroundings;
  /** Where a path of this call is; on another machine, a path from the root is never the project's. */
  where(path: string): Where;
}

export interface Rule {
  /** Its name in the settings. */
  readonly id: string;
  readonly category: Category;
  readonly tier: Tier;
  /** The commands that it is about; none: all of them. */
  readonly of?: string;
  /** What is wrong, in a few words. */
  readonly why: string;
  /** The safer way, one sentence. */
  readonly instead: string;
  matches(scene: Scene): boolean;
}

type Explanation = readonly [why: string, instead: string];

/** One row of the table: a name, a category and tier, the commands it is about, the test, what to say. */
export function rule(
  id: string,
  [category, tier]: readonly [Category, Tier],
  of: string,
  matches: (call: Call, scene: Scene) => boolean,
  [why, instead]: Explanation,
): Rule {
  return {
    id,
    category,
    tier,
    ...(of !== '' && { of }),
    why,
    instead,
    matches: scene => matches(scene.call, scene),
  };
}
