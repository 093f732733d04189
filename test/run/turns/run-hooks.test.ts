/** What a run wants of the hooks of its agent, and what the user is told of the guard. */
import { describe, expect, test } from 'vitest';
import { findAdapter } from '../../../src/agents/registry.ts';
import { defaultSettings } from '../../../src/config/settings.ts';
import type { Settings } from '../../../src/config/settings-shape.ts';
import type { LoopCommand } from '../../../src/domain/run/event.ts';
import { HOOK_ORDERS } from '../../../src/domain/session/hook-orders.ts';
import { guardNotice, hooksFor, hooksOfRun } from '../../../src/run/turns/run-hooks.ts';
import { projectPaths, runPaths } from '../../../src/store/paths.ts';
import { functionAgent } from './world.ts';

const DEFAULTS = defaultSettings('run');
const guard = (enabled: boolean | 'auto') => ({ guard: { ...DEFAULTS.guard, enabled } });
const monitor = (enabled: boolean | 'auto') => ({ contextMonitor: { ...DEFAULTS.contextMonitor, enabled } });

function hooks(command: LoopCommand, settings: Partial<Settings>, sandboxed: boolean) {
  const paths = runPaths(projectPaths('/p'), 'r1');
  return hooksOfRun({ command, settings: { ...DEFAULTS, ...settings }, paths, cwd: '/p', sandboxed });
}

describe('what a run wants', () => {
  test.each<[string, Parameters<typeof hooks>, readonly string[]]>([
    ['a guard where there is no sandbox', ['run', guard('auto'), false], ['before-tool']],
    ['no guard inside of a sandbox', ['run', guard('auto'), true], []],
    ['a guard where it is asked for', ['run', guard(true), true], ['before-tool']],
    ['no guard where it is not wanted', ['run', guard(false), false], []],
    ['to watch the context of stories', ['prd', guard(false), false], ['start', 'tools']],
    ['not to watch it in a loop', ['loop', guard(false), false], []],
    [
      'to watch it where that is asked for',
      ['loop', { ...guard(false), ...monitor(true) }, false],
      ['start', 'tools'],
    ],
    ['not to watch it where it is not wanted', ['prd', { ...guard(false), ...monitor(false) }, false], []],
  ])('%s', (_, given, points) => {
    const wanted = hooks(...given);
    expect(wanted.points).toEqual(points);
    expect(Object.hasOwn(wanted.orders, 'guard')).toBe(points.includes('before-tool'));
    expect(Object.hasOwn(wanted.orders, 'monitor')).toBe(points.includes('start'));
  });

  test('the guard knows the protected paths', () => {
    const { orders } = hooks('run', { ...guard(true), protect: ['test/**'] }, false);
    expect(orders.guard).toMatchObject({ protect: ['test/**'] });
  });
});

describe('what an agent is given', () => {
  const own = functionAgent('mine', async () => undefined);

  test('the orders, also where it takes no hooks: a plugin in it may', async () => {
    const { env, wish } = await hooksFor(own, hooks('run', guard(true), false), {});
    expect(JSON.parse(env[HOOK_ORDERS] ?? '')).toMatchObject({ root: '/p', given: false });
    expect(wish).toBeUndefined();
  });

  test('the word that there are none, where none are wanted: a plugin in it begins no loop of its own', async () => {
    const { env } = await hooksFor(own, hooks('run', guard(false), false), {});
    expect(JSON.parse(env[HOOK_ORDERS] ?? '')).toMatchObject({ given: true });
  });
});

describe('the user is told', () => {
  const claude = { name: 'claude', command: 'claude', prefix: [], adapter: findAdapter('claude') };
  const notice = (who: typeof claude, enabled: boolean | 'auto') =>
    guardNotice(who, { ...DEFAULTS, ...guard(enabled) }, false);

  test('that the guard is off', () => {
    expect(notice(claude, false)).toBe('The guard is off.');
  });

  test('that there is none, where the agent takes no hook', () => {
    const mine = { ...claude, name: 'mine', adapter: findAdapter('mine') };
    expect(notice(mine, true)).toContain('There is no guard either: mine takes no hook');
  });

  test('that a plugin would be one, where there is a plugin for it', () => {
    const { hookEvents: _, ...without } = findAdapter('claude');
    expect(notice({ ...claude, adapter: without }, true)).toContain('ralph plugin install claude');
  });
});
