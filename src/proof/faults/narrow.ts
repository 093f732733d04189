/**
 * The tests that depend on one file, where the runner of a check can say which those are. Red there is red. Green there says nothing: a
 * test may start a program, and no import shows that.
 */
import { dirname } from 'node:path';
import { joinWords } from '../../platform/shell.ts';

/** The check for this file only; undefined: its runner cannot do that, or it is called in a way that is not known here. */
export function narrowCommand(command: string, file: string): string | undefined {
  for (const { form, narrow } of RUNNERS) {
    const match = form.exec(command.trim());
    if (match) return narrow(match, file);
  }
  return undefined;
}

interface Runner {
  readonly form: RegExp;
  narrow(match: RegExpExecArray, file: string): string;
}

const STARTER = '((?:npx|bunx|yarn|pnpm exec|pnpm|\\./node_modules/\\.bin/|node_modules/\\.bin/)\\s*)?';
const FLAGS = '((?:\\s+--?[\\w-]+(?:=[\\w./-]+)?)*)';
/** Without one the runner calls it a failure that no test depends on a file. */
const NONE_IS_FINE = '--passWithNoTests';

const RUNNERS: readonly Runner[] = [
  {
    form: new RegExp(`^${STARTER}vitest run${FLAGS}$`),
    narrow: ([, starter = '', flags = ''], file) =>
      `${starter}vitest related ${joinWords([file])} --run ${NONE_IS_FINE}${flags}`,
  },
  {
    form: new RegExp(`^${STARTER}jest${FLAGS}$`),
    narrow: ([whole], file) => `${whole} ${NONE_IS_FINE} --findRelatedTests ${joinWords([file])}`,
  },
  {
    form: new RegExp(`^go test${FLAGS} \\./\\.\\.\\.$`),
    narrow: ([, flags = ''], file) => `go test${flags} ${joinWords([`./${dirname(file)}`])}`,
  },
];
