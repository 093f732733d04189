/**
 * More ways to make no progress, beside the same failure again and again: the agent's tool calls are refused, no file changes, the files
 * alternate between two states, or the cost rises while no further check passes. The agent is warned first, and then has some turns to
 * change that.
 */
import { dollars } from '../turn/usage.ts';
import type { EndedTurn } from './event.ts';
import type { Evidence } from './evidence.ts';

/** What one iteration left behind. */
export interface IterationTrace {
  /** A name for what the files are; null: not looked at. */
  readonly tree: string | null;
  /** How many checks are green. */
  readonly green: number;
  /** Dollars; undefined: unknown. */
  readonly cost?: number;
  /** No file changed, and calls of these tools were refused; absent: a file did, or none was. */
  readonly refused?: readonly string[];
}

export type StandstillKind = 'refused' | 'no-change' | 'thrashing' | 'costly';

/** After how many iterations the agent is warned. 0: never. */
export type StandstillLimits = Readonly<Record<StandstillKind, number>>;

export interface Standstill {
  readonly kind: StandstillKind;
  /** How many iterations it has lasted. */
  readonly iterations: number;
  /** The run stops now; else the agent is warned. */
  readonly stop: boolean;
  /** What an iteration cost in the first half of them and in the second, in dollars. */
  readonly costs?: readonly [number, number];
  /** Of which calls were refused in the last of them. */
  readonly tools?: readonly string[];
}

/** Looks at a run from its beginning; undefined where it sees nothing. */
type Detector = (
  history: readonly IterationTrace[],
) => Pick<Standstill, 'iterations' | 'costs' | 'tools'> | undefined;

interface StandstillRow {
  readonly detect: Detector;
  /** How many more iterations the agent has after the warning. Slow but real progress needs the time to show. */
  readonly patience: number;
  /** The evidence, for people. */
  readonly sentence: (standstill: Standstill) => string;
  /** To the agent, so that it tries something else. */
  readonly advice: (standstill: Standstill) => string;
}

/** The simplest one first. */
const STANDSTILLS: Readonly<Record<StandstillKind, StandstillRow>> = {
  refused: {
    detect: refusedCalls,
    patience: 1,
    sentence: ({ iterations, tools = [] }) =>
      `${iterations === 1 ? 'An iteration' : `${iterations} iterations in a row`} changed no file, and the agent's own permissions refused its calls of ${tools.join(', ')}.`,
    advice: ({ tools = [] }) =>
      `Your last turn changed no file, and your calls of ${tools.join(', ')} were refused: nobody is there to permit them. Do not try the same again; find a way that you are permitted, or say <blocked>why</blocked>.`,
  },
  'no-change': {
    detect: unchanged,
    patience: 3,
    sentence: ({ iterations }) => `${iterations} iterations in a row changed no file.`,
    advice: ({ iterations }) =>
      `Your last ${iterations} turns changed no file, and whatever you found out in them is lost. Change the code, or write down what you know, or say <blocked>why</blocked>.`,
  },
  thrashing: {
    detect: backAndForth,
    patience: 2,
    sentence: ({ iterations }) =>
      `${iterations} iterations in a row brought the files back and forth between the same two states.`,
    advice: ({ iterations }) =>
      `Your last ${iterations} turns brought the files back and forth between the same two states: each undid the one before. Neither is right. Find out what is wrong with both and try a third way, or say <blocked>why</blocked>.`,
  },
  costly: {
    detect: risingCost,
    patience: 5,
    sentence: ({ iterations, costs: [first, second] = [0, 0] }) =>
      `${iterations} iterations made no further check pass, and the cost rose: ${dollars(first)} each at first, ${dollars(second)} now.`,
    advice: ({ iterations }) =>
      `Your last ${iterations} turns made no further check pass, and their cost rose. Take the smallest failure, fix only that, and leave everything else alone, or say <blocked>why</blocked>.`,
  },
};

const KINDS = Object.keys(STANDSTILLS) as readonly StandstillKind[];

/** The first that ends the run, else the first that holds. `history` is the run, oldest first, as far back as it matters. */
export function findStandstill(
  history: readonly IterationTrace[],
  limits: StandstillLimits,
): Standstill | undefined {
  const found = KINDS.flatMap(kind => standstillOf(kind, history, limits[kind]) ?? []);
  return found.find(({ stop }) => stop) ?? found[0];
}

function standstillOf(
  kind: StandstillKind,
  history: readonly IterationTrace[],
  limit: number,
): Standstill | undefined {
  const { detect, patience } = STANDSTILLS[kind];
  if (limit === 0) return undefined;
  const seen = (upTo: readonly IterationTrace[]) => {
    const found = detect(upTo);
    return found && found.iterations >= limit ? found : undefined;
  };
  const found = seen(history);
  if (!found) return undefined;
  // Warned in each of the last so many iterations, and it did not help.
  const isWarned = (ago: number) => seen(history.slice(0, history.length - ago)) !== undefined;
  const stop = Array.from({ length: patience }, (_, at) => at + 1).every(isWarned);
  return { kind, ...found, stop };
}

/** Iterations in a row, this one included, in which tool calls were refused and no file changed. */
function refusedCalls(history: readonly IterationTrace[]) {
  const tools = history.at(-1)?.refused;
  if (!tools) return undefined;
  const worked = history.findLastIndex(({ refused }) => refused === undefined);
  return { iterations: history.length - 1 - worked, tools };
}

/** Iterations in a row, this one included, that left the files as the one before had left them. */
function unchanged(history: readonly IterationTrace[]) {
  return { iterations: lastRun(history, (moment, before) => moment.tree === before.tree) };
}

/** Iterations in a row, this one included, in which the files went from one state to another and back. */
function backAndForth(history: readonly IterationTrace[]) {
  const run = lastRun(
    history,
    (moment, before, beforeThat) => moment.tree === beforeThat?.tree && moment.tree !== before.tree,
  );
  return run === 0 ? undefined : { iterations: run + 2 };
}

/** How many moments at the end hold in comparison with the two before them. */
function lastRun(
  history: readonly IterationTrace[],
  holds: (moment: IterationTrace, before: IterationTrace, beforeThat: IterationTrace | undefined) => boolean,
): number {
  for (let count = 0; ; count++) {
    const at = history.length - 1 - count;
    const [moment, before] = [history[at], history[at - 1]];
    if (!moment || !before || moment.tree === null || before.tree === null) return count;
    if (!holds(moment, before, history[at - 2])) return count;
  }
}

/** How much more an iteration must cost in the second half: costs vary by themselves. */
const COST_FACTOR = 1.5;

function risingCost(history: readonly IterationTrace[]) {
  const best = Math.max(0, ...history.map(moment => moment.green));
  const since = history.slice(history.findIndex(moment => moment.green === best) + 1);
  const costs = since.flatMap(moment => moment.cost ?? []);
  if (costs.length < since.length || since.length === 0) return undefined;
  const half = Math.floor(costs.length / 2);
  const [first, second] = [mean(costs.slice(0, half)), mean(costs.slice(half))];
  if (!(second > 0) || second < first * COST_FACTOR) return undefined;
  return { iterations: since.length, costs: [first, second] as const };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

export function formatStandstill(standstill: Standstill): string {
  return STANDSTILLS[standstill.kind].sentence(standstill);
}

export function adviseOnStandstill(standstill: Standstill): string {
  return STANDSTILLS[standstill.kind].advice(standstill);
}

export interface Ending extends Pick<Evidence, 'outcome' | 'claim' | 'checks'> {
  /** A name for what the files are; null: not looked at. */
  readonly tree: string | null;
}

export interface Repeated {
  readonly signature: string;
  readonly times: number;
}

/** The number of turns in a row that ended like this one, this one included; 0 where the files are not looked at. */
export function timesRepeated(before: Repeated | undefined, ending: Ending): number {
  if (ending.tree === null) return 0;
  return before?.signature === signatureOf(ending) ? before.times + 1 : 1;
}

/** Times and counts differ from run to run of the same failure: numbers do not matter. */
export function signatureOf({ outcome, claim, checks, tree }: Ending): string {
  const red = checks.filter(check => !check.passed);
  const failures = red.map(check => [check.command, check.exitCode, check.output.replace(/\d+/g, '#')]);
  return JSON.stringify([outcome.kind, claim, failures, tree]);
}

/** What an iteration left behind, to see a standstill. `before`: a name for what the files were when it began. */
export function traceOf(turn: EndedTurn, { checks, tree }: Ending, before: string | null): IterationTrace {
  const { cost, unpriced } = turn.usage;
  const green = checks.filter(check => check.passed).length;
  return {
    tree,
    green,
    ...(cost !== undefined && unpriced === undefined && { cost }),
    ...(turn.refused && isUnchanged(turn, tree, before) && { refused: turn.refused.tools }),
  };
}

/** Where nobody looks at the files: nothing that it called was let through. */
function isUnchanged({ refused, toolCalls }: EndedTurn, tree: string | null, before: string | null): boolean {
  if (tree !== null && before !== null) return tree === before;
  return refused !== undefined && toolCalls !== null && refused.calls >= toolCalls;
}
