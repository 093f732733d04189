/** What a run leaves for the CI it ran in: a JUnit file, and a summary on the page of the job. */
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoopResult } from '../domain/run/result.ts';
import { errorWords } from '../platform/error-words.ts';
import { writeAtomic } from '../platform/files.ts';
import { junitOf } from '../report/junit.ts';
import { type RunLabel, summaryLines } from '../report/summary.ts';
import { MARKDOWN_WORDS } from '../report/words.ts';
import type { Call } from './command.ts';

/** Trouble here is reported and changes nothing about how the run came out. */
export function leaveTraces(call: Call, label: RunLabel, result: LoopResult): void {
  const { options, cwd, env, output } = call;
  const leave = (what: string, write: () => void) => {
    try {
      write();
    } catch (error) {
      output.error(`ralph: ${what} cannot be written: ${errorWords(error)}\n`);
    }
  };
  const { junit } = options;
  if (typeof junit === 'string')
    leave(`--junit ${junit}`, () => writeAtomic(resolve(cwd, junit), junitOf(result, label.sandbox), 0o644));
  const page = env.GITHUB_STEP_SUMMARY;
  if (page) {
    const text = ['### Ralph', '', ...summaryLines(result, label, MARKDOWN_WORDS), '', ''].join('\n');
    leave('the step summary', () => appendFileSync(page, text));
  }
}
