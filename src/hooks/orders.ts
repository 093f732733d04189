/** What the hooks of a run's agent do: what the run has ordered, and nothing else. */
import type { HookOrders } from '../domain/hook-orders.ts';
import { type HookAnswer, type HookInput, type Moment, NOTHING } from './host.ts';

export async function carryOut(
  _orders: HookOrders,
  moment: Moment | undefined,
  _input: HookInput,
): Promise<HookAnswer> {
  switch (moment) {
    case 'start':
    case 'before-tool':
    case 'tools':
    case 'stop':
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
