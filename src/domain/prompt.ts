/** What the agent sees. */
import { addFeedback } from './feedback.ts';
import type { Feedback } from './verdict.ts';

export interface RunPrompt {
  readonly base: string;
  readonly feedback: readonly Feedback[];
  readonly iteration: number;
  readonly maxIterations: number;
  readonly countIterations: boolean;
}

/** The prompt of one iteration of `ralph run`: the user's words, what failed, and the count if it is asked for. */
export function buildRunPrompt({
  base,
  feedback,
  iteration,
  maxIterations,
  countIterations,
}: RunPrompt): string {
  const prompt = addFeedback(base, feedback);
  if (!countIterations) return prompt;
  return `Iteration ${iteration} of ${maxIterations}, ${maxIterations - iteration} remaining.\n\n${prompt}`;
}

/** Hints from the user come last, where the agent gives them most weight. */
export function addHints(prompt: string, hints: readonly string[]): string {
  if (hints.length === 0) return prompt;
  return `${prompt.trimEnd()}\n\n## The user says\n${hints.join('\n\n')}\n`;
}

export const COMMIT_PROMPT =
  'Provide a short imperative commit message for the changes. Output only the message, no explanation.';
