/** What the agent sees in `ralph prd`: the project's own prompt, then what this iteration is for, then what went wrong in the last one. */
import type { CheckResult } from '../checks/check.ts';
import { fenced, lastTurn, type PromptCheck, type RuledPrompt } from '../run/loop-prompt.ts';
import { protectedWords } from '../run/prompt.ts';
import { listSome } from '../text/feedback.ts';
import { markerWords } from '../turn/claim.ts';
import { type Assignment, MERGE_PREFIX, type ReviewPolicy } from './assignment.ts';
import { askWords, decidedLines } from './questions.ts';
import { CAP_PREFIX } from './repair.ts';
import { reviewMarker, withoutVerdicts } from './review.ts';
import type { Story } from './story.ts';

export interface StoryPrompt extends RuledPrompt {
  /** `prompt.md`. */
  readonly template: string;
  /** `ralph/`, from where the agent works. */
  readonly ralphDir: string;
  readonly assignment: Assignment;
  readonly policy: ReviewPolicy;
  /** What Ralph will run, or has run, for this story. */
  readonly commands?: readonly PromptCheck[];
  readonly review?: ReviewFacts;
}

/** What a reviewer should know that is not in the files. */
export interface ReviewFacts {
  /** What Ralph saw when it ran the checks after the story was built; empty: there was nothing to run, or nobody knows. */
  readonly results: readonly CheckResult[];
  /** What changed since the story was begun; undefined: nobody knows when that was. */
  readonly diff?: string;
  /** What of it `diff` does not show. */
  readonly unseen?: readonly string[];
  /** Why that could not be found out: then no verdict counts. */
  readonly unshown?: string;
  /** Globs of what the agent may not change. */
  readonly protect: readonly string[];
}

export function buildStoryPrompt(prompt: StoryPrompt): string {
  const parts = [
    filledIn(prompt),
    thisIteration(prompt),
    decisions(prompt),
    ...(prompt.review ? [reviewFacts(prompt.review)] : []),
    withoutVerdicts(lastTurn(prompt)),
  ];
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
  const {
    iteration,
    maxIterations,
    assignment,
    policy,
    rule,
    isPlain,
    commands = [],
    protect = [],
    only = [],
  } = prompt;
  const { mode, story } = assignment;
  return [
    '## This iteration',
    `- Iteration: ${iteration} of ${maxIterations}`,
    `- Mode: ${mode}`,
    story
      ? `- Story: ${story.id} (${withoutVerdicts(story.title)})`
      : '- Story: none; all are done, and what stands below is still wrong',
    ...(mode === 'review' ? reviewLines(story, policy) : commandLines(commands)),
    ...(mode === 'review' ? [] : protectedWords(protect, only).map(rule => `- ${rule}`)),
    ...(mode === 'merge-fix' && story ? [mergeLine(story)] : []),
    ...(mode === 'review' || !story ? [] : [askLine(isPlain)]),
    ...(story ? [] : [`- When it is fixed and the checks pass, say ${markerWords(rule, isPlain)}`]),
    ...(policy.skipReview ? [skipLine(markerWords(rule, isPlain))] : []),
  ].join('\n');
}

function commandLines(commands: readonly PromptCheck[]): readonly string[] {
  if (commands.length === 0) return [];
  const shown = commands
    .map(
      ({ command, redBefore }) => `\`${command}\`${redBefore ? ' (failed before the first iteration)' : ''}`,
    )
    .join(', ');
  return [`- Ralph runs these after your turn, and the story is handed in only if all pass: ${shown}`];
}

/** Also for prompts of the user's own that do not know this mode. */
function mergeLine({ reviewFeedback }: Story): string {
  const words = withoutVerdicts(reviewFeedback.replace(MERGE_PREFIX, '').trim());
  return `- This story is built, and does not fit what others have landed meanwhile. Make it fit, change nothing else, commit it, and hand it in as after building it. ${words}`;
}

function askLine(isPlain?: boolean): string {
  return `- If only the user can decide something and the files do not say it, ask, ${askWords(isPlain)}. Commit what stands on its own, undo the rest, and leave the story as it is: it waits for the answer, and other stories continue`;
}

function decisions({ decided = [] }: StoryPrompt): string {
  if (decided.length === 0) return '';
  const lines = ['## What the user has decided for this story', ...decidedLines(decided)];
  return withoutVerdicts(lines.join('\n'));
}

function reviewLines(story: Story | undefined, policy: ReviewPolicy): readonly string[] {
  return [
    reviewLine(story?.reviewCount ?? 0, policy),
    '- Change nothing outside of the folder of the list: what a review changes is undone, and its verdict does not count',
    `- Say your verdict in your last message as well, on a line of its own: ${reviewMarker(story?.id ?? '')}, where VERDICT is approved or changes_requested, as in the list`,
  ];
}

function reviewFacts({ results, diff, unshown, unseen = [], protect }: ReviewFacts): string {
  const ran = results.map(
    ({ command, passed, exitCode }) =>
      `- \`${command}\`: ${passed ? 'passed' : 'failed'} (exit code ${exitCode})`,
  );
  return [
    '## What Ralph saw',
    ...(ran.length > 0 ? ['It ran these checks itself after the story was built:', ...ran] : []),
    ...(protect.length > 0 ? [`Protected, so the agent could not change it: ${protect.join(', ')}`] : []),
    unshown !== undefined
      ? `What changed since the story was begun could not be found out: ${unshown}. Request changes, and say so: an approval does not count until it can be.`
      : diff === undefined || diff === ''
        ? 'The story was begun before this run: find its commits with `git log --oneline`.'
        : `Everything that changed since the story was begun:\n${fenced(withoutVerdicts(diff), 'diff')}`,
    ...(unseen.length > 0
      ? [`Not shown there, so look at it yourself before you approve: ${withoutVerdicts(listSome(unseen))}`]
      : []),
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
