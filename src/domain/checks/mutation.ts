/** Faults put into changed lines on purpose: would the checks notice them? */

/** A fault that no check noticed. */
export interface Survivor {
  readonly file: string;
  readonly line: number;
  /** In words: "`sum >= 100` changed to `sum > 100`". */
  readonly change: string;
}

/** What results, reports and bundles carry. */
export interface Mutation {
  /** Percent of the mutants that a check noticed, rounded down; null: there was nothing to try. */
  readonly score: number | null;
  /** How many were tried. */
  readonly mutants: number;
  readonly survivors: readonly Survivor[];
}

/** What a run found out before it was done; `failed`: why it could not. */
export type Measured =
  | (Mutation & { readonly checks: readonly string[]; readonly seconds: number; readonly untried: number })
  /** `voids`: a fault has changed the work itself, so nothing that was proven counts. */
  | { readonly failed: string; readonly voids?: true };

export interface MutationReport extends Mutation {
  /** Those of the noticed that ran into the time limit of a check. */
  readonly timeouts: number;
  /** Found, and not tried: beyond the most, or the time was over, or the user stopped. */
  readonly untried: number;
  /** Why it ended before all of the chosen were tried. */
  readonly stopped: 'time' | 'interrupted' | null;
  /** The commit that the lines are compared with. */
  readonly base: string;
  /** Changed lines of code, and the files they are in. */
  readonly lines: number;
  readonly files: number;
  /** The commands, the fastest first. */
  readonly checks: readonly string[];
  readonly seconds: number;
  /** What was left out, and why. */
  readonly notes: readonly string[];
}

/** Rounded down: 100 means that there is no survivor. */
export function mutationScore(mutants: number, survivors: number): number | null {
  return mutants === 0 ? null : Math.floor((100 * (mutants - survivors)) / mutants);
}

/** A reader is not helped by the eighth in one file. */
const SHOWN_PER_FILE = 7;

/** Those to show, and how many more each file has. */
export function shownSurvivors(survivors: readonly Survivor[]): {
  readonly shown: readonly Survivor[];
  readonly more: readonly { readonly file: string; readonly count: number }[];
} {
  const files = [...new Set(survivors.map(({ file }) => file))];
  const of = (file: string) => survivors.filter(each => each.file === file);
  return {
    shown: files.flatMap(file => of(file).slice(0, SHOWN_PER_FILE)),
    more: files
      .map(file => ({ file, count: of(file).length - SHOWN_PER_FILE }))
      .filter(({ count }) => count > 0),
  };
}

/** For people, in one line. */
export function mutationWords({ score, mutants, survivors }: Mutation): string {
  if (score === null) return 'no line in which a fault could be tried';
  return `${score} %: ${mutants - survivors.length} of ${mutants} faults in the changed lines noticed`;
}

/** To the agent, in its next prompt. Nothing where there is no survivor. */
export function mutationFeedback(survivors: readonly Survivor[], checks: readonly string[]): string {
  const { shown, more } = shownSurvivors(survivors);
  const [first] = shown;
  if (!first) return '';
  const green = `${checks.map(quoteCode).join(', ')} stayed green`;
  const named = ({ file, line, change }: Survivor) => `${quoteCode(`${file}:${line}`)}, ${change}`;
  if (shown.length === 1)
    return `Your checks would not notice this: ${named(first)}; ${green}. Add a test that fails for it, or say in one sentence why it makes no difference.`;
  return [
    `Your checks would not notice these changes; ${green}:`,
    ...shown.map(each => `- ${named(each)}`),
    ...more.map(({ file, count }) => `- and ${count} more in ${quoteCode(file)}`),
    'Add a test that fails for each, or say in one sentence why it makes no difference.',
  ].join('\n');
}

/** Code in a sentence, in as many backticks as it takes. */
export function quoteCode(code: string): string {
  if (!code.includes('`')) return `\`${code}\``;
  const longest = Math.max(...(code.match(/`+/g) ?? []).map(run => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${code} ${fence}`;
}
