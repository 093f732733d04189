/** What the agent sees in `ralph prd`: the project's own prompt, then what this iteration is for, then what went wrong in the last one. */
import { type CompletionRule, markerWords } from './completion.ts';
import { formatFeedback } from './feedback.ts';
import type { Assignment, ReviewPolicy } from './story-mode.ts';
import { CAP_PREFIX } from './story-repair.ts';
import type { Feedback } from './verdict.ts';

export interface StoryPrompt {
  /** `prompt.md`. */
  readonly template: string;
  readonly iteration: number;
  readonly maxIterations: number;
  /** `ralph/`, from where the agent works. */
  readonly ralphDir: string;
  readonly assignment: Assignment;
  readonly policy: ReviewPolicy;
  readonly rule: CompletionRule;
  /** The agent's whole output is plain text, and may hold this prompt. */
  readonly isPlain?: boolean;
  readonly feedback: readonly Feedback[];
}

export function buildStoryPrompt(prompt: StoryPrompt): string {
  const parts = [filledIn(prompt), thisIteration(prompt), lastIteration(prompt)];
  return `${parts.filter(part => part !== '').join('\n\n')}\n`;
}

function filledIn({ template, iteration, maxIterations, ralphDir, assignment, policy }: StoryPrompt): string {
  const values: Readonly<Record<string, string>> = {
    RALPH_ITERATION: String(iteration),
    RALPH_MAX_ITERATIONS: String(maxIterations),
    RALPH_DIR: ralphDir,
    RALPH_MODE: assignment.mode,
    RALPH_STORY: assignment.story?.id ?? '',
    RALPH_REVIEW_CAP: String(policy.reviewCap),
  };
  return template.trimEnd().replace(/\$(RALPH_[A-Z_]+)/g, (whole, name: string) => values[name] ?? whole);
}

function thisIteration(prompt: StoryPrompt): string {
  const { iteration, maxIterations, assignment, policy, rule, isPlain } = prompt;
  const { mode, story } = assignment;
  return [
    '## This iteration',
    `- Iteration: ${iteration} of ${maxIterations}`,
    `- Mode: ${mode}`,
    story
      ? `- Story: ${story.id} (${story.title})`
      : '- Story: none; all are done, and what stands below is still wrong',
    ...(mode === 'review' ? [reviewLine(story?.reviewCount ?? 0, policy)] : []),
    ...(policy.skipReview ? [skipLine(markerWords(rule, isPlain))] : []),
  ].join('\n');
}

function reviewLine(before: number, { reviewCap, atCap }: ReviewPolicy): string {
  const count = before + 1;
  if (count < reviewCap) return `- Review: number ${count}, of at most ${reviewCap}`;
  const what =
    atCap === 'approve'
      ? `approve it all the same (\`reviewStatus\` "approved", \`passes\` true) and write what is left to do into \`reviewFeedback\`, beginning with ${CAP_PREFIX}`
      : 'request changes as ever; the loop then stops, and a person decides';
  return `- Review: number ${count}, the last that this story may have. If something is still wrong, ${what}`;
}

function skipLine(marker: string): string {
  return `- There are no reviews in this run. When the verify commands pass, set \`passes\` to true yourself and write \`notes\`; leave \`reviewStatus\` null and \`reviewCount\` 0. Say ${marker} when every story has \`passes\`: true`;
}

function lastIteration({ feedback, rule, isPlain }: StoryPrompt): string {
  const sentences = feedback.flatMap(item => formatFeedback(item, markerWords(rule, isPlain)) ?? []);
  return sentences.length === 0
    ? ''
    : ['## What went wrong in the last iteration', ...sentences].join('\n\n');
}
