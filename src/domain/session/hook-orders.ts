/**
 * What a run asks of the hooks of its agent. It travels in the agent's environment: the tools that the agent starts can
 * read it there, and cannot change it for the agent or for the hooks.
 */

/** When a host can call a hook: a session begins, a tool is about to run, tools have run, the agent wants to stop. */
export type HookPoint = 'start' | 'before-tool' | 'tools' | 'stop';

export const HOOK_ORDERS = 'RALPH_HOOKS';

export interface HookOrders {
  /** The run's folder. */
  readonly run: string;
  /** Where the agent works. */
  readonly root: string;
  /** The run has given the agent hooks of its own: those of an installed plugin keep still, so that nothing is done twice. */
  readonly given: boolean;
  /** Tool calls are judged before they run. */
  readonly guard?: GuardOrders;
  /** The agent gets alerts as its context fills. */
  readonly monitor?: MonitorOrders;
}

export interface MonitorOrders {
  /** Tokens that the agent's context takes; else by its model. */
  readonly window?: number;
}

export interface GuardOrders {
  /** Names of rules, or commands with `*` in them, about which nothing is said. */
  readonly allow: readonly string[];
  /** Commands with `*` in them that are refused. */
  readonly deny: readonly string[];
  /** Files that the agent must not change, as globs. */
  readonly protect: readonly string[];
}

/** undefined: not in a run of Ralph's. Damaged orders are orders that ask for nothing. */
export function readOrders(env: Readonly<Record<string, string | undefined>>): HookOrders | undefined {
  const text = env[HOOK_ORDERS];
  if (!text) return undefined;
  try {
    const { run, root, given, ...rest } = JSON.parse(text);
    return { ...rest, run: String(run ?? ''), root: String(root ?? ''), given: given === true };
  } catch {
    return { run: '', root: '', given: true };
  }
}
