/**
 * The table of settings. Flags, settings files, defaults, help, the JSON schema and docs/reference are views of it.
 * A new setting is one row in `rows/`; its type comes from the row.
 */
import { AGENTS } from './rows/agents.ts';
import { CHECKS } from './rows/checks.ts';
import { COMPLETION } from './rows/completion.ts';
import { GUARD, MONITOR } from './rows/guard.ts';
import { LIMITS } from './rows/limits.ts';
import { NOTIFY, OTEL } from './rows/notify.ts';
import { SANDBOX } from './rows/sandbox.ts';
import { STORIES } from './rows/stories.ts';
import type { Setting, SettingsCommand } from './setting.ts';
import type { Settings } from './settings-shape.ts';

/** As the reference shows them. */
export const GROUPS = {
  'The agent': AGENTS,
  'Output, the end, source control': COMPLETION,
  Checks: CHECKS,
  Limits: LIMITS,
  'Stories and parallel work': STORIES,
  'The guard': GUARD,
  'The context monitor': MONITOR,
  Notifications: NOTIFY,
  Traces: OTEL,
  'Sandbox and containment': SANDBOX,
} as const;

export type Rows = (typeof GROUPS)[keyof typeof GROUPS][number];

export const SETTINGS: readonly Setting[] = Object.values(GROUPS).flat();

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

/** What is different between two sets of settings, a line each. */
type Values = Readonly<Record<string, unknown>>;

/** In the order of the table; what is in neither is no change. A setting that an older version did not know had its default. */
export function listSettingChanges(command: SettingsCommand, before: Values, now: Values): readonly string[] {
  return SETTINGS.flatMap(row => {
    const { key } = row;
    const [was, is] = [shown(before[key] ?? defaultOf(row, command)), shown(now[key])];
    return was === is ? [] : [`${key}: was ${was}, is ${is}`];
  });
}

function shown(value: unknown): string {
  return value === undefined ? 'not set' : JSON.stringify(sorted(value));
}

/** The order of keys in a file says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sorted(inner)]),
  );
}
