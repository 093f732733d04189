/** What a command that runs others would run. */
import type { Call } from './call.ts';

export interface Inner {
  /** Commands, as words. */
  readonly commands: readonly (readonly string[])[];
  /** Shell scripts, as text. */
  readonly scripts: readonly string[];
  /** Files with shell scripts in them. */
  readonly files: readonly string[];
  /** What such a script finds in $0, $1 and so on. */
  readonly positional?: readonly string[];
  /** Where they run, when that is not where the wrapper runs. */
  readonly place?: Call['place'];
  /** They cannot change the variables and the folder of the shell that started them. */
  readonly ownShell: boolean;
  /** Texts that may be no scripts at all: one that cannot be read is passed over. */
  readonly guessed?: true;
}

export const NOTHING: Inner = { commands: [], scripts: [], files: [], ownShell: true };
export const runs = (...argv: readonly string[]): Inner =>
  argv.length > 0 ? { ...NOTHING, commands: [argv] } : NOTHING;

/** How to get past the words of the wrapper itself. */
export interface Wrapper {
  /** Flags with a value of their own. */
  readonly valued?: string;
  /** Words to skip after the flags: a duration, a lock file. */
  readonly skip?: number;
  readonly assignments?: true;
}

/** The words of the command that is wrapped. */
export function skipped(
  args: readonly string[],
  { valued = '', skip = 0, assignments }: Wrapper,
): readonly string[] {
  const withValue = valued.split(' ');
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === '--') {
      at++;
      break;
    }
    if (withValue.includes(word)) at++;
    else if (!(word.startsWith('-') && word.length > 1) && !(assignments && /^\w+=/.test(word))) break;
  }
  return args.slice(at + skip);
}
