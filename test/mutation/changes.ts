/** The faults of a piece of code as lines to compare: `boundary: a < b → a <= b`, in the order in which they are tried. */
import { mutantsIn } from '../../src/proof/faults/find.ts';
import { type Mutant, OPERATORS } from '../../src/proof/faults/mutant.ts';

export const EVERYWHERE = [[1, Number.POSITIVE_INFINITY]] as const;

export function mutantsOf(
  file: string,
  source: string,
  ranges: readonly (readonly [number, number])[] = EVERYWHERE,
) {
  const found = mutantsIn(source, file, ranges);
  if ('trouble' in found) throw new Error(found.trouble);
  return found;
}

export function changesOf(file: string, source: string): readonly string[] {
  const rank = ({ operator }: Mutant) => OPERATORS.indexOf(operator);
  return mutantsOf(file, source)
    .toSorted((a, b) => rank(a) - rank(b))
    .map(
      ({ operator, change }) =>
        `${operator}: ${change
          .replace(/^`+|`+$/g, '')
          .replace(/`+ changed to `+/, ' → ')
          .replace(/`+ removed$/, ' removed')}`,
    );
}
