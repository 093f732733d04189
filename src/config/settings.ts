/**
 * The table of settings. Flags, settings files, defaults, help, the JSON schema and docs/reference are views of it.
 * A new setting is one row in `rows/`; its type comes from the row.
 */
import { AGENTS } from './rows/agents.ts';
import { CHECKS } from './rows/checks.ts';
import { COMPLETION } from './rows/completion.ts';
import { GUARD, MONITOR } from './rows/guard.ts';
import { LIMITS } from './rows/limits.ts';
import { NOTIFY } from './rows/notify.ts';
import { OTEL } from './rows/otel.ts';
import { SANDBOX } from './rows/sandbox.ts';
import { STORIES } from './rows/stories.ts';
import type { Setting, SettingsCommand } from './setting.ts';
import type { Settings } from './settings-shape.ts';

const ROWS = [
  ...AGENTS,
  ...COMPLETION,
  ...CHECKS,
  ...LIMITS,
  ...STORIES,
  ...GUARD,
  ...MONITOR,
  ...NOTIFY,
  ...OTEL,
  ...SANDBOX,
] as const;

export type Rows = (typeof ROWS)[number];

export const SETTINGS: readonly Setting[] = ROWS;

export function defaultOf(row: Setting, command: SettingsCommand): unknown {
  return row.defaults?.[command] ?? row.default;
}

/** `given` is what files and flags say. */
export function defaultSettings(
  command: SettingsCommand,
  given: Readonly<Record<string, unknown>> = {},
): Settings {
  const isOff = ({ offWith }: Setting) => offWith !== undefined && given[offWith] === 0;
  const rows = SETTINGS.map(row => [row.key, isOff(row) ? 0 : defaultOf(row, command)]);
  return Object.fromEntries(rows.filter(([, value]) => value !== undefined)) as unknown as Settings;
}
