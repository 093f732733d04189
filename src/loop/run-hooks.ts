/** What a run gives its agent in the way of hooks, and how it hears of what they did. */
import type { AgentAdapter } from '../agents/agent.ts';
import type { HookWish } from '../agents/hooks.ts';
import type { Emit } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import { HOOK_ORDERS, type HookOrders, type HookPoint } from '../domain/hook-orders.ts';
import { hookProgram } from '../platform/package.ts';
import { createNoteReader } from '../store/hook-notes.ts';
import { type RunPaths, runPathsIn } from '../store/paths.ts';

/** What a run wants of its agent's hooks. */
export interface RunHooks {
  readonly points: readonly HookPoint[];
  readonly orders: Omit<HookOrders, 'given'>;
}

/** A run that wants nothing still says that it is one: a plugin in its agent then begins no loop of its own. */
export function hooksOfRun({ folder }: RunPaths, cwd: string): RunHooks {
  return { points: [], orders: { run: folder, root: cwd } };
}

interface GivenHooks {
  readonly wish?: HookWish;
  readonly env: Readonly<Record<string, string>>;
}

/** An agent that cannot be given hooks for one process has the orders all the same, for a plugin that is installed in it. */
export function hooksFor({ hookEvents = {} }: AgentAdapter, { points, orders }: RunHooks): GivenHooks {
  const program = hookProgram();
  const possible = program === undefined ? [] : points.filter(point => hookEvents[point] !== undefined);
  const given = possible.length > 0 || points.length === 0;
  return {
    env: { [HOOK_ORDERS]: JSON.stringify({ ...orders, given }) },
    ...(program !== undefined &&
      possible.length > 0 && { wish: { points: possible, program: [process.execPath, program] } }),
  };
}

/** Tells what the hooks of a turn have noted, as it comes. */
export function listenToHooks({ orders }: RunHooks, emit: Emit) {
  const take = createNoteReader(runPathsIn(orders.run).hookNotes);
  const refusals: Violation[] = [];
  const listen = () => {
    for (const note of take()) {
      emit(note);
      if (note.type === 'violation') refusals.push(note.violation);
    }
  };
  return {
    listen,
    /** What was refused in this turn. */
    end(): readonly Violation[] {
      listen();
      return refusals;
    },
  };
}
