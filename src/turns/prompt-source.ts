/** Where the user's prompt comes from: the command line, or a file that is read anew for every iteration. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { errorWords } from '../platform/error-words.ts';

export interface PromptSource {
  read(): string | Problem;
}

/** Exactly one of the two, and something in it. */
export function promptSource(
  options: Readonly<Record<string, unknown>>,
  cwd: string,
): PromptSource | Problem {
  const prompt = text(options.prompt);
  const promptFile = text(options.promptFile);
  if (prompt !== undefined && promptFile !== undefined) {
    return { where: '--prompt, --prompt-file', what: 'only one of the two can be given' };
  }
  if (prompt !== undefined) {
    if (prompt.trim() === '') return { where: '--prompt', what: 'the prompt is empty' };
    return { read: () => prompt };
  }
  if (promptFile === undefined) {
    return {
      where: '--prompt, --prompt-file',
      what: 'one of the two is needed',
      fix: 'ralph run -p "Fix the failing test"',
    };
  }
  const source = { read: () => readPrompt(promptFile, resolve(cwd, promptFile)) };
  const first = source.read();
  return typeof first === 'string' ? source : first;
}

/** A file that says what to do. */
export function specSource(name: string, cwd: string): PromptSource {
  return { read: () => readPrompt(name, resolve(cwd, name), 'spec file') };
}

/** undefined: the flag was not given. */
export function text(option: unknown): string | undefined {
  return typeof option === 'string' ? option : undefined;
}

/** The text of a file that must be there and hold something. */
function readPrompt(name: string, path: string, what = 'prompt file'): string | Problem {
  const where = `${what} ${name}`;
  try {
    const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
    return text.trim() === '' ? { where, what: 'it is empty' } : text;
  } catch (error) {
    return { where, what: `it cannot be read: ${errorWords(error)}` };
  }
}
