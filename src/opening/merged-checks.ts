/** The checks of a run once more, on the tree that its work and the user's branch make together. */
import type { CheckResult } from '../domain/checks/check.ts';
import type { Emit } from '../domain/run/event.ts';
import { knownEntry } from '../domain/run/ledger-entry.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { HIDDEN } from '../domain/text/secret-formats.ts';
import type { Checkout } from '../proof/prove.ts';
import { checksOf, createBaseline } from '../run/turns/check-round.ts';
import { cleanCheckout } from '../run/turns/prover.ts';
import { openJournal, readJournal } from '../store/journal.ts';
import { lendIgnored } from '../workspace/beside-tree.ts';
import { includeFiles } from '../workspace/worktree-include.ts';
import type { EndedRun, Leavings } from './leavings.ts';
import { proveOutside } from './prove-outside.ts';

export interface CheckWatch {
  /** Ends what runs. */
  readonly abort: AbortSignal;
  /** Sees each check begin. */
  begins(command: string): void;
}

/** In a clean checkout of the merged tree, as the run had them. */
export async function checkMerged(
  run: EndedRun,
  found: Leavings,
  commit: string,
  { abort, begins }: CheckWatch,
): Promise<readonly CheckResult[] | Problem> {
  const { settings, past } = run;
  const commands = commandsOf(run, found);
  if (isProblem(commands)) return commands;
  const flaw = flawOf(run, commands);
  if (flaw || commands.length === 0) return flaw ?? [];
  const { own } = found;
  const tree = await own.treeOf(commit);
  if (isProblem(tree)) return tree;
  const emit: Emit = event => {
    if (event.type === 'check-started') begins(event.command);
  };
  const where = await checkoutOf(run, found, tree);
  if (isProblem(where)) return where;
  const checks = checksOf(commands, settings);
  const baseline = createBaseline({ emit, checks: () => checks, excused: settings.baselineUngated });
  baseline.recall(past.baseline);
  const results = await proveOutside({ ...run, ended: past.time.latest, emit, abort }, checks, where);
  return isProblem(results) ? results : results.map(baseline.excuse);
}

/** Clean where the run's own proof was; else with what git ignores where the run has worked, such as installed packages. */
async function checkoutOf(
  { settings, env, paths, past, project }: EndedRun,
  { own, kind, worktree }: Leavings,
  tree: string,
): Promise<Checkout | Problem> {
  if (kind === 'parallel' || settings.proof !== 'place' || settings.setup !== undefined) {
    const recall = past.prepared?.included ?? null;
    const included = await includeFiles({ cwd: project.root, env, keepIn: paths.state.kept, recall });
    if (isProblem(included)) return included;
    return { own, tree, ...cleanCheckout({ settings, protection: undefined }, included) };
  }
  return { own, tree, fill: folder => lendIgnored(worktree?.own ?? own, folder) };
}

/** Of a parallel run those that what has landed was checked with: stories that have not landed have checks of their own. */
function commandsOf(
  { id, paths, past, settings }: EndedRun,
  { kind, from }: Leavings,
): readonly string[] | Problem {
  if (kind !== 'parallel') return past.head?.checks ?? settings.checks;
  let last: readonly CheckResult[] | undefined;
  readJournal(openJournal(paths), entry => {
    const known = knownEntry(entry);
    if (known?.type === 'candidate-checked' && known.passed) last = known.results;
  });
  if (last) return last.filter(({ isSetup }) => !isSetup).map(({ command }) => command);
  const fix = `run the checks yourself, and merge ${from} with git`;
  return { where: id, what: 'its ledger does not say how it was checked: it has been cut off', fix };
}

function flawOf({ id, file }: EndedRun, commands: readonly string[]): Problem | undefined {
  const fix = 'run the checks yourself, and merge it with git';
  const own = file.given?.program?.find(name => commands.some(command => name === `the check ${command}`));
  if (own !== undefined)
    return { where: id, what: `${own} is a function of the program that started it`, fix };
  const hidden = commands.some(command => command.includes(HIDDEN));
  return hidden
    ? { where: id, what: 'a secret in one of its checks was not kept, so it cannot be run', fix }
    : undefined;
}
