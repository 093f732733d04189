/** Proves the work of an iteration: in the work tree, and before a run is done once more on what is handed over. */
import { basename } from 'node:path';
import { type Check, type CheckResult, isGreen } from '../../domain/checks/check.ts';
import type { Emit } from '../../domain/run/event.ts';
import { listSome } from '../../domain/text/feedback.ts';
import { formatProblem, isProblem, type Problem } from '../../domain/text/problem.ts';
import { linkOver } from '../../platform/files.ts';
import { createIntegrityWatch } from '../../proof/integrity.ts';
import { type Checkout, notMade, type Proving, prove } from '../../proof/prove.ts';
import { beganAt } from '../../store/run-file.ts';
import { besideTree, lendIgnored, unkept } from '../../workspace/beside-tree.ts';
import { type InputWatch, watchCheckInputs } from '../../workspace/check-inputs.ts';
import { planCommit } from '../../workspace/commit-plan.ts';
import { type HiddenWatch, listOthers, watchHidden } from '../../workspace/hidden-files.ts';
import { type OwnGit, openOwnGit } from '../../workspace/own-git.ts';
import type { Snapshot } from '../../workspace/own-index.ts';
import { SUBMODULE } from '../../workspace/own-objects.ts';
import { isRalphs, isUnderGit, shownPath } from '../../workspace/repository.ts';
import type { Included } from '../../workspace/worktree-include.ts';
import { type Steps, warn } from '../steps.ts';
import type { RunContext } from './context.ts';
import { timeLeft } from './goal.ts';

/** What is to be proven. */
export interface Wanted {
  /** All commands that there may be: what they rest on is watched. */
  readonly commands: readonly string[];
  /** Those of this round. */
  checks(): readonly Check[];
  /** What a result is on the ledger too: excused, under another number. */
  as?(result: CheckResult): CheckResult;
  /** Whether the run could be done with this round; absent: where the agent says so. */
  mayBeDone?(): boolean;
  /** As `ralph run` has its checks: one after the other, once, with their logs where seed 001 has them. */
  readonly areGuardrails?: true;
}

export interface Prover {
  readonly inputs: InputWatch;
  readonly steps: Required<Pick<Steps, 'check' | 'checked' | 'confirm' | 'proveHandedOver'>>;
  /** The files as the last round left them: to save another look. */
  look(): Snapshot | undefined;
  /** Looks for what git ignores and did not ignore when the run began. */
  readonly hiddenIn: HiddenWatch;
}

/** A round of checks, and the files before and after it; undefined: there is no check, or the files are not in git. */
interface Round {
  readonly results: readonly CheckResult[];
  /** Undefined, too, where the run could not be done with this round. */
  readonly before?: Snapshot | undefined;
  readonly after?: Snapshot | undefined;
  /** Files that the checks change each time. */
  readonly unstable: readonly string[];
  /** What the index does not have, where somebody asked. */
  readonly others?: readonly string[];
}

export function createProver(parts: RunContext, wanted: Wanted): Prover {
  const { cwd, env, emit } = parts;
  const { commands, as = result => result } = wanted;
  const inputs = watchCheckInputs({ cwd, env, commands });
  const watch = createIntegrityWatch({ ...parts, inputs });
  const { own, lookAt, unseen } = createLooks(parts, commands.length > 0);
  const [{ tell, tellMeanwhile }, hiddenIn] = [createTeller(emit), watchHidden()];
  let last: Round = { results: [], unstable: [] };
  let inputsChanged: readonly string[] = [];
  const run = async (iteration: number, where?: Checkout, more?: Pick<Proving, 'flaked'>) =>
    (await proveBeside(parts, { ...provingOf(parts, iteration, wanted), watch, ...more }, where)).map(as);
  const addInputs = (more: readonly string[] = []) => {
    inputsChanged = [...new Set([...inputsChanged, ...watch.takeChanged(), ...more])].sort();
    tell(inputsChanged, last.unstable);
  };
  const keep = (round: Round) => {
    last = round;
    addInputs();
  };
  /** What is not in git at all: one walk more. */
  const lookBeside = async (tree: OwnGit | undefined) => {
    last = { ...last, ...(await othersNow(parts, tree, last)) };
    return hiddenNow(parts, tree, last, hiddenIn);
  };
  const steps: Prover['steps'] = {
    async check(iteration) {
      const tree = await own();
      watch.takeChanged();
      inputsChanged = [];
      const before = needsBefore(parts, wanted) ? await lookAt(tree) : undefined;
      keep({ results: await run(iteration), before, after: await lookAt(tree), unstable: [] });
      if (parts.isExposed) tellMeanwhile(await changedIn(last, tree));
      // Where git sees no work at all, it may have been hidden; else that is looked for when the run could be done.
      if (last.after?.tree === parts.past().prepared?.start?.tree) addInputs(await lookBeside(tree));
      return last.results;
    },
    async confirm(iteration) {
      const { results, before, after } = last;
      const seen = voided(emit, results, unseen() ?? (await committedOtherwise(parts)));
      const tree = await own();
      const isStable = seen !== results || !tree || !after || before?.tree === after.tree;
      const again = () => run(iteration, undefined, { flaked: flakedIn(results) });
      if (!isStable) keep(await secondRound(tree, after, await again(), await lookAt(tree)));
      addInputs([...(await lookBeside(tree)), ...(await unkeptNow(parts, tree, last))]);
      return isStable ? seen : voided(emit, last.results, unseen());
    },
    checked: () => checkedOf(last, inputsChanged),
    async proveHandedOver(iteration) {
      const [tree, checked] = [await own(), last.after?.tree];
      const where = tree && checked !== undefined ? await handedOver(parts, tree, checked) : undefined;
      if (!parts.included && !where?.without.length) return undefined;
      const results = where ? await run(iteration, where) : [notMade(UNSEEN)];
      addInputs();
      if ((await lookAt(tree))?.tree !== checked) return voided(emit, results, REACHED);
      for (const result of results) if (result.index < 0) emit({ type: 'check-ended', result });
      return results;
    },
  };
  return { inputs, steps, look: () => last.after, hiddenIn };
}

/** Not what they were before. */
async function changedIn({ before, after }: Round, own: OwnGit | undefined): Promise<readonly string[]> {
  return own && before && after ? changes(own, before.tree, after.tree) : [];
}

/** Else nobody asks what the files were before the checks ran: one look at them all is saved. */
function needsBefore({ past, isExposed }: RunContext, { mayBeDone }: Wanted): boolean {
  return isExposed || (mayBeDone?.() ?? past().open?.turn?.claim.found === true);
}

function checkedOf({ after, unstable }: Round, inputsChanged: readonly string[]) {
  return {
    ...(after && { snapshot: after.tree }),
    ...(unstable.length > 0 && { unstable }),
    ...(inputsChanged.length > 0 && { inputsChanged }),
  };
}

function flakedIn(results: readonly CheckResult[]): ReadonlyMap<number, number> {
  return new Map(results.map(result => [result.index, result.flaked ?? 0]));
}

/** The round after one that changed files: green, it must leave them as it found them. */
async function secondRound(
  own: OwnGit,
  before: Snapshot,
  results: readonly CheckResult[],
  after: Snapshot | undefined,
): Promise<Round> {
  const unstable = after && isGreen(results) ? await changes(own, before.tree, after.tree) : [];
  return { results, before, after, unstable };
}

/** Beside the rounds of other lanes, where there are some. */
function proveBeside({ gate }: RunContext, proving: Proving, where: Checkout | undefined) {
  const round = () => prove(proving, where);
  return gate ? gate.beside(round) : round();
}

/** Looks at the files through git, where they are in it. A look that fails is remembered: what nobody could look at proves nothing. */
function createLooks({ cwd, env, past }: RunContext, isWanted: boolean) {
  let problem: Problem | undefined;
  const seen = <Found>(found: Found | Problem | undefined): Found | undefined => {
    if (!isProblem(found)) return found;
    problem = found;
    return undefined;
  };
  return {
    async own(): Promise<OwnGit | undefined> {
      problem = undefined;
      if (!isWanted) return undefined;
      if (isUnderGit(cwd)) return seen(await openOwnGit({ cwd, env }));
      if (past().prepared?.start) problem = { where: cwd, what: 'its git repository is gone' };
      return undefined;
    },
    lookAt: async (own: OwnGit | undefined) => seen(await own?.snapshot()),
    /** Why the last ones failed; undefined: they did not. */
    unseen: () => problem && `the files cannot be looked at: ${formatProblem(problem)}`,
  };
}

const UNSEEN = 'the files cannot be looked at through git';

/** Whatever they have shown counts for nothing, if there is a reason. */
function voided(
  emit: Emit,
  results: readonly CheckResult[],
  why: string | undefined,
): readonly CheckResult[] {
  if (why === undefined) return results;
  const ended = results.map(each => ({ ...each, passed: false, voided: why }));
  for (const result of ended) emit({ type: 'check-ended', result });
  return ended;
}

/**
 * What may not change is as it was in the files, and may be otherwise in a commit of the agent, which is on the user's branch then. Where Ralph
 * commits, that is put right; of a lane no commit of its own is handed over.
 */
async function committedOtherwise({ protection, settings, isLane }: RunContext): Promise<string | undefined> {
  const isOurs = isLane || settings.scm?.tasks?.some(task => task.trim() === 'commit');
  return isOurs ? undefined : protection?.committed();
}

const REACHED = 'files of the work tree changed while the checks ran in a clean checkout';

const ERROR_CHARS = 2_000;

/** A round of these checks, as the settings want it. */
export function provingOf(
  parts: RunContext,
  iteration: number,
  { checks, as = result => result, areGuardrails }: Omit<Wanted, 'commands'>,
): Omit<Proving, 'watch'> {
  const { settings, project, emit } = parts;
  return {
    ...parts,
    ...timeLeft(parts),
    emit: event => emit(event.type === 'check-ended' ? { ...event, result: as(event.result) } : event),
    checks: checks(),
    iteration,
    paths: parts.paths.iteration(iteration),
    root: project.root,
    ...(areGuardrails
      ? {
          publish(log: string, slug: string) {
            const published = project.guardrailLog(iteration, slug);
            linkOver(log, published);
            return published;
          },
          excerpt: { chars: settings.outputTruncateChars, from: 'head' },
          parallel: false,
          retries: 0,
        }
      : {
          excerpt: { chars: ERROR_CHARS, from: 'tail' },
          parallel: settings.checkParallel,
          retries: settings.checkRetries,
        }),
  };
}

/** A clean checkout of a tree, with what `.worktreeinclude` names as it was at the start. */
export function cleanCheckout(
  { settings: { setup, setupTimeout }, protection }: Pick<RunContext, 'settings' | 'protection'>,
  included: Included,
): Pick<Checkout, 'clean' | 'setup' | 'fill' | 'protection'> {
  return {
    clean: true,
    fill: included.copyTo,
    protection,
    ...(setup !== undefined && { setup: { command: setup, failAction: 'APPEND', timeout: setupTimeout } }),
  };
}

/** What is red proves nothing anyway, and is not asked about. */
async function othersNow(
  { past }: RunContext,
  own: OwnGit | undefined,
  { results }: Round,
): Promise<Pick<Round, 'others'>> {
  return own && past().prepared?.start && isGreen(results) ? { others: await listOthers(own) } : {};
}

/** What is ignored is not handed over: a check that needs it proves nothing about what is. */
async function hiddenNow(
  { past }: RunContext,
  own: OwnGit | undefined,
  { others }: Round,
  look: HiddenWatch,
): Promise<readonly string[]> {
  const { start } = past().prepared ?? {};
  if (!own || !start || !others) return [];
  return (await look(own, start, others)).map(path => `${shownPath(path)} (a new rule hides it from git)`);
}

/** What was checked in place and is handed over as something else. A clean proof is of what is handed over. */
async function unkeptNow(
  { past, included, project, paths }: RunContext,
  own: OwnGit | undefined,
  { others, after }: Round,
): Promise<readonly string[]> {
  const { start } = past().prepared ?? {};
  if (!own || !after || !start || included || !others) return [];
  return unkept(own, { start: start.tree, since: beganAt(project, paths) }, { tree: after.tree, others });
}

/** Says each thing once: it is in the result as well. */
function createTeller(emit: Emit) {
  const reported = new Set<string>();
  const tell = (what: string, paths: readonly string[], next: string) => {
    const text = `${what}: ${listSome(paths)}. ${next}`;
    if (paths.length === 0 || reported.has(text)) return;
    reported.add(text);
    warn(emit, text);
  };
  return {
    tell(inputsChanged: readonly string[], unstable: readonly string[]) {
      tell('What the checks rest on was changed', inputsChanged, 'Look at it, or protect it: --protect.');
      tell('The checks change files each time they run', unstable, 'Have git ignore what they write.');
    },
    tellMeanwhile: (paths: readonly string[]) =>
      tell(
        'Changed while the checks ran, by them or by another lane',
        paths,
        'Look at it before you keep it.',
      ),
  };
}

/** What the checks of this iteration saw; undefined: there were none, or the files are not in git. */
export function checkedTree({ past }: RunContext): string | undefined {
  return past().open?.judged?.snapshot;
}

async function changes(own: OwnGit, before: string, after: string): Promise<readonly string[]> {
  if (before === after) return [];
  const paths = await own.changedPaths(before, after);
  return isProblem(paths) ? ['files that cannot be named'] : paths.map(({ path }) => shownPath(path));
}

interface Handed extends Checkout {
  readonly without: readonly string[];
}

/**
 * A checkout of what the run hands over: the tree of its commit, where it makes one, else the tree that was checked. Where no clean proof
 * was asked for and a commit leaves something out, what git ignores is lent to it from the work tree: then it proves of the commit what
 * was asked for. `checked`: what the checks saw in the work tree.
 */
async function handedOver(parts: RunContext, own: OwnGit, checked: string): Promise<Handed> {
  const { tree, without } = (await committedTree(parts, own, checked)) ?? { tree: checked, without: [] };
  const { included, protection } = parts;
  const lend = { protection, fill: (folder: string) => lendIgnored(own, folder) };
  // No snapshot names submodules: they are those of the commit that the work is on.
  const links = included && tree === checked ? await own.treeOf((await own.head()).commit) : tree;
  const named = isProblem(links) ? {} : { links };
  return { own, tree, without, ...(included ? { ...cleanCheckout(parts, included), ...named } : lend) };
}

interface Committed {
  readonly tree: string;
  /** What of the work tree is not in it, each with the reason. */
  readonly without: readonly string[];
}

/** undefined: there is no commit, or its task will fail and say why. */
async function committedTree(
  { settings: { scm, commitDirty }, past }: RunContext,
  own: OwnGit,
  checked: string,
): Promise<Committed | undefined> {
  const isCommit = (task: string) => task.trim() === 'commit';
  if (!scm?.tasks?.some(isCommit) || basename(scm.command ?? '') !== 'git') return undefined;
  const { open, scm: done = [], prepared } = past();
  // The commit of this iteration, which is judged again.
  const isMade = open?.tasks.find(({ task }) => isCommit(task))?.outcome === 'done';
  const made = isMade ? done.find(({ task }) => isCommit(task))?.commit : undefined;
  if (made !== undefined) return committed(own, made, checked);
  const plan = await planCommit(own, { start: prepared?.start, checked, commitDirty });
  if (isProblem(plan)) return undefined;
  const { tree, left, yours } = plan;
  return { tree, without: [...left, ...yours] };
}

async function committed(own: OwnGit, commit: string, checked: string): Promise<Committed | undefined> {
  const tree = await own.treeOf(commit);
  if (isProblem(tree)) return undefined;
  const [changed, beside] = [await own.changedPaths(tree, checked), await besideTree(own, tree, checked)];
  if (isProblem(changed) || isProblem(beside)) return undefined;
  const others = changed.filter(
    ({ path, before }) => !isRalphs(path, own.root) && before?.mode !== SUBMODULE,
  );
  const without = others.map(
    ({ path }) => `${shownPath(path)} (the commit has it as it was, or as a hook or filter made it)`,
  );
  return { tree, without: [...without, ...beside.left] };
}
