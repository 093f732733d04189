/** Which of the possible faults are tried, and in which order: the most telling ones first, spread over lines and files. */
import { type Mutant, OPERATORS } from './mutant.ts';

const PER_LINE = 2;

export interface FileMutants {
  readonly file: string;
  readonly source: string;
  readonly mutants: readonly Mutant[];
}

export interface Chosen extends Mutant, Omit<FileMutants, 'mutants'> {}

/** All that may be tried, best first: the first of each line before the second of any. */
export function rankMutants(files: readonly FileMutants[]): readonly Chosen[] {
  return files
    .flatMap(({ file, source, mutants }) =>
      byLine(mutants).flatMap((line, nth) =>
        line.slice(0, PER_LINE).map((mutant, round) => ({ file, source, nth, round, mutant })),
      ),
    )
    .sort((a, b) => a.round - b.round || rankOf(a.mutant) - rankOf(b.mutant) || a.nth - b.nth)
    .map(({ file, source, mutant }) => ({ ...mutant, file, source }));
}

function byLine(mutants: readonly Mutant[]): readonly (readonly Mutant[])[] {
  const lines = new Map<number, Mutant[]>();
  for (const mutant of mutants.toSorted((a, b) => rankOf(a) - rankOf(b) || a.start - b.start)) {
    const line = lines.get(mutant.line) ?? [];
    line.push(mutant);
    lines.set(mutant.line, line);
  }
  return [...lines.entries()].sort(([a], [b]) => a - b).map(([, line]) => line);
}

function rankOf({ operator }: Mutant): number {
  return OPERATORS.indexOf(operator);
}
