/** The flags that stand for settings: their values from the command line, checked by the same kinds as the files. */
import type { Problem } from '../domain/problem.ts';
import { SETTINGS, type Setting } from './settings.ts';

export interface FlagSpec {
  readonly setting: Setting;
  /** As commander wants it: `-m, --maximum-iterations <n>`, `--stream-agent-output`. */
  readonly declaration: string;
  /** The second form of a yes-or-no flag: `--no-stream-agent-output`. */
  readonly negation?: string;
  /** Its name among the parsed options. */
  readonly name: string;
}

export const FLAGS: readonly FlagSpec[] = SETTINGS.flatMap(setting =>
  setting.flag ? [flagSpec(setting, setting.flag)] : [],
);

function flagSpec(setting: Setting, flag: string): FlagSpec {
  const negatable = flag.includes('--[no-]');
  const declaration = flag.replace('[no-]', '');
  const long = /--([\w-]+)/.exec(declaration)?.[1] ?? '';
  const name = long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { setting, declaration, name, ...(negatable && { negation: `--no-${long}` }) };
}

/** Settings from parsed options. Every problem is found, not only the first. */
export function settingsFromFlags(options: Readonly<Record<string, unknown>>): {
  readonly layer: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];
} {
  const layer: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const { setting, name } of FLAGS) {
    const given = options[name];
    if (given === undefined) continue;
    const value = typeof given === 'string' && setting.kind.parse ? setting.kind.parse(given) : given;
    const found = setting.kind.check(value, flagName(setting));
    if (found.length > 0) problems.push(...found);
    else layer[setting.key] = value;
  }
  return { layer, problems };
}

function flagName(setting: Setting): string {
  return /--[\w-]+/.exec(setting.flag ?? '')?.[0] ?? setting.key;
}
