/** Where the user's prompt comes from: the command line, or a file that is read anew for every iteration. */
import { fstatSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Problem } from '../../domain/text/problem.ts';
import { errorWords } from '../../platform/error-words.ts';
import { readIfThere } from '../../platform/files.ts';

export interface PromptSource {
  read(): string | Problem;
}

/** Exactly one of the two, and something in it. */
export function promptSource(
  options: Readonly<Record<string, unknown>>,
  cwd: string,
): PromptSource | Problem {
  const file = text(options.promptFile);
  const isPiped = options.prompt === undefined && (file === '-' || (file === undefined && hasInput()));
  const prompt = isPiped ? readInput() : text(options.prompt);
  const promptFile = isPiped ? undefined : file;
  if (prompt !== undefined && promptFile !== undefined) {
    return { where: '--prompt, --prompt-file', what: 'only one of the two can be given' };
  }
  if (prompt !== undefined) {
    if (prompt.trim() === '' && isPiped && file === undefined) return NO_PROMPT;
    if (prompt.trim() === '') return { where: isPiped ? 'stdin' : '--prompt', what: 'the prompt is empty' };
    return { read: () => prompt };
  }
  if (promptFile === undefined) {
    return NO_PROMPT;
  }
  const source = { read: () => readPrompt(promptFile, resolve(cwd, promptFile)) };
  const first = source.read();
  return typeof first === 'string' ? source : first;
}

const NO_PROMPT: Problem = {
  where: '--prompt, --prompt-file',
  what: 'one of the two is needed',
  fix: 'ralph run -p "Fix the failing test"',
};

/** Something is piped in, or a file is. */
function hasInput(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile();
  } catch {
    return false;
  }
}

let piped: string | undefined;

/** It can be read only once. */
export function readInput(): string {
  piped ??= readFileSync(0, 'utf8').replace(/^\uFEFF/, '');
  return piped;
}

/** A file that says what to do. */
export function specSource(name: string, cwd: string, what = 'spec file'): PromptSource {
  return { read: () => readPrompt(name, resolve(cwd, name), what) };
}

/** undefined: the flag was not given. */
export function text(option: unknown): string | undefined {
  return typeof option === 'string' ? option : undefined;
}

/** The text of a file that must be there and hold something. */
function readPrompt(name: string, path: string, what = 'prompt file'): string | Problem {
  const where = `${what} ${name}`;
  try {
    const text = readIfThere(path)?.replace(/^\uFEFF/, '');
    if (text === undefined) return { where, what: 'it cannot be read: it does not exist' };
    return text.trim() === '' ? { where, what: 'it is empty' } : text;
  } catch (error) {
    return { where, what: `it cannot be read: ${errorWords(error)}` };
  }
}
