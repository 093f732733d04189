/** A run as Markdown that can be pasted into a pull request: the final block, then its iterations. */

import { pullRequestOf } from '../domain/forge/forge-state.ts';
import { type Board, laneOutcome } from '../domain/lanes/board.ts';
import { trustMark } from '../domain/run/ledger-trust.ts';
import { fenced } from '../domain/run/loop-prompt.ts';
import { standingWords } from '../domain/run/overview.ts';
import { dollars } from '../domain/turn/usage.ts';
import { changesInMarkdown } from './changes.ts';
import { headline } from './ending-words.ts';
import { issueWords, pullRequestWords } from './forge-words.ts';
import { compact, counted, duration } from './numbers.ts';
import { promptPhrase } from './phrases.ts';
import { ledgerProof } from './proofs.ts';
import type { ReadRun } from './read-run.ts';
import {
  averagePrompt,
  elapsed,
  type IterationView,
  lastChecks,
  outcomeWords,
  type Part,
  type RunView,
} from './run-view.ts';
import type { RunsFigures } from './runs-figures.ts';
import { summaryLines } from './summary.ts';
import { MARKDOWN_WORDS, tableCell } from './words.ts';

const { say } = MARKDOWN_WORDS;

/** Nobody reads a longer table in a pull request. */
const ROWS = 50;

export function markdownOf(
  reading: ReadRun,
  changes: Part | null = null,
  before: Part | null = null,
): string {
  const { view, integrity, result } = reading;
  const lines = result
    ? [...summaryLines(result, { ...view, integrated: view.lanes.integrated }, MARKDOWN_WORDS)]
    : [
        headline(reading),
        '',
        ...(view.title === null ? [] : [`- Task: ${say(view.title)}`]),
        `- Run: ${say(reading.id)} (ralph ${say(view.command)} with ${say(view.agent)})`,
        ...(view.board ? [] : [`- Iterations: ${view.iterations.length}`]),
        `- Time: ${duration(elapsed(view))}`,
      ];
  const doubts = ledgerProof(integrity).filter(({ holds }) => holds !== 'yes');
  const prompt = averagePrompt(view);
  const pull = pullRequestOf(view.forge);
  const issue = issueWords(view.said);
  return [
    '### Ralph',
    '',
    ...lines,
    ...(pull ? [`- ${say(pullRequestWords(pull))}`] : []),
    ...(issue === undefined ? [] : [`- ${say(issue)}`]),
    ...(prompt ? [`- Prompt: ${promptPhrase(prompt)}, on average`] : []),
    ...doubts.map(({ text }) => `- ${say(text)}`),
    ...causes(view),
    ...(changes ? changesInMarkdown(changes) : []),
    ...(before ? changesInMarkdown(before, 'Changed before the run: ') : []),
    '',
    ...(view.board ? boardTable(view.board) : iterationTable(view)),
    '',
  ].join('\n');
}

/** What each failed check printed that says why. */
function causes(view: RunView): readonly string[] {
  return lastChecks(view).flatMap(({ command, passed, cause = [] }) =>
    passed || cause.length === 0
      ? []
      : ['', `${MARKDOWN_WORDS.code(command)}:`, '', fenced(cause.join('\n'), '')],
  );
}

function boardTable({ lanes }: Board): readonly string[] {
  return [
    '| lane | state | commit | iterations | sent back | cost |',
    '|---|---|---|--:|--:|--:|',
    ...lanes.map(lane => {
      const { id, title, state, commit, iterations, returns, cost, why } = laneOutcome(lane);
      const standing = state === 'landed' || why === undefined ? state : `${state}: ${why}`;
      return row([
        say(`${id} ${title}`),
        say(standing),
        say(commit?.slice(0, 12) ?? ''),
        String(iterations),
        String(returns),
        cost === null ? '' : dollars(cost),
      ]);
    }),
  ];
}

function iterationTable(view: RunView): readonly string[] {
  const left = Math.max(0, view.iterations.length - ROWS);
  return [
    '| iteration | agent | checks | waiting | cost | passed | result |',
    '|--:|--:|--:|--:|--:|:-:|---|',
    ...(left > 0 ? [`| … | | | | | | ${counted(left, 'earlier iteration')} |`] : []),
    ...view.iterations.slice(-ROWS).map(iterationRow),
  ];
}

function iterationRow(iteration: IterationView): string {
  const { number, seconds, usage, checks } = iteration;
  const green = checks.filter(check => check.passed || check.ungated).length;
  return row([
    String(number),
    duration(seconds.agent),
    checks.length === 0 ? '' : duration(seconds.checks),
    seconds.waiting > 0 ? duration(seconds.waiting) : '',
    usage?.cost === undefined ? '' : dollars(usage.cost),
    checks.length === 0 ? '' : `${green}/${checks.length}`,
    say(outcomeWords(iteration) ?? 'not ended'),
  ]);
}

function row(cells: readonly string[]): string {
  return `| ${cells.map(tableCell).join(' | ')} |`;
}

export function markdownOfAll({ runs, ...figures }: RunsFigures): string {
  const { seconds } = figures;
  const known = (value: number | null, say: (value: number) => string) =>
    value === null ? 'unknown' : say(value);
  const rate = known(figures.successRate, share => `${Math.round(share * 100)} %`);
  return [
    '### Ralph: all runs',
    '',
    `- Runs: ${figures.ended} ended, ${figures.done} done (${rate})`,
    `- Iterations to done: ${known(figures.iterationsToDone, one)}`,
    `- Cost: ${known(figures.cost, dollars)}`,
    `- Stories verified: ${figures.storiesVerified}, cost of each: ${known(figures.costPerStory, dollars)}, reviews of each: ${known(figures.reviewsPerStory, one)}`,
    `- Time: agent ${duration(seconds.agent)}, checks ${duration(seconds.checks)}, waiting ${duration(seconds.waiting)}`,
    '',
    '| run | task | result | iterations | cost | tokens | time |',
    '|---|---|---|--:|--:|--:|--:|',
    ...runs.map(run =>
      row([
        say(run.id),
        say(run.title ?? ''),
        say(`${standingWords(run.state, run.stopReason)}${trustMark(run.ledger)}`),
        String(run.iterations),
        run.cost === null ? '' : dollars(run.cost),
        run.tokens === null ? '' : compact(run.tokens),
        duration(run.elapsed),
      ]),
    ),
    '',
  ].join('\n');
}

function one(value: number): string {
  return value.toFixed(1);
}
