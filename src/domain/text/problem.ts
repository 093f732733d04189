/** Something the user can fix. Problems are collected and printed all at once; the exit code is 2. */
export interface Problem {
  /** What it is about: a file, a flag, a setting. */
  readonly where: string;
  /** One sentence: what is wrong and what was expected. */
  readonly what: string;
  /** How to fix it, where that is not plain from `what`. */
  readonly fix?: string;
}

export function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'where' in value && 'what' in value;
}

export function formatProblem(problem: Problem): string {
  const fix = problem.fix ? ` (${problem.fix})` : '';
  return `${problem.where}: ${problem.what}${fix}`;
}

/** Something of a later release: its version is not known here. */
export function laterVersion(where: string, found: number, known: number, of = 'format'): Problem {
  const what = `has version ${found} of the ${of}, and this Ralph knows version ${known}`;
  return { where, what, fix: 'update Ralph: npm install -g @ralph-loop/ralph' };
}

/** The closest of `known` to a word that is not in it, if it is close enough to be a slip of the finger. */
export function closest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The fix for a word that is not known, where there is one; `otherwise` where none is close. */
export function didYouMean(word: string, known: Iterable<string>, otherwise?: string): Pick<Problem, 'fix'> {
  const near = closest(word, known);
  const fix = near === undefined || near === word ? otherwise : `did you mean ${near}?`;
  return fix === undefined ? {} : { fix };
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
