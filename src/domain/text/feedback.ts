/** Feedback as sentences to the agent, and where `ralph run` puts them in the prompt. */
import { type CheckResult, redChecks } from '../checks/check.ts';
import { mutationFeedback } from '../checks/mutation.ts';
import { redReason } from '../checks/words.ts';
import type { EndedBy } from '../run/evidence.ts';
import { adviseOnStandstill } from '../run/standstill.ts';
import type { Feedback } from '../run/verdict.ts';
import type { NearMiss } from '../turn/claim.ts';
import type { Trouble } from '../turn/trouble.ts';

/** A failed guardrail in the words of seed 001: what of its output says what failed, the hint whole. */
export function formatGuardrailFailure(check: CheckResult): string {
  const timeout = check.timedOut ? ` (${redReason(check)})` : '';
  const more = checkRemark(check);
  return [
    `Guardrail "${check.command}" failed with exit code ${check.exitCode}${timeout}.`,
    ...(more === '' ? [] : [more]),
    ...(check.hint ? [`Hint: ${check.hint}`] : []),
    `Output file: ${check.logFile}`,
    'Output (truncated):',
    check.output,
  ].join('\n');
}

/** Why a check is red that its exit code does not explain. */
export function checkRemark({ voided, clean, without, isSetup }: CheckResult): string {
  if (voided !== undefined) return `It counts as failed whatever its exit code: ${voided}.`;
  if (without && without.length > 0)
    return `It passes in your work tree and fails in what is committed of it. This is not in the commit: ${listSome(without)}. The work has to be done without it.`;
  if (!clean) return '';
  if (isSetup)
    return 'This command makes a clean checkout of your work ready for the checks; none of them ran there.';
  return 'It passes in your work tree and fails in a clean checkout of it: it needs something that is only in files that git ignores.';
}

/** What would be committed, or is, fails where the work tree passes: which check, and what is not in it; undefined: it does not. */
export function unfitForCommit(checks: readonly CheckResult[]): string | undefined {
  const [red] = redChecks(checks).filter(({ without }) => without !== undefined);
  const { command, without = [] } = red ?? {};
  return red && `\`${command}\` fails in what is to be committed, which is without ${listSome(without)}`;
}

const ENDED_SENTENCES: Record<EndedBy, string> = {
  'idle-timeout':
    'Your last turn was ended because it printed nothing for too long. Avoid commands that wait or never return.',
  'iteration-timeout':
    'Your last turn was ended because it took too long. What you did is kept; work in smaller steps.',
  'max-time': 'Your last turn was ended because the time is up.',
  'max-cost': 'Your last turn was ended because the budget is spent.',
  'max-tokens': 'Your last turn was ended because the token budget is spent.',
  interrupt: 'Your last turn was interrupted. What it did is still in the files.',
};

/** What is wrong with a completion tag that does not count, for the agent and for the user: "the completion tag …". */
export const NEAR_MISS_WORDS: Readonly<Record<NearMiss, string>> = {
  'other-text': 'contains other text',
  case: 'is in the wrong case',
  spaces: 'has the wrong spaces',
  unclosed: 'is not closed',
  quoted: 'is only quoted, in a code span, quotation marks or a block quote',
  fenced: 'is in a code block',
  negated: 'is in a sentence that denies it',
  postponed: 'is in a sentence that promises it for later',
  asked: 'is in a question',
  unread: 'is in a sentence that Ralph cannot read',
};

/** One item of feedback as a sentence to the agent; a red check has its own section and none here. */
export function formatFeedback(feedback: Feedback, marker: string): string | undefined {
  switch (feedback.kind) {
    case 'check-failed':
      return undefined;
    case 'undone':
      return undoneSentence(feedback);
    case 'violation': {
      const { what, restored, refused, isSentence, by } = feedback.violation;
      if (refused) return `You were refused: ${what}`;
      if (by !== undefined) return changedByCheck(by, what, restored);
      const next = restored ? 'It has been undone.' : 'Undo it.';
      if (isSentence) return `${what} ${next}`;
      return `You changed something that is not yours to change: ${what}. ${next}`;
    }
    case 'inputs-changed':
      return inputsSentence(feedback.paths, feedback.voids);
    case 'unstable':
      return unstableSentence(feedback.paths, feedback.voids);
    case 'denied':
      return deniedSentence(feedback.what);
    case 'turn-ended':
      return ENDED_SENTENCES[feedback.by];
    case 'turn-failed':
      return `Your last turn broke off: ${feedback.trouble.message}${smallerSteps(feedback.trouble)}`;
    case 'near-miss':
      return `Your completion tag ${NEAR_MISS_WORDS[feedback.nearMiss]}, so it does not count. When you are done, write it exactly so, on a line of its own: ${marker}`;
    case 'claim-missing':
      return `Every check passes, but you did not say that you are done. If the whole task is complete, say ${marker}; if not, continue.`;
    case 'claim-unproven':
      return 'You said that you were done, but the checks below fail. That claim was not accepted.';
    case 'no-work':
      return 'You said that you were done, but called no tool and changed no file. Do the work first.';
    case 'stories-open':
      return `You said that everything is complete, but these stories are not done: ${feedback.ids.join(', ')}. That claim was not accepted.`;
    case 'story-missing':
      return feedback.message;
    case 'survivors':
      return survivorsSentence(feedback);
    case 'unmeasured':
      return `Ralph puts faults into the changed lines, in a copy, to see whether the checks notice. That did not work: ${feedback.why}`;
    case 'uncommitted':
      return `The last iteration left uncommitted changes: ${listSome(feedback.paths)}. Look at them, and commit them with your work if they belong to it.`;
    case 'stuck':
      return `The same failure has now come back ${feedback.repeats} times and no file changed. What you are doing does not work: find the cause and try something else, or say <blocked>why</blocked>.`;
    case 'standstill':
      return adviseOnStandstill(feedback.standstill);
    default:
      return feedback satisfies never;
  }
}

function undoneSentence({ to, iterations }: Extract<Feedback, { kind: 'undone' }>): string {
  const lines = iterations.map(
    ({ iteration, changes, broke }) =>
      `- iteration ${iteration} changed ${changes === '' ? 'no file' : changes}. ${broke.length === 0 ? '' : `It made this worse: ${broke.join('; ')}.`}`,
  );
  return [
    `The files are those of iteration ${to} again: it ended best, and what was tried after it was undone:`,
    ...lines.map(line => line.trimEnd()),
    'Do not try the same again: find another way. What follows is about the files as they are now.',
  ].join('\n');
}

function survivorsSentence({ survivors, checks, score, min }: Extract<Feedback, { kind: 'survivors' }>) {
  const words = mutationFeedback(survivors, checks);
  if (min === undefined) return `${words} This is said once.`;
  return `${words}\nYour checks notice ${score} % of the faults that Ralph put into the changed lines, and at least ${min} % is asked for: nothing counts as done before.`;
}

function changedByCheck(by: string, what: string, restored: boolean): string {
  const next = restored ? 'It has been undone.' : 'Undo it.';
  return `The check \`${by}\` changed something that is protected: ${what}. ${next} That check counts as failed: find what in the code does it.`;
}

function inputsSentence(paths: readonly string[], voids: boolean): string {
  const next = voids
    ? 'Nothing counts as proven until it is as it was: restore it.'
    : 'It is reported to the user. Restore it unless the task asks for it.';
  return `What the checks rest on is not what it was when the run began: ${listSome(paths)}. ${next}`;
}

function unstableSentence(paths: readonly string[], voids: boolean): string {
  const next = voids
    ? 'Nothing counts as proven while they do: let them write to files that git ignores.'
    : 'It is reported to the user.';
  return `The checks change files of the project each time they run: ${listSome(paths)}. ${next}`;
}

function smallerSteps(trouble: Trouble): string {
  if (trouble.class !== 'context-overflow') return '';
  return '\nYour context was full. What you did is kept; work in smaller steps and read less at a time.';
}

const MOST_DENIALS = 5;
const LONGEST_DENIAL = 200;

/** One line, however much there was and whatever is in a path. */
function deniedSentence(what: readonly string[]): string {
  const named = what.slice(0, MOST_DENIALS).map(each => each.replace(/\s+/g, ' ').slice(0, LONGEST_DENIAL));
  const more = what.length > named.length ? `; and ${what.length - named.length} more` : '';
  return `The sandbox stopped this in the last turn or its checks, and will stop it again: ${named.join('; ')}${more}.`;
}

/** Seed 002's Check 3, to an agent that wants to stop. */
export function formatUncommitted(paths: readonly string[]): string {
  return [
    `There are uncommitted changes: ${listSome(paths)}. Before you stop:`,
    '  1. Update progress.txt with what was accomplished and what was learnt.',
    '  2. Consider whether any lasting pattern belongs in CLAUDE.md or .claude/rules/.',
    '  3. Commit ALL changes, progress.txt and tasks.json included.',
  ].join('\n');
}

const SHOWN = 8;

/** The first few of many names. */
export function listSome(names: readonly string[]): string {
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return `${names.slice(0, SHOWN).join(', ')}${more}`;
}

/** What `ralph run` says behind the user's prompt, beside the failures. */
const SAID_BEHIND: ReadonlySet<Feedback['kind']> = new Set([
  'violation',
  'inputs-changed',
  'unstable',
  'denied',
  'stuck',
  'standstill',
]);

/**
 * The prompt of the next iteration: failures go before the user's prompt, after it, or replace it, as each check says.
 * Several of a kind keep their order, and none is lost.
 */
export function addFeedback(base: string, feedback: readonly Feedback[]): string {
  const before: string[] = [];
  const instead: string[] = [];
  const behind: string[] = [];
  for (const item of feedback) {
    if (item.kind === 'turn-ended') behind.push(ENDED_SENTENCES[item.by]);
    if (item.kind === 'turn-failed' && smallerSteps(item.trouble) !== '')
      behind.push(formatFeedback(item, '') ?? '');
    if (SAID_BEHIND.has(item.kind)) behind.push(formatFeedback(item, '') ?? '');
    if (item.kind !== 'check-failed') continue;
    const target = { PREPEND: before, REPLACE: instead, APPEND: behind }[item.check.failAction];
    target.push(formatGuardrailFailure(item.check));
  }
  return [...before, ...(instead.length > 0 ? instead : [base]), ...behind].join('\n\n');
}
