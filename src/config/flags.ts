/** The flags that stand for settings: their values from the command line, checked by the same kinds as the files. */
import type { Problem } from '../domain/text/problem.ts';
import type { Kind } from './kinds.ts';
import type { Setting, SettingsCommand, SettingsLayer } from './setting.ts';
import { SETTINGS } from './settings.ts';

export interface FlagSpec {
  readonly setting: Setting;
  /** As commander wants it: `-m, --maximum-iterations <n>`, `--stream-agent-output`. */
  readonly declaration: string;
  /** The second form of a yes-or-no flag: `--no-stream-agent-output`. */
  readonly negation?: string;
  /** It may be given again; the values are a list. */
  readonly repeats: boolean;
  /** Its name among the parsed options. */
  readonly name: string;
  /** What the same setting is called in other commands: accepted here too, and not shown. */
  readonly aliases: readonly { readonly declaration: string; readonly name: string }[];
}

export function flagsOf(command: SettingsCommand): readonly FlagSpec[] {
  return SETTINGS.flatMap(setting => {
    const flag = setting.flag?.[command];
    if (flag === undefined) return [];
    const spec = flagSpec(setting, flag);
    const others = Object.values(setting.flag ?? {}).map(other => flagSpec(setting, other));
    const aliases = others.filter(
      (other, at) => other.name !== spec.name && others.findIndex(({ name }) => name === other.name) === at,
    );
    return [
      {
        ...spec,
        aliases: aliases.map(({ declaration, name }) => ({
          declaration: declaration.replace(/^-\w, /, ''),
          name,
        })),
      },
    ];
  });
}

function flagSpec(setting: Setting, flag: string): Omit<FlagSpec, 'aliases'> {
  const declaration = flag.replace('[no-]', '').replace('…', '');
  const long = longName(declaration);
  const name = long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const negation = flag.includes('[no-]') ? { negation: `--no-${long}` } : {};
  return { setting, declaration, name, repeats: flag.endsWith('…'), ...negation };
}

function longName(declaration: string): string {
  return /--([\w-]+)/.exec(declaration)?.[1] ?? '';
}

function flagValue(kind: Kind, given: unknown): unknown {
  if (typeof given === 'string') return kind.parse ? kind.parse(given) : given;
  return typeof given === 'boolean' && kind.switched ? kind.switched(given) : given;
}

/** `-m` is the model elsewhere. */
function withHint(problem: Problem, command: SettingsCommand, { key }: Setting, given: unknown): Problem {
  if (command !== 'run' || key !== 'maximumIterations' || !/^[a-z]{2}/i.test(String(given))) return problem;
  return { ...problem, fix: `-m is the number of iterations here; for a model: --model ${given}` };
}

/** Settings from parsed options. Every problem is found, not only the first. */
export function settingsFromFlags(
  command: SettingsCommand,
  options: Readonly<Record<string, unknown>>,
): SettingsLayer {
  const layer: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const { setting, declaration, name, aliases } of flagsOf(command)) {
    const given =
      options[name] ?? aliases.map(alias => options[alias.name]).find(value => value !== undefined);
    if (given === undefined) continue;
    const value = flagValue(setting.kind, given);
    const found = setting.kind.check(value, `--${longName(declaration)}`);
    if (found.length > 0) problems.push(...found.map(problem => withHint(problem, command, setting, given)));
    else layer[setting.key] = value;
  }
  return { layer, problems };
}
