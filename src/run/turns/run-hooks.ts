/** What a run gives its agent in the way of hooks, and how it hears of what they did. */
import type { HookWish } from '../../agents/hooks.ts';
import { DIALECTS } from '../../agents/registry.ts';
import type { Settings } from '../../config/settings-shape.ts';
import type { Emit, LoopCommand } from '../../domain/run/event.ts';
import { HOOK_ORDERS, type HookOrders, type HookPoint } from '../../domain/session/hook-orders.ts';
import type { Env } from '../../domain/text/secret-values.ts';
import { hookProgram } from '../../platform/package.ts';
import { createNoteReader } from '../../store/hook-notes.ts';
import { runFolder } from '../../store/paths.ts';
import type { RunContext } from './context.ts';
import type { Caller, HookDoor } from './hook-door.ts';

/** What a run wants of its agent's hooks. */
export interface RunHooks {
  readonly points: readonly HookPoint[];
  readonly orders: Omit<HookOrders, 'given'>;
  /** How they can be called in this process; else each is a process of its own. */
  readonly door?: HookDoor;
}

export type HookNeeds = Pick<RunContext, 'settings' | 'paths' | 'cwd'> & {
  readonly command: LoopCommand;
  /** There is a sandbox around the agent. */
  readonly sandboxed: boolean;
};

/** A run that wants nothing still says that it is one: a plugin in its agent then begins no loop of its own. */
export function hooksOfRun({ command, settings, paths, cwd, sandboxed }: HookNeeds): RunHooks {
  const { protect, guard, contextMonitor } = settings;
  const on = isGuarded(settings, sandboxed);
  const { enabled, window } = contextMonitor;
  const isWatched = enabled === 'auto' ? command === 'prd' : enabled;
  return {
    points: [...(on ? (['before-tool'] as const) : []), ...(isWatched ? (['start', 'tools'] as const) : [])],
    orders: {
      run: paths.folder,
      root: cwd,
      ...(on && { guard: { allow: guard.allow, deny: guard.deny, protect } }),
      ...(isWatched && { monitor: window === undefined ? {} : { window } }),
    },
  };
}

function isGuarded({ guard }: Settings, sandboxed: boolean): boolean {
  return guard.enabled === 'auto' ? !sandboxed : guard.enabled;
}

/** What the user should know of the guard before he leaves the agent alone. */
export function guardNotice(
  { name, adapter: { name: host, hookEvents } }: Caller & { readonly name: string },
  settings: Settings,
  sandboxed: boolean,
): string {
  if (!isGuarded(settings, sandboxed)) return 'The guard is off.';
  if (hookEvents?.['before-tool'] && hookProgram()) {
    return 'The guard is on: it refuses dangerous tool calls. It is a seat belt, not a wall.';
  }
  // Some take no hooks for one process, but those of a plugin can refuse.
  return DIALECTS.some(dialect => dialect.host === host)
    ? `There is no guard either, unless Ralph's plugin is installed in ${host}: ralph plugin install ${host}.`
    : `There is no guard either: ${name} takes no hook that could refuse a tool call.`;
}

interface GivenHooks {
  readonly wish?: HookWish;
  readonly env: Readonly<Record<string, string>>;
}

/** An agent that cannot be given hooks for one process has the orders all the same, for a plugin that is installed in it. */
export async function hooksFor(
  agent: Caller,
  { points, orders, door }: RunHooks,
  agentEnv: Env,
): Promise<GivenHooks> {
  const { hookEvents = {} } = agent.adapter;
  const program = hookProgram();
  const possible = program === undefined ? [] : points.filter(point => hookEvents[point] !== undefined);
  const given = possible.length > 0 || points.length === 0;
  const url = possible.length > 0 ? await door?.urlFor(agent, agentEnv) : undefined;
  return {
    env: { [HOOK_ORDERS]: JSON.stringify({ ...orders, given }) },
    ...(program !== undefined &&
      possible.length > 0 && {
        wish: { points: possible, program: [process.execPath, program], ...(url !== undefined && { url }) },
      }),
  };
}

/** Passes on what the hooks of a turn have noted, as it comes. */
export function listenToHooks({ orders }: RunHooks, emit: Emit) {
  const take = createNoteReader(runFolder(orders.run).hookNotes);
  return {
    listen(): void {
      for (const note of take()) emit(note);
    },
  };
}
