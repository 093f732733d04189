/** What is different between two sets of settings, a line each. */
import type { SettingsCommand } from './setting.ts';
import { defaultOf, SETTINGS } from './settings.ts';

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
