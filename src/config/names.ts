/** The version of the settings, and the other names that a setting is known by: what an unknown key is called here. */
import { laterVersion, type Problem } from '../domain/text/problem.ts';
import { flagsOf } from './flags.ts';
import { integer } from './kinds.ts';
import type { Setting } from './setting.ts';
import { type Rows, SETTINGS } from './settings.ts';

/** `version` in a settings file; a file without it has 1. A key that is renamed raises it, and gets a line in FORMER. */
export const SETTINGS_VERSION = 1;

/** Names of settings in earlier versions, in story lists and in sessions. The names of their flags need no line. */
const FORMER: Readonly<Record<string, Rows['key']>> = {
  completionPromise: 'completionTag',
  verifyCommands: 'checks',
};

/** The setting that somebody means with a key that is none; undefined: nobody knows it. */
export function settingCalled(key: string): Setting | undefined {
  names ??= new Map([
    ...(['run', 'loop', 'prd'] as const).flatMap(command =>
      flagsOf(command).map(({ name, setting }) => [bare(name), setting] as const),
    ),
    ...Object.entries(FORMER).flatMap(([name, now]) =>
      SETTINGS.filter(row => row.key === now).map(row => [bare(name), row] as const),
    ),
    ...SETTINGS.map(row => [bare(row.key), row] as const),
  ]);
  return names.get(bare(key));
}

let names: ReadonlyMap<string, Setting> | undefined;

/** `max_cost`, `max-cost` and `MaxCost` are one name. */
function bare(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}

export function yamlName({ yaml, key }: Setting): string {
  return yaml?.name ?? key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

export function renamedTo(name: string, file = ''): Pick<Problem, 'fix'> {
  return { fix: `it is ${name}; \`ralph migrate${file && ` ${file}`}\` renames it` };
}

/** Of a file that says which version it has: a number that cannot be, or one that only a later Ralph knows. */
export function versionProblems(version: unknown, where: string): readonly Problem[] {
  if (version === undefined) return [];
  const unfit = integer({ min: 1 }).check(version, `${where}: version`);
  if (unfit.length > 0 || Number(version) <= SETTINGS_VERSION) return unfit;
  return [laterVersion(where, Number(version), SETTINGS_VERSION, 'settings')];
}
