/** Runs the checks of an iteration so that what they saw is what is handed over, and once more in a clean checkout where that is asked for. */
import type { RoundChanges } from '../checks/run-checks.ts';
import { type CheckResult, isGreen } from '../domain/check.ts';
import type { Emit } from '../domain/event.ts';
import { listSome } from '../domain/feedback.ts';
import { isProblem } from '../domain/problem.ts';
import { type LoopPlan, warn } from '../engine/plan.ts';
import { type InputWatch, watchCheckInputs } from '../workspace/check-inputs.ts';
import { watchHidden } from '../workspace/hidden-files.ts';
import type { Included } from '../workspace/include.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import type { Protection } from '../workspace/protect.ts';
import { shownPath } from '../workspace/repository.ts';
import { createCheckKeeping } from './check-keeper.ts';
import { notMade, proveClean } from './clean-proof.ts';
import type { PlanParts } from './plan-parts.ts';

export interface ProverParts extends PlanParts {
  readonly protection: Protection | undefined;
  /** undefined: no clean proof was asked for. */
  readonly included: Included | undefined;
}

export interface Prover {
  readonly inputs: InputWatch;
  readonly steps: Required<Pick<LoopPlan, 'check' | 'checked'>> & Pick<LoopPlan, 'proveClean'>;
}

/** `run` is one round of these checks. */
export function createProver(
  parts: ProverParts,
  commands: readonly string[],
  run: (iteration: number, more: RoundChanges) => Promise<readonly CheckResult[]>,
): Prover {
  const { cwd, env, included } = parts;
  const inputs = watchCheckInputs({ cwd, env, commands });
  const keeping = createCheckKeeping({ ...parts, inputs });
  let snapshot: string | undefined;
  let unsettled: readonly string[] = [];
  let inputsChanged: readonly string[] = [];
  const own = async (): Promise<OwnGit | undefined> => {
    const opened = commands.length === 0 ? undefined : await openOwnGit({ cwd, env });
    return opened === undefined || isProblem(opened) ? undefined : opened;
  };
  const tell = createTeller(parts.emit);
  const look = watchHidden();
  const steps: Prover['steps'] = {
    async check(iteration) {
      const tree = await own();
      const round = (flaked: Flaked) => run(iteration, { keep: keeping.keeper(iteration), flaked });
      keeping.takeChanged();
      const ended = await untilSettled(tree, round);
      ({ snapshot, unsettled } = ended);
      const hidden = tree ? await hiddenNow(parts, tree, look) : [];
      inputsChanged = [...keeping.takeChanged(), ...hidden].sort();
      tell('What the checks rest on was changed', inputsChanged, 'Look at it, or protect it: --protect.');
      tell('The checks change files each time they run', unsettled, 'Have git ignore what they write.');
      return ended.results;
    },
    checked: () => ({
      ...(snapshot !== undefined && { snapshot }),
      ...(unsettled.length > 0 && { unsettled }),
      ...(inputsChanged.length > 0 && { inputsChanged }),
    }),
    ...(included && {
      async proveClean(iteration) {
        const tree = await own();
        const checkedTree = snapshot;
        const world = tree && { ...parts, included, own: tree, keeping, run };
        const results =
          world && checkedTree !== undefined
            ? await proveClean(world, iteration, checkedTree)
            : [notMade('the files cannot be looked at through git')];
        inputsChanged = [...new Set([...inputsChanged, ...keeping.takeChanged()])].sort();
        // What reached out of the checkout has changed what is handed over.
        const reached = (await treeOf(tree)) !== checkedTree;
        const ended = reached
          ? results.map(result => ({ ...result, passed: false, voided: REACHED }))
          : results;
        for (const result of ended)
          if (reached || result.index < 0) parts.emit({ type: 'check-ended', result });
        return ended;
      },
    }),
  };
  return { inputs, steps };
}

/** What is ignored is not handed over: a check that needs it proves nothing about what is. */
async function hiddenNow(
  { past }: ProverParts,
  own: OwnGit,
  look: ReturnType<typeof watchHidden>,
): Promise<readonly string[]> {
  const { start } = past().prepared ?? {};
  if (!start) return [];
  return (await look(own, start.tree)).map(path => `${shownPath(path)} (a new rule hides it from git)`);
}

/** Says each thing once: it is in the result as well. */
function createTeller(emit: Emit) {
  const told = new Set<string>();
  return (what: string, paths: readonly string[], next: string) => {
    const text = `${what}: ${listSome(paths)}. ${next}`;
    if (paths.length === 0 || told.has(text)) return;
    told.add(text);
    warn(emit, text);
  };
}

/** What the checks of this iteration saw; undefined: there were none, or the files are not in git. */
export function checkedTree({ past }: PlanParts): string | undefined {
  return past().open?.judged?.snapshot;
}

/** Forgets what was kept for the checks. */
export function release({ protection, included }: ProverParts): void {
  protection?.close();
  included?.close();
}

const REACHED = 'files of the work tree changed while the checks ran in a clean checkout';

type Flaked = ReadonlyMap<number, number>;

interface Settled {
  readonly results: readonly CheckResult[];
  /** The tree that the last round saw from its first check to its last. */
  readonly snapshot: string | undefined;
  readonly unsettled: readonly string[];
}

/** Where checks changed files, the first of them saw others than the last: they run once more on what they left. */
async function untilSettled(
  own: OwnGit | undefined,
  round: (flaked: Flaked) => Promise<readonly CheckResult[]>,
): Promise<Settled> {
  let before = await treeOf(own);
  let flaked: Flaked = new Map();
  for (let again = false; ; again = true) {
    const results = await round(flaked);
    const after = await treeOf(own);
    const isSettled = before === after || !own || before === undefined || after === undefined;
    if (isSettled || !isGreen(results)) return { results, snapshot: after, unsettled: [] };
    if (again) return { results, snapshot: after, unsettled: await changes(own, before ?? '', after ?? '') };
    before = after;
    flaked = new Map(results.map(result => [result.index, result.flaked ?? 0]));
  }
}

async function treeOf(own: OwnGit | undefined): Promise<string | undefined> {
  const taken = await own?.snapshot();
  return taken === undefined || isProblem(taken) ? undefined : taken.tree;
}

async function changes(own: OwnGit, before: string, after: string): Promise<readonly string[]> {
  const paths = await own.changedPaths(before, after);
  return isProblem(paths) ? ['files that cannot be named'] : paths.map(({ path }) => shownPath(path));
}
