/** The guard and the context monitor in a session of the user's own: on when the settings say so; the guard also while a loop runs in it. */
import { type Dialect, type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import type { RunEvent } from '../domain/event.ts';
import type { GuardOrders, MonitorOrders } from '../domain/hook-orders.ts';
import { type Json, parseObject } from '../domain/json.ts';
import { afterCalls } from '../domain/session-verdict.ts';
import { readIfThere } from '../platform/files.ts';
import { projectPaths } from '../store/paths.ts';
import { findSession, writeSession } from '../store/session-file.ts';
import { record } from '../store/session-ledger.ts';
import { rearm, watchContext } from './context.ts';
import { guard } from './guard.ts';
import { isUncounted } from './tool-calls.ts';

export function onTool(root: string, dialect: Dialect, input: HookInput): HookAnswer {
  const settings = hookSettings(root).guard;
  const file = findSession(root, input.sessionId);
  const state = file?.state;
  if (file?.state.active && !input.inSubagent && isUncounted(dialect, input))
    writeSession(file.path, afterCalls(file.state, 1));
  const isOn = settings.enabled === 'auto' ? state?.active === true : settings.enabled;
  if (!isOn) return NOTHING;
  const { answer, refused, warned } = guard(settings, root, input);
  const events: readonly RunEvent[] = [
    ...refused.map(
      what => ({ type: 'violation', violation: { what, restored: true, refused: true } }) as const,
    ),
    ...warned.map(text => ({ type: 'notice', level: 'warning', text: `Guard: ${text}` }) as const),
  ];
  if (events.length > 0) record(root, state?.runId ?? '', ...events);
  return answer;
}

/** Tools have run: how full is the context? */
export function watchSession(root: string, dialect: Dialect, input: HookInput): HookAnswer {
  const { monitor } = hookSettings(root);
  if (monitor.enabled !== true) return NOTHING;
  return watchContext(monitor, dialect, projectPaths(root).contextAlerts(input.sessionId), input);
}

export function rearmSession(root: string, { sessionId }: HookInput): void {
  rearm(projectPaths(root).contextAlerts(sessionId));
}

interface HookSettings {
  readonly guard: GuardOrders & { readonly enabled: boolean | 'auto' };
  readonly monitor: MonitorOrders & { readonly enabled: boolean };
}

/** The table of settings is too much for a hook; a file that is damaged says nothing, and the defaults hold. */
function hookSettings(root: string): HookSettings {
  const { settings, localSettings } = projectPaths(root);
  const layers = [settings, localSettings].map(path => parseObject(readable(path)) ?? {});
  const guard: Json = Object.assign({}, ...layers.map(layer => layer.guard));
  const monitor: Json = Object.assign({}, ...layers.map(layer => layer.contextMonitor));
  return {
    guard: {
      enabled: guard.enabled === true || guard.enabled === false ? guard.enabled : 'auto',
      allow: texts(guard.allow),
      deny: texts(guard.deny),
      protect: texts(layers.findLast(layer => layer.protect !== undefined)?.protect),
    },
    monitor: {
      enabled: monitor.enabled === true,
      ...(typeof monitor.window === 'number' && { window: monitor.window }),
    },
  };
}

/** What a host says of where it is may be no path at all. */
function readable(path: string): string {
  try {
    return readIfThere(path) ?? '';
  } catch {
    return '';
  }
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];
}
