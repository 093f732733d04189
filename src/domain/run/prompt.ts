/** What the agent sees. */
import { addFeedback } from '../text/feedback.ts';
import type { Feedback } from './verdict.ts';

/** What every prompt of an iteration is made of. */
export interface IterationPrompt {
  readonly feedback: readonly Feedback[];
  readonly iteration: number;
  readonly maxIterations: number;
  /** Globs of what the agent may not change. */
  readonly protect?: readonly string[];
  /** Globs of what it may change; none: whatever is not protected. */
  readonly only?: readonly string[];
}

export interface RunPrompt extends IterationPrompt {
  readonly base: string;
  readonly countIterations: boolean;
}

/** The prompt of one iteration of `ralph run`: the user's words, what failed, and the count if it is asked for. */
export function buildRunPrompt({
  base,
  feedback,
  iteration,
  maxIterations,
  countIterations,
  protect = [],
  only = [],
}: RunPrompt): string {
  const text = addFeedback(base, feedback);
  const rules = protectedWords(protect, only);
  const prompt = rules.length === 0 ? text : `${text.trimEnd()}\n\n${rules.join('\n')}\n`;
  if (!countIterations) return prompt;
  return `Iteration ${iteration} of ${maxIterations}, ${maxIterations - iteration} remaining.\n\n${prompt}`;
}

/** Said before anything is undone, so that no turn is spent on finding it out. */
export function protectedWords(globs: readonly string[], only: readonly string[] = []): readonly string[] {
  const named = (some: readonly string[]) => some.map(glob => `\`${glob}\``).join(', ');
  return [
    ...(only.length > 0
      ? [
          `Change only: ${named(only)}. Every other change is undone before the checks run, and new files elsewhere are moved away.`,
        ]
      : []),
    ...(globs.length > 0
      ? [
          `Protected files: ${named(globs)}. What you change in those that are there is undone before the checks run.`,
        ]
      : []),
  ];
}

/** Hints from the user come last, where the agent gives them most weight. */
export function addHints(prompt: string, hints: readonly string[]): string {
  if (hints.length === 0) return prompt;
  return `${prompt.trimEnd()}\n\n## The user says\n${hints.join('\n\n')}\n`;
}

export const COMMIT_PROMPT =
  'Provide a short imperative commit message for the changes. Output only the message, no explanation.';
