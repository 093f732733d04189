/** What the hooks of a run's agent do: what the run has ordered, and nothing else. */
import type { HookOrders } from '../domain/hook-orders.ts';
import { type HookAnswer, type HookInput, type Moment, NOTHING } from './host.ts';
import { onStoryStop } from './story-stop.ts';

export async function carryOut(
  orders: HookOrders,
  moment: Moment | undefined,
  input: HookInput,
): Promise<HookAnswer> {
  switch (moment) {
    case 'stop':
      return await onStoryStop(orders.root, input, orders);
    case 'start':
    case 'before-tool':
    case 'tools':
    // Commands and prompts are for a session of its own.
    case 'command':
    case 'prompt':
    case 'peek':
    case undefined:
      return NOTHING;
    default:
      return moment satisfies never;
  }
}
