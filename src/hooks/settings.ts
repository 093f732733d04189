/** What the settings of a project say to the hooks of a session. */
import type { GuardOrders, MonitorOrders } from '../domain/session/hook-orders.ts';
import { type Json, parseObject, textsIn } from '../domain/text/json.ts';
import { readIfThere, tryTo } from '../platform/files.ts';
import { projectPaths } from '../store/paths.ts';

export interface HookSettings {
  readonly guard: GuardOrders & { readonly enabled: boolean | 'auto' };
  readonly monitor: MonitorOrders & { readonly enabled: boolean };
  readonly protectNew: boolean;
  /** Whether checks run behind a wall of their own where there can be one. */
  readonly containment: boolean;
}

/** The table of settings is too much for a hook; a file that is damaged says nothing, and the defaults hold. */
export function hookSettings(root: string): HookSettings {
  const { settings, localSettings } = projectPaths(root);
  // What a host says of where it is may be no path at all.
  const layers = [settings, localSettings].map(
    path => parseObject(tryTo(() => readIfThere(path)) ?? '') ?? {},
  );
  const guard: Json = Object.assign({}, ...layers.map(layer => layer.guard));
  const monitor: Json = Object.assign({}, ...layers.map(layer => layer.contextMonitor));
  return {
    guard: {
      enabled: guard.enabled === true || guard.enabled === false ? guard.enabled : 'auto',
      allow: textsIn(guard.allow),
      deny: textsIn(guard.deny),
      protect: textsIn(layers.findLast(layer => layer.protect !== undefined)?.protect),
    },
    protectNew: layers.findLast(layer => layer.protectNew !== undefined)?.protectNew === true,
    containment: layers.findLast(layer => layer.containment !== undefined)?.containment !== 'off',
    monitor: {
      enabled: monitor.enabled === true,
      ...(typeof monitor.window === 'number' && { window: monitor.window }),
    },
  };
}
