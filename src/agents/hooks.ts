/** Hooks for one process: how adapters hand them to their agents. Nothing is installed, nothing of the user's is changed. */
import type { HookPoint } from '../domain/session/hook-orders.ts';
import { joinWords } from '../platform/shell.ts';

export interface HookWish {
  readonly points: readonly HookPoint[];
  /** The words that start the hook program; `HOST EVENT run` is put behind them. */
  readonly program: readonly string[];
  /** Where they can be called in the process of the run, `/HOST/EVENT` put behind it, by an agent that can. */
  readonly url?: string;
}

/** What the agent itself calls the points at which it can be given a hook for one process. */
export type HookEvents = Readonly<Partial<Record<HookPoint, string>>>;

/** In the words of Claude Code, which others have learnt. */
export const CLAUDE_EVENTS: HookEvents = {
  start: 'SessionStart',
  'before-tool': 'PreToolUse',
  tools: 'PostToolBatch',
  stop: 'Stop',
};

/** Seconds. The stop hook may run checks. */
const PATIENCE: Readonly<Record<HookPoint, number>> = { start: 30, 'before-tool': 30, tools: 30, stop: 600 };

export interface Hook {
  readonly event: string;
  readonly command: string;
  /** To be called instead of the command. */
  readonly url?: string;
  /** Seconds. */
  readonly timeout: number;
  /** A hook that says nothing refuses, where the agent knows how. */
  readonly failsClosed: boolean;
}

export function hooksOf(
  host: string,
  events: HookEvents,
  wish: HookWish | undefined,
  /** The points at which this agent can call a server. */
  isCalled: (point: HookPoint) => boolean = () => false,
): readonly Hook[] {
  return (wish?.points ?? []).flatMap(point => {
    const event = events[point];
    if (wish === undefined || event === undefined) return [];
    const command = joinWords([...wish.program, host, event, 'run']);
    const url = wish.url !== undefined && isCalled(point) ? `${wish.url}/${host}/${event}` : undefined;
    const hook = { event, command, timeout: PATIENCE[point], failsClosed: point === 'before-tool' };
    return [url === undefined ? hook : { ...hook, url }];
  });
}

/** The same of its settings. */
export function hookTable(hooks: readonly Hook[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    hooks.map(({ event, command, url, timeout, failsClosed }) => {
      const call = url === undefined ? { type: 'command', command } : { type: 'http', url };
      return [event, [{ hooks: [{ ...call, timeout, ...(failsClosed && { onFailure: 'block' }) }] }]];
    }),
  );
}

/** A folder that is there for one turn. */
export interface TurnFolder {
  readonly path: string;
  /** By their names in it. */
  readonly files: Readonly<Record<string, string>>;
}

/** A plugin that holds nothing but hooks, for agents that take plugin folders as a flag. */
export function hookPlugin(path: string, hooks: readonly Hook[]): TurnFolder {
  const about = { name: 'ralph-run', version: '0.0.0', description: 'The hooks of one run of Ralph.' };
  return {
    path,
    files: {
      '.claude-plugin/plugin.json': JSON.stringify({ ...about, author: { name: 'Ralph' } }),
      'hooks/hooks.json': JSON.stringify({ hooks: hookTable(hooks) }),
    },
  };
}
