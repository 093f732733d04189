/** Any number of iterations as a number of columns that fits a screen. */
import { type IterationView, type Seconds, totalSeconds } from '../report/run-view.ts';

export type CellState = 'none' | 'green' | 'flaky' | 'excused' | 'red';

export interface Column {
  readonly first: number;
  readonly last: number;
  /** The mean of its iterations. */
  readonly seconds: Seconds;
  readonly cells: readonly Cell[];
}

/** A check in the iterations of a column. */
export interface Cell {
  /** The worst that it was. */
  readonly state: CellState;
  /** How many of the iterations were as bad as that, from 0 to 1. */
  readonly share: number;
}

const MOST = 240;
const WORST: readonly CellState[] = ['none', 'green', 'flaky', 'excused', 'red'];

export function columnsOf(iterations: readonly IterationView[], checks: number): readonly Column[] {
  const size = Math.max(1, Math.ceil(iterations.length / MOST));
  const columns: Column[] = [];
  for (let at = 0; at < iterations.length; at += size)
    columns.push(columnOf(iterations.slice(at, at + size), checks));
  return columns;
}

function columnOf(group: readonly IterationView[], checks: number): Column {
  const mean = (kind: keyof Seconds) =>
    group.reduce((sum, { seconds }) => sum + seconds[kind], 0) / group.length;
  return {
    first: group[0]?.number ?? 0,
    last: group.at(-1)?.number ?? 0,
    seconds: { agent: mean('agent'), checks: mean('checks'), waiting: mean('waiting') },
    cells: Array.from({ length: checks }, (_, index) => worst(group, index)),
  };
}

function worst(group: readonly IterationView[], index: number): Cell {
  const states = group.map(iteration => cellOf(iteration, index));
  const state = WORST.findLast(each => states.includes(each)) ?? 'none';
  return { state, share: states.filter(each => each === state).length / states.length };
}

export function cellOf({ checks }: IterationView, index: number): CellState {
  const check = checks.find(each => each.index === index);
  if (!check) return 'none';
  if (check.passed) return check.flaked > 0 ? 'flaky' : 'green';
  return check.ungated ? 'excused' : 'red';
}

/** Never 0: bars are drawn as shares of it. */
export function longestOf(all: readonly { readonly seconds: Seconds }[]): number {
  return Math.max(0.001, ...all.map(({ seconds }) => totalSeconds(seconds)));
}

/** The checks of a run, in order: those it was given, and those that turned up. */
export function checkNames(
  given: readonly string[],
  iterations: readonly IterationView[],
): readonly string[] {
  const names = [...given];
  for (const { checks } of iterations) for (const { index, command } of checks) names[index] ??= command;
  return Array.from(names, name => name ?? '');
}
