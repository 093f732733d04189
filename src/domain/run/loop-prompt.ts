/** What the agent sees in `ralph loop`: five parts and nothing else. What changes least stands first. */
import type { CheckResult } from '../checks/check.ts';
import { redReason } from '../checks/words.ts';
import { askWords, type DecidedQuestion, decidedLines } from '../stories/questions.ts';
import { checkRemark, formatFeedback } from '../text/feedback.ts';
import { type CompletionRule, markerWords } from '../turn/claim.ts';
import { type IterationPrompt, protectedWords } from './prompt.ts';

/** What every prompt is made of that tells the agent how to end. */
export interface RuledPrompt extends IterationPrompt {
  readonly rule: CompletionRule;
  /** The agent's whole output is plain text, and may hold this prompt. */
  readonly isPlain?: boolean;
  /** What was decided on its questions; absent: it may ask none. */
  readonly decided?: readonly DecidedQuestion[] | undefined;
}

export interface LoopPrompt extends RuledPrompt {
  /** The task, or the text of the spec file. */
  readonly task: string;
  readonly checks: readonly PromptCheck[];
  /** Everything that changed since the start; empty when nothing did. */
  readonly diff: string;
  /** The progress file. */
  readonly progress: string;
}

export interface PromptCheck {
  readonly command: string;
  /** It failed before the first iteration. */
  readonly redBefore?: 'gates' | 'excused';
}

export function buildLoopPrompt(prompt: LoopPrompt): string {
  const { decided = [] } = prompt;
  const parts = [
    prompt.task.trimEnd(),
    rules(prompt),
    decided.length === 0 ? '' : ['## What was decided', ...decidedLines(decided)].join('\n'),
    prompt.diff === '' ? '' : `## Changes since the start\n${fenced(prompt.diff, 'diff')}`,
    lastTurn(prompt),
    prompt.progress === '' ? '' : `## Progress\n${prompt.progress.trimEnd()}`,
  ];
  return `${parts.filter(part => part !== '').join('\n\n')}\n`;
}

function rules({
  checks,
  rule,
  isPlain,
  iteration,
  maxIterations,
  protect = [],
  only = [],
  decided,
}: LoopPrompt): string {
  const before = {
    gates: ' (failed before you began)',
    excused: ' (failed before you began; it need not pass)',
  };
  return [
    '## Rules',
    'These checks run after your turn, and all must pass:',
    ...checks.map(({ command, redBefore }) => `- \`${command}\`${redBefore ? before[redBefore] : ''}`),
    ...protectedWords(protect, only),
    `When the whole task is complete, say exactly ${markerWords(rule, isPlain)}, and never before.`,
    isPlain
      ? 'If you cannot continue, say why, in a tag named blocked.'
      : 'If you cannot continue, say why: <blocked>reason</blocked>',
    ...(decided
      ? [
          `If only a person can decide something and the files do not say it, ask, ${askWords(isPlain)}. Then end your turn: you continue with the answer.`,
        ]
      : []),
    `This is iteration ${iteration} of ${maxIterations}. You remember nothing of earlier ones; their work is in the files.`,
  ].join('\n');
}

/** What was wrong with it; '': nothing. */
export function lastTurn({
  feedback,
  rule,
  isPlain,
}: Pick<LoopPrompt, 'feedback' | 'rule' | 'isPlain'>): string {
  const sentences = feedback.flatMap(item => formatFeedback(item, markerWords(rule, isPlain)) ?? []);
  const failed = feedback.flatMap(item => (item.kind === 'check-failed' ? [formatFailure(item.check)] : []));
  if (sentences.length + failed.length === 0) return '';
  return ['## What went wrong in the last iteration', ...sentences, ...failed].join('\n\n');
}

/** A red check with what says what failed. */
export function formatFailure(check: CheckResult): string {
  const more = checkRemark(check);
  return [
    `### \`${check.command}\` failed (${redReason(check)})`,
    ...(more === '' ? [] : [more]),
    ...(check.hint ? [`Hint: ${check.hint}`] : []),
    fenced(check.output, ''),
  ].join('\n');
}

/** A fence that nothing inside can close. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(run => run[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.endsWith('\n') ? text : `${text}\n`}${fence}`;
}
