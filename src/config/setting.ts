/** What a row of the table of settings holds. */
import type { LoopCommand } from '../domain/run/event.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { Kind } from './kinds.ts';

export interface Setting {
  /** Its name in settings.json. */
  readonly key: string;
  readonly kind: Kind;
  /** One for all commands, or one for each. */
  readonly default?: unknown;
  readonly defaults?: ByCommand<unknown>;
  /** Where this other setting is given as 0, this one is 0 too unless it is given. */
  readonly offWith?: string;
  /** Its flag, `-s, --long <value>`, `--[no-]long` for yes or no; `…` behind it means that it may be given again. */
  readonly flag?: ByCommand<string>;
  /** Its name in a YAML file, where that is not the key in snake case, and the range there. */
  readonly yaml?: { readonly name: string; readonly kind: Kind };
  readonly help: string;
}

/** Settings from one source, and what is wrong there. */
export interface SettingsLayer {
  readonly layer: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];
}

export type SettingsCommand = Extract<LoopCommand, 'run' | 'loop' | 'prd'>;
type ByCommand<Value> = Partial<Record<SettingsCommand, Value>>;

/** The same flag for every loop command. */
export const both = (flag: string): ByCommand<string> => ({ run: flag, loop: flag, prd: flag });

export const NO_LIMIT = '0: no limit';
