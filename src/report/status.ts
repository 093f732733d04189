/** `ralph status`: the runs of a project as a table that fits the screen. */
import { parentOf } from '../domain/lanes/board.ts';
import type { LoopCommand } from '../domain/run/event.ts';
import { trustSentence } from '../domain/run/ledger-trust.ts';
import { type RunOverview, standingWords } from '../domain/run/overview.ts';
import { answerCommand, questionWords } from '../domain/stories/questions.ts';
import { dollars } from '../domain/turn/usage.ts';
import { clip, wrap, wrapAround } from '../platform/text.ts';
import { CLOSED, resumePhrase } from './ending-words.ts';
import { issueWords, pullRequestWords } from './forge-words.ts';
import { counted, timeOfDay, wholeSeconds } from './numbers.ts';
import { phrase } from './phrases.ts';
import { hanging, type Paint, paint, type Style, table } from './style.ts';

const COLORS: Record<RunOverview['state'], Paint> = {
  running: 'cyan',
  waiting: 'yellow',
  paused: 'yellow',
  done: 'green',
  unverified: 'red',
  stopped: 'yellow',
  unstarted: 'yellow',
  closed: 'yellow',
  crashed: 'red',
};

/** What `ralph resume` would do. */
export interface Resuming {
  /** The run that it means without an id. */
  readonly meant?: string | undefined;
  /** The run whose settings are not what they were. */
  readonly changed?: string | undefined;
}

export function statusLines(
  runs: readonly RunOverview[],
  style: Style,
  now: number,
  resuming: Resuming = {},
): readonly string[] {
  if (runs.length === 0)
    return ['No runs here yet. Start one: `ralph run -p "…"`. Or watch one: `ralph demo`.'];
  // What follows the table is about runs as a whole.
  const whole = runs.some(isWhole) ? runs.filter(isWhole) : runs;
  const found = runs.map(run => cells(run, now, whole !== runs));
  // A column that is empty in every row has no name.
  const rows = [HEADERS.map((name, column) => (found.some(row => row[column]) ? name : '')), ...found];
  const lines = table(rows).map((whole, index) => {
    const line = clip(whole, style.width);
    const run = runs[index - 1];
    if (index === 0) return paint(style, 'dim', line);
    return run ? line.replace(ending(run), word => paint(style, COLORS[run.state], word)) : line;
  });
  return [
    ...lines,
    ...ledgerLines(runs, style),
    ...questionLines(runs, style),
    ...proofLines(whole, style),
    ...pullRequestLines(whole, style),
    ...closedLines(whole, style),
    ...resumeLines(whole, style, resuming),
  ];
}

function isWhole({ id }: RunOverview): boolean {
  return parentOf(id) === undefined;
}

/** A line for each run whose ledger is not known to be what Ralph wrote. */
function ledgerLines(runs: readonly RunOverview[], style: Style): readonly string[] {
  const doubtful = runs.filter(({ ledger: { kind } }) => kind !== 'intact');
  const lines = doubtful.flatMap(({ id, ledger }) => {
    const text = `${id}: ${phrase(trustSentence(ledger))}.`;
    return hanging(style, ledger.kind === 'changed' ? '!' : '?', text);
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** What stories ask: of runs that are running, and of the latest one that can be resumed. */
function questionLines(runs: readonly RunOverview[], style: Style): readonly string[] {
  const latest = runs.findLast(run => run.resumable);
  const asking = runs.filter(run => run === latest || run.stopReason === null);
  const lines = asking.flatMap(({ id, questions }) =>
    questions.flatMap(each =>
      hanging(style, '?', `${id}: ${phrase(questionWords(each))} Answer: ${answerCommand(each.story)}`),
    ),
  );
  return lines.length === 0 ? [] : ['', ...lines];
}

/** What the latest run that is done has proven; a column of it would not fit. */
function proofLines(runs: readonly RunOverview[], style: Style): readonly string[] {
  const latest = runs.findLast(run => run.state === 'done');
  if (!latest?.proof) return [];
  return ['', ...wrap(`Proof of ${latest.id}: ${phrase(latest.proof)}`, style.width)];
}

/** Of the latest runs that have one: an address is too long for a column. */
function pullRequestLines(runs: readonly RunOverview[], style: Style): readonly string[] {
  const lines = runs.slice(-MOST_PULLS).flatMap(({ id, pullRequest, said }) => {
    const words = [pullRequest && pullRequestWords(pullRequest), issueWords(said ?? [])];
    return words.flatMap(each => (each ? wrapAround(`${id}: ${each}`, style.width) : []));
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

const MOST_PULLS = 5;

/** Loops of sessions that can be resumed, each in its own way. */
function closedLines(runs: readonly RunOverview[], style: Style): readonly string[] {
  const closed = runs.filter(({ state }) => state === 'closed');
  const lines = closed.flatMap(({ id }) => hanging(style, '>', `${id}: ${CLOSED}`));
  return lines.length === 0 ? [] : ['', ...lines];
}

/** How to resume the latest run that can be resumed. */
function resumeLines(
  runs: readonly RunOverview[],
  style: Style,
  { meant, changed }: Resuming,
): readonly string[] {
  const latest = runs.findLast(run => run.resumable);
  if (!latest) return [];
  const { id: runId, command, stopReason, raise } = latest;
  const run = {
    runId,
    command: command as LoopCommand,
    stopReason: stopReason ?? '',
    raise: raise ?? undefined,
    hasBegun: true,
    isLatest: runId === meant,
    needsAccept: latest.ledger.kind === 'changed' || latest.id === changed,
  };
  return ['', ...hanging(style, resumeSign(latest).trim(), resumePhrase(run))];
}

/** Plain letters: the table must line up in every font. */
function resumeSign({ resumable }: RunOverview): string {
  return resumable ? '> ' : '';
}

/** A worktree and its state. */
export interface WorktreeRow {
  readonly name: string;
  /** null: it is on none. */
  readonly branch: string | null;
  readonly dirty: boolean;
  readonly ahead: number;
  readonly usedBy: number | null;
}

export function worktreeLines(worktrees: readonly WorktreeRow[], style: Style): readonly string[] {
  if (worktrees.length === 0) return [];
  const rows = worktrees.map(({ name, branch, dirty, ahead, usedBy }) => {
    const facts = [
      ...(ahead > 0 ? [`${counted(ahead, 'commit')} to merge`] : []),
      ...(dirty ? ['changes not committed'] : ahead === 0 ? ['nothing to merge'] : []),
      ...(usedBy === null ? [] : [`in use by process ${usedBy}`]),
    ];
    return [branch ?? `${name} (no branch)`, facts.join(', ')];
  });
  return ['', 'Worktrees', ...table(rows).map(row => clip(`  ${row}`, style.width))];
}

const HEADERS = ['Run', 'State', 'Iteration', 'Story', 'Checks', 'Cost', 'Age', 'Task'] as const;

/** `isBelow`: the run that it belongs to is above it. */
function cells(run: RunOverview, now: number, isBelow: boolean): readonly string[] {
  const of = run.maxIterations === null ? '' : `/${run.maxIterations}`;
  const { passed, failed } = run.checks;
  const landed = run.lanes?.filter(({ state }) => state === 'landed').length;
  const progress = run.lanes ? `${landed}/${run.lanes.length} landed` : `${run.iteration}${of}`;
  return [
    isWhole(run) || !isBelow ? run.id : `  ${run.id.split('.').slice(1).join('.')}`,
    `${isWhole(run) ? resumeSign(run) : ''}${ending(run)}${run.until === null ? '' : ` until ${timeOfDay(run.until, now)}`}`,
    `${run.command} ${progress}${run.sandbox === null ? '' : ` in ${run.sandbox.split(' ')[0]}`}`,
    run.story === null ? '' : phrase(run.story),
    passed + failed === 0 ? '' : `${passed}/${passed + failed}`,
    run.cost === null ? '' : dollars(run.cost),
    run.startedAt === null ? '' : wholeSeconds(Math.max(0, (now - Date.parse(run.startedAt)) / 1000)),
    run.title === null ? '' : phrase(run.title),
  ];
}

function ending({ stopReason, state }: RunOverview): string {
  return phrase(standingWords(state, stopReason));
}
