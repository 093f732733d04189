/** What a parallel run says before anything begins. */
import { expect, test } from 'vitest';
import { tooFew } from '../../src/parallel/coordinator.ts';
import { headOf } from './board.ts';

test.each<[count: number, isReviewed: boolean, most: number, says: RegExp | undefined]>([
  [30, false, 25, /^30 tasks need 30 iterations at least, one each, .* is 25\. .* --max-iterations 60 gives/],
  [8, true, 15, /^8 stories need 16 iterations at least, one to build and one to review each/],
  [7, true, 15, undefined],
  [25, false, 25, undefined],
  [30, false, 0, undefined],
])('%i lanes, reviewed: %s, at most %i', (count, isReviewed, most, says) => {
  const lanes = () => Array.from({ length: count }, (_, at) => headOf(`T${at}`));
  const said = tooFew({ command: isReviewed ? 'prd' : 'loop', isReviewed, lanes }, most);
  if (says) expect(said).toMatch(says);
  else expect(said).toBeUndefined();
});
