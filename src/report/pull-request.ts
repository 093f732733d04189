/** The body of a pull request: what was asked, what shows that it is done, and how to verify that. One screen before the first fold. */

import { provenWords } from '../domain/checks/proof.ts';
import { criterionWords, NOBODY, type ShownCriterion } from '../domain/forge/criteria.ts';
import type { RunHead } from '../domain/run/event.ts';
import { fenced } from '../domain/run/loop-prompt.ts';
import { type LoopResult, provenBy } from '../domain/run/result.ts';
import { diffSum, type FileSum } from '../domain/text/diffstat.ts';
import { beginning, harmless } from '../platform/text.ts';
import { resultSentence } from './ending-words.ts';
import { counted, duration } from './numbers.ts';
import { checkNoun } from './phrases.ts';
import { checkLines, costWords, mutationLines, testLines } from './summary.ts';
import { MARKDOWN_WORDS, tableCell } from './words.ts';

const { say, code } = MARKDOWN_WORDS;

export interface PullRequestFacts {
  readonly result: LoopResult;
  readonly head: Pick<RunHead, 'command' | 'agent' | 'sandbox' | 'title'> | undefined;
  /** The user's own words; undefined: it was a list of stories. */
  readonly task: string | undefined;
  readonly criteria: readonly ShownCriterion[];
  readonly files: readonly FileSum[];
  /** What was pushed. */
  readonly commit: string;
  readonly remote: string;
  /** Under which the bundle is; undefined: it could not be written, and why. */
  readonly proof: { readonly ref: string } | { readonly missing: string };
}

/** No reader takes more, and GitHub refuses it. */
const LONGEST = 60_000;

/** By which Ralph knows its own words again, at their end. */
export function hiddenMark(what: string): string {
  return `<!-- ralph: ${what.replace(/[^\w.-]/g, '-')} -->`;
}

/** What a text is marked as. */
export const LAST_MARK = /<!-- ralph: ([\w.-]+) -->\s*$/;

export function pullRequestBody(facts: PullRequestFacts): string {
  const { result } = facts;
  const mark = hiddenMark(`pull-request-${result.runId}`);
  const parts = [
    ...headLines(facts),
    ...criteriaLines(facts.criteria),
    ...evidenceLines(facts),
    '',
    ...folds(facts),
  ];
  const text = parts.join('\n').replace(/\n{3,}/g, '\n\n');
  return `${shortened(text).trimEnd()}\n\n${mark}\n`;
}

/** At the end of a line: half a code span would set free what stands in it. */
function shortened(text: string): string {
  if (text.length <= LONGEST) return text;
  const whole = text.slice(0, text.lastIndexOf('\n', LONGEST));
  return `${whole}\n\n</details>\n\n… (shortened)`;
}

function headLines({ result, head, files }: PullRequestFacts): readonly string[] {
  return [
    resultSentence(result, MARKDOWN_WORDS),
    '',
    ...(head?.title ? [`- Asked: ${say(head.title)}`] : []),
    `- Changed: ${diffSum(files)}`,
    '',
  ];
}

const ROWS = 8;

function criteriaLines(criteria: readonly ShownCriterion[]): readonly string[] {
  if (criteria.length === 0) return [];
  const more = criteria.length - ROWS;
  return [
    ...criteriaTable(criteria.slice(0, ROWS)),
    ...(more > 0 ? [`${counted(more, 'more criterion').replace('criterions', 'criteria')} below.`, ''] : []),
  ];
}

function criteriaTable(criteria: readonly ShownCriterion[]): readonly string[] {
  return [
    '| acceptance criterion | what shows it |',
    '|---|---|',
    ...criteria.map(criterion => {
      const { story, text } = criterion;
      const name = story === undefined ? say(text) : `${say(story)}: ${say(text)}`;
      const shown = criterionWords(criterion, code);
      return `| ${tableCell(name)} | ${shown === NOBODY ? `**${shown}**` : tableCell(shown)} |`;
    }),
    '',
  ];
}

function evidenceLines({ result, head, criteria }: PullRequestFacts): readonly string[] {
  const noun = checkNoun(head?.command ?? 'loop');
  return [
    ...(criteria.length === 0 ? ['- No acceptance criteria were given. What looked at it:'] : []),
    ...fewer(checkLines(result, noun, MARKDOWN_WORDS)),
    `- Proof: ${say(provenWords(provenBy(result, head?.sandbox)))}`,
    ...testLines(result, MARKDOWN_WORDS),
    ...mutationLines(result, MARKDOWN_WORDS),
  ];
}

/** One screen has room for so many checks. */
const MOST_CHECKS = 10;

function fewer(lines: readonly string[]): readonly string[] {
  const more = lines.length - 1 - MOST_CHECKS;
  return more > 0 ? [...lines.slice(0, MOST_CHECKS + 1), `  - ${more} more`] : lines;
}

function folds(facts: PullRequestFacts): readonly string[] {
  const { task, criteria } = facts;
  return [
    ...fold('How to verify this', verifyLines(facts)),
    ...(task === undefined ? [] : fold('What was asked', [fenced(quoted(task), '')])),
    ...(criteria.length > ROWS ? fold('More acceptance criteria', criteriaTable(criteria.slice(ROWS))) : []),
    ...fold('What changed', fileLines(facts.files)),
    ...fold('Cost and time', spentLines(facts)),
  ];
}

function fold(title: string, lines: readonly string[]): readonly string[] {
  return ['<details>', `<summary>${title}</summary>`, '', ...lines, '', '</details>', ''];
}

const LONGEST_TASK = 8_000;

/** Words of others, as data: whole lines, no longer than somebody reads. */
function quoted(text: string): string {
  const clean = harmless(text).trim();
  return clean.length > LONGEST_TASK ? `${beginning(clean, LONGEST_TASK)}\n…` : clean;
}

const MOST_FILES = 100;

function fileLines(files: readonly FileSum[]): readonly string[] {
  const more = files.length - MOST_FILES;
  return [
    ...files.slice(0, MOST_FILES).map(({ name, added, removed }) => `- ${code(name)} +${added} −${removed}`),
    ...(more > 0 ? [`- ${more} more`] : []),
  ];
}

function spentLines({ result, head }: PullRequestFacts): readonly string[] {
  return [
    `- Cost: ${costWords(result)}`,
    `- Time: ${duration(result.totalDuration)}`,
    ...(result.lanes ? [] : [`- Iterations: ${result.iterations.length}`]),
    `- Run: ${say(result.runId)} (ralph ${say(head?.command ?? 'loop')}${head?.agent ? ` with ${say(head.agent)}` : ''})`,
  ];
}

function verifyLines({ proof, remote, commit, result }: PullRequestFacts): readonly string[] {
  if ('missing' in proof) return [`There is no bundle: ${say(proof.missing)}`];
  const file = `${result.runId}.proof`;
  return [
    'The bundle says what was checked, and how. Fetch it, and let Ralph verify it in a clone:',
    '',
    fenced(
      [
        `git fetch ${remote} ${proof.ref} && git show FETCH_HEAD:${PROOF_FILE} > ${file}`,
        `ralph verify ${file} --commit ${commit}`,
      ].join('\n'),
      'sh',
    ),
  ];
}

/** The name of the bundle in the commit that holds it. */
export const PROOF_FILE = 'run.proof';
