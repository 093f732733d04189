/** What the merge queue is given. */
import type { Board } from '../domain/board.ts';
import type { ProverParts } from '../turns/prover.ts';
import type { Integration } from '../workspace/integration.ts';
import type { Crew } from './crew.ts';

export interface QueueWorld {
  readonly crew: Crew;
  readonly parts: ProverParts;
  readonly integration: Integration;
  readonly runId: string;
  readonly lanes: number;
  board(): Board;
}
