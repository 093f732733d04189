/** A parallel run whose lanes are worked on by other machines, and whose branch is in a repository that they all reach. */
import type { Problem } from '../domain/problem.ts';
import type { Integration } from '../workspace/integration.ts';
import type { Lanes, LaneWorld } from './lanes.ts';
import type { Funds } from './money.ts';

export interface Elsewhere {
  lanes(world: LaneWorld): Lanes;
  /** Who else spends it is not known here. */
  readonly funds: Funds;
  /** The branch there instead of the one here. */
  integration(here: Integration): Promise<Integration | Problem>;
}
