/** The steps that every job takes the same way: what is different between them is a field. */
import type { EndedTurn, Prepared, RunStart } from '../../domain/run/event.ts';
import { budgetSpent } from '../../domain/run/limits.ts';
import { COMMIT_PROMPT } from '../../domain/run/prompt.ts';
import type { RunState, TaskState } from '../../domain/run/state.ts';
import { defined } from '../../domain/text/fields.ts';
import { formatProblem, isProblem } from '../../domain/text/problem.ts';
import { filterEnv } from '../../domain/text/secrets.ts';
import { textsOf } from '../../domain/turn/claim.ts';
import { addUsage, type Usage } from '../../domain/turn/usage.ts';
import { ensureFolder, linkOver, writePrivate } from '../../platform/files.ts';
import { changedTests } from '../../workspace/changed-tests.ts';
import type { Look } from '../../workspace/changes.ts';
import { accumulatedDiff } from '../../workspace/diff.ts';
import { listOthers } from '../../workspace/hidden-files.ts';
import { openOwnGit } from '../../workspace/own-git.ts';
import { runScmTasks } from '../../workspace/scm.ts';
import { readStatus } from '../../workspace/tree-status.ts';
import type { TreeWatch } from '../../workspace/tree-watch.ts';
import { type Steps, warn } from '../steps.ts';
import { currentAgent } from './agent-pool.ts';
import { deadlines, oneTurn } from './agent-turn.ts';
import { takeAttempts } from './attempts.ts';
import { takeExtra } from './budget.ts';
import type { RunContext } from './context.ts';
import { lostBranch } from './lost-branch.ts';
import { undoOthers } from './others.ts';
import { createPausing, type Held, preparedWith, recallInputs } from './pausing.ts';
import { checkedTree, type Prover } from './prover.ts';
import { isApart, returnSteps } from './return.ts';
import { keepYours, noteYours } from './yours.ts';

export interface OwnSteps {
  readonly tree: TreeWatch;
  readonly prover: Prover;
  /** What the user may change while the run is paused. */
  readonly held?: Held;
  /** Before the first iteration, when the files have been looked at: what runs now may change them. */
  begin?(): Promise<void>;
  /** Instead of it, when that was done before the run was cut off. */
  recall?(past: RunState): Promise<void>;
  /** Before an iteration, as in `Steps`. */
  ready?: Steps['ready'];
  /** A folder whose files are the run's own business, from where the agent works. */
  readonly apart?: string;
  /** How many characters of the prompt are the user's own. */
  userChars(): number;
  /** The same context with another agent, where that is not the one of the run. */
  who?(): RunContext;
  /** Before each attempt at a turn. */
  begins?(iteration: number): void;
}

type Base =
  | ('prepare' | 'recall' | 'ready' | 'turn' | 'restore' | 'look' | 'commit' | 'lookBack')
  | ('planReturn' | 'goBack');

export function baseSteps(
  context: RunContext,
  own: OwnSteps,
): Prover['steps'] & Required<Pick<Steps, Base>> & Pick<Steps, 'undoOthers' | 'lostBranch'> {
  const { budget } = context;
  const { tree, held, prover } = own;
  const { inputs } = prover;
  const pausing = createPausing({ ...context, inputs }, tree, held ?? { hold() {}, release() {} });
  return {
    ...prover.steps,
    async prepare() {
      const prepared = preparedWith(await tree.start(), context, inputs.take());
      if (own.begin) {
        await own.begin();
        tree.touched();
        if (context.isExposed) await tree.look();
      }
      return { ...prepared, ...defined({ start: await beginningOf(context, own) }) };
    },
    async recall(past, prepared): Promise<Prepared> {
      tree.recall(prepared.tree);
      await own.recall?.(past);
      return preparedWith(prepared.tree, context, recallInputs(inputs, past, prepared));
    },
    // A run that belongs to others may not begin a turn, or spend, without them.
    ready() {
      const answer = own.ready?.() ?? 'yes';
      return answer === 'yes' ? (budget?.reserve() ?? 'yes') : answer;
    },
    ...(context.isExposed && { undoOthers: () => undoMeanwhile(context, own) }),
    async turn(iteration, prompt) {
      const begins = own.begins && (() => own.begins?.(iteration));
      const work = { iteration, prompt, userChars: own.userChars(), ...(begins && { begins }) };
      const ended = await workTurn(own.who?.() ?? context, work);
      budget?.charge(ended);
      return ended;
    },
    restore: pausing.restore,
    async look() {
      const seen = await tree.look(prover.look());
      await keepChanges(context, tree.status());
      return seen;
    },
    checked: () => ({
      ...defined({ files: prover.look() ? undefined : tree.checked() }),
      ...prover.steps.checked(),
    }),
    commit: (iteration, before) => commitChecked(context, tree, iteration, before),
    ...returnSteps(context, {
      ...{ tree, apart: own.apart },
      commit: (checked, message) =>
        commitWork(context, context.past().last?.number ?? 0, [], checked, message),
    }),
    lookBack: () => lookBack(context, tree),
    // Where the branch of a lane stands is nothing that Ralph builds on.
    ...(!context.isLane && { lostBranch: () => lostBranch(context) }),
  };
}

async function undoMeanwhile(context: RunContext, { tree, apart }: OwnSteps): Promise<void> {
  const seen = tree.checked();
  const place = await openOwnGit(context);
  const problem = isProblem(place)
    ? place
    : seen !== undefined && (await undoOthers(context, place, seen, isApart(place, apart)));
  if (problem)
    warn(context.emit, `Whether others have written into this lane is not known: ${formatProblem(problem)}.`);
}

async function commitChecked(
  context: RunContext,
  tree: TreeWatch,
  iteration: number,
  before: readonly TaskState[],
): Promise<boolean> {
  if (context.settings.scm?.tasks?.some(mayTouch)) tree.touched();
  const isOver = await commitWork(context, iteration, before, checkedTree(context) ?? tree.checked());
  // What its own hooks have done is nobody else's.
  if (context.isExposed) await tree.look();
  return isOver;
}

/** Neither changes a file. What a hook does, or the agent when it is asked for a message, is seen at the next look. */
const mayTouch = (task: string) => !/^(commit|push)\b/.test(task.trim());

/** Where the repository stands: what is in it by then is the user's own. */
async function beginningOf(context: RunContext, own: OwnSteps): Promise<RunStart | undefined> {
  const { start, cwd, env } = context;
  if (!start) return undefined;
  const status = own.tree.status() ?? (await readStatus({ cwd, env }));
  if (isProblem(status)) return undefined;
  const { tree, head = null, branch = null } = status;
  const dirty = await noteYours(context, status, own.apart);
  const hidden = await own.prover.hiddenIn(status.own, { tree }, await listOthers(status.own));
  return {
    ...{ tree, head, branch },
    ...defined({ staged: start.staged }),
    ...(dirty.length > 0 && { dirty }),
    ...(hidden.length > 0 && { hidden }),
  };
}

/** Of a turn that was not judged nobody has looked at the files yet. */
async function lookBack(context: RunContext, tree: TreeWatch) {
  const { past, cwd, env } = context;
  const { open, prepared } = past();
  const own = prepared?.start && (await openOwnGit({ cwd, env }));
  if (!own || isProblem(own) || !prepared?.start) return [];
  const known = open && !open.judged ? undefined : tree.checked();
  const now = known === undefined ? await own.snapshot() : { tree: known };
  if (isProblem(now)) return [];
  if (open?.turn && 'nested' in now) await keepChanges(context, { ...now, own });
  const changed = await own.changedPaths(prepared.start.tree, now.tree);
  if (isProblem(changed)) return [];
  await keepYours(context, own, prepared.start, changed);
  return changedTests(own, changed);
}

interface WorkTurn {
  readonly iteration: number;
  readonly prompt: string;
  readonly userChars: number;
  /** Before each attempt. */
  begins?(): void;
}

/** The turn in which the work is done, with its prompt on record and its limits kept from inside. */
export async function workTurn(context: RunContext, work: WorkTurn): Promise<EndedTurn> {
  const { settings, project } = context;
  const { rule, limits } = context.goal;
  const { iteration, prompt } = work;
  const paths = context.paths.iteration(iteration);
  ensureFolder(paths.folder);
  writePrivate(paths.prompt, prompt);
  linkOver(paths.prompt, project.prompt(iteration));
  const before = context.past().totals.usage;
  return takeAttempts(context, iteration, ({ number, world, used }) => {
    const files = number === 1 ? paths : paths.attempt(number);
    work.begins?.();
    return oneTurn(world, {
      iteration,
      prompt,
      userChars: work.userChars,
      purpose: 'work',
      ...(number > 1 && { attempt: number }),
      rule,
      mode: settings.streamAgentOutput ? 'stream' : 'text',
      rawFile: files.agent,
      errorFile: files.agentErrors,
      deadlines: deadlines(settings, context.meter.elapsed()),
      overBudget: usage =>
        budgetSpent(limits, sumOf(before, used, usage)) ??
        context.budget?.overdrawn(sumOf(undefined, used, usage)),
    });
  });
}

function sumOf(before: Usage | undefined, used: Usage | undefined, now: Usage): Usage {
  const attempts = used ? addUsage(used, now) : now;
  return before ? addUsage(before, attempts) : attempts;
}

/** As much as is shown of a commit in one line. */
const SUBJECT = 72;

/** Asks the agent for a commit message and runs the tasks of source control. False: they were cut off with the run. */
async function commitWork(
  context: RunContext,
  iteration: number,
  before: readonly TaskState[],
  checked: string | undefined,
  message?: string,
): Promise<boolean> {
  const { scm } = context.settings;
  const { rule, limits } = context.goal;
  // Nothing but a commit has a message that is known before.
  const tasks = (scm?.tasks ?? []).filter(task => message === undefined || task.trim() === 'commit');
  if (!scm?.command || tasks.length === 0) return true;
  const paths = context.paths.iteration(iteration);
  const askForMessage = async () => {
    const { usage: spent } = context.past().totals;
    const overBudget = (used?: Usage) =>
      budgetSpent(limits, sumOf(spent, undefined, used ?? { costSource: 'unknown' })) ??
      (used && context.budget?.overdrawn(used));
    // A commit has words of its own where there is no money for better ones.
    if (overBudget()) return undefined;
    const report = await takeExtra(context.budget, context.stopping, () =>
      oneTurn(
        { ...context, agent: currentAgent(context.roster) },
        {
          purpose: 'commit-message',
          iteration,
          prompt: COMMIT_PROMPT,
          rule,
          mode: 'text',
          rawFile: `${paths.folder}/commit-message.txt`,
          errorFile: paths.agentErrors,
          deadlines: deadlines(context.settings, 0),
          overBudget,
        },
      ),
    );
    return report?.outcome.kind === 'completed' ? report.turn.lastWords : undefined;
  };
  const { command } = scm;
  const { cwd, abort, emit } = context;
  // Hooks of the repository see it.
  const env = filterEnv(context.env, { hide: [] });
  const { title, runId = '' } = context.past().head ?? {};
  const { words, wall, checks } = context.sandbox ?? {};
  const isSandboxed = words !== undefined;
  return runScmTasks({
    ...{ command, tasks, before, cwd, env, abort, emit, askForMessage, checked, isSandboxed },
    confinement: isSandboxed ? checks : wall,
    start: context.past().prepared?.start,
    commitDirty: context.settings.commitDirty,
    doneWords: textsOf(rule),
    defaultMessage: title?.slice(0, SUBJECT) ?? `Work of iteration ${iteration}`,
    runId,
    title,
    knownMessage: message ?? context.past().scm?.find(({ task }) => task.trim() === 'commit')?.message,
  });
}

const MOST = 4_000_000;

/** Keeps what has changed since the run began, for whoever looks at it later. Outside a repository there is nothing to write. */
async function keepChanges(
  { cwd, env, abort, past, paths }: RunContext,
  status: Look | undefined,
): Promise<void> {
  const { open, prepared } = past();
  const startTree = prepared?.start?.tree;
  // Whoever ends the run at once does not want to wait for a diff.
  if (!status || !open || startTree === undefined || abort.aborted) return;
  const diff = await accumulatedDiff({ cwd, env, startTree, status, maxChars: MOST });
  if (isProblem(diff) || diff.text === '') return;
  writePrivate(paths.iteration(open.number).diff, diff.text);
}
