/** What the hooks of a run's agent do: what the run has ordered, and nothing else. */
import { type Dialect, type HookAnswer, type HookInput, type Moment, NOTHING } from '../agents/dialect.ts';
import type { HookOrders } from '../domain/hook-orders.ts';
import { leaveNote } from '../store/hook-notes.ts';
import { runPathsIn } from '../store/paths.ts';
import { rearm, watchContext } from './context.ts';
import { guard, refusal } from './guard.ts';
import { onStoryStop } from './story-stop.ts';

export async function carryOut(
  orders: HookOrders,
  dialect: Dialect,
  moment: Moment | undefined,
  input: HookInput,
): Promise<HookAnswer> {
  switch (moment) {
    case 'before-tool':
      return guardCall(orders, input);
    case 'tools':
      return orders.monitor ? watchContext(orders.monitor, dialect, alertsOf(orders, input), input) : NOTHING;
    case 'start':
      if (orders.monitor) rearm(alertsOf(orders, input));
      return NOTHING;
    case 'stop':
      return await onStoryStop(orders.root, input, orders);
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

function alertsOf({ run }: HookOrders, { sessionId }: HookInput): string {
  return runPathsIn(run).contextAlerts(sessionId);
}

/** Orders that cannot be read guard all the same: nothing is known of what should be let through. */
function guardCall(orders: HookOrders, input: HookInput): HookAnswer {
  if (orders.run === '') return refusal(['its orders cannot be read, so nothing can be judged.']).answer;
  if (!orders.guard) return NOTHING;
  const { answer, refused, warned } = guard(orders.guard, orders.root, input);
  const notes = runPathsIn(orders.run).hookNotes;
  for (const what of refused)
    leaveNote(notes, { type: 'violation', violation: { what, restored: true, refused: true } });
  for (const text of warned) leaveNote(notes, { type: 'notice', level: 'warning', text: `Guard: ${text}` });
  return answer;
}
