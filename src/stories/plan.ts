/** The plan of `ralph prd run`: one story and one mode an iteration, and no story done before a fresh context has reviewed it. */
import { basename } from 'node:path';
import type { Violation } from '../domain/evidence.ts';
import { isProblem } from '../domain/problem.ts';
import type { ReviewEvidence } from '../domain/review.ts';
import type { StoryList } from '../domain/story.ts';
import type { ReviewPolicy } from '../domain/story-mode.ts';
import { buildStoryPrompt } from '../domain/story-prompt.ts';
import { buildStoryReport } from '../domain/story-report.ts';
import type { Feedback, Run } from '../domain/verdict.ts';
import { commandsOf } from '../domain/verify-commands.ts';
import { type LoopPlan, warn } from '../engine/plan.ts';
import { approvalsPath } from '../store/approvals.ts';
import { ACTIVE_FILE, type PrdPaths } from '../store/prd-paths.ts';
import { writeStoryCopy } from '../store/story-copies.ts';
import { mutationStep } from '../turns/mutation.ts';
import { createPausing, preparedWith, recallInputs } from '../turns/pausing.ts';
import {
  commitWork,
  limitsOf,
  type PlanParts,
  standstillLimits,
  TERMS,
  workTurn,
} from '../turns/plan-parts.ts';
import { checkedTree, type ProverParts, release } from '../turns/prover.ts';
import { currentAgent, speaksPlainly } from '../turns/roster.ts';
import { uncommittedPaths } from '../workspace/changes.ts';
import { createTreeWatch, type TreeWatch } from '../workspace/tree-watch.ts';
import { type Begun, createStoryKeeper, type StoryKeeper } from './keeper.ts';
import { askingStories, createReady, decisionsOf, noteQuestion } from './questions.ts';
import { createReviewFacts } from './review-facts.ts';
import { createReviewGuard, type ReviewGuard } from './review-guard.ts';
import { type Roles, roleOf, rolesOf, rosterOf } from './roles.ts';
import { policyOf, standOf, startWords } from './standing.ts';
import { createStoryChecks, type StoryChecks } from './story-checks.ts';
import { broughtUpToDate } from './up-to-date.ts';

export interface PrdParts extends ProverParts, Pick<Roles, 'reviewers'> {
  readonly runId: string;
  readonly prd: PrdPaths;
  /** As it is trusted when the run begins. */
  readonly list: StoryList;
  /** The project's own prompt, read anew when the user may have changed it. */
  template(): string;
  readonly notices: readonly string[];
  /** The iteration that a resumed run was in. */
  readonly begun: Begun | undefined;
  /** The branch that is really used; undefined: none. */
  readonly branch: string | undefined;
  /** Where approvals are on record; absent: with those of the project. */
  readonly approvals?: string | undefined;
  /** Before a review: brings in what others have landed meanwhile; answers why it does not fit, for the agent. */
  sync?(): Promise<string | undefined>;
  /** Where the work is, when it is not in the project itself. */
  readonly place?: LoopPlan['place'] | undefined;
}

export function prdPlan(given: PrdParts): LoopPlan {
  const { settings, agent, prd } = given;
  const parts: PrdParts = { ...given, hooks: { ...given.hooks, points: withStop(given.hooks.points) } };
  const run = { ...TERMS.prd(settings), limits: limitsOf(settings) };
  const policy = policyOf(settings);
  const keeper = openKeeper(parts, policy);
  const guard = createReviewGuard(parts, prd);
  const facts = createReviewFacts(parts);
  const checks = createStoryChecks(parts, keeper);
  const prompts = createPrompts(parts, { keeper, guard, facts, checks });
  return {
    command: 'prd',
    run,
    agent,
    get checks() {
      return checks.all();
    },
    checksFor: checks.wanted,
    ...checks.steps,
    ...mutationStep(parts),
    standstill: standstillLimits(settings),
    notices: parts.notices,
    ...(parts.place && { place: parts.place }),
    ready: createReady(parts, keeper),
    prompt: prompts.next,
    ...createSteps(parts, { keeper, guard, facts, checks, run, userChars: prompts.userChars }),
    isDone: checks.isDone,
    assignment() {
      const { mode, story } = keeper.assignment();
      const who = { role: roleOf(mode), agent: currentAgent(rosterOf(parts, mode)).name };
      const kept = prompts.kept();
      return { mode, ...(story && { story: story.id }), ...who, ...(kept !== undefined && { kept }) };
    },
    findings: iterations => ({
      stories: buildStoryReport(keeper.list(), iterations, policy, rolesOf(parts)),
      branch: parts.branch ?? null,
    }),
    note() {},
    close() {
      keeper.release();
      if (parts.past().open) guard.leave();
      else guard.end();
      release(parts);
    },
  };
}

/** What the agent is told in each iteration. */
function createPrompts(parts: PrdParts, { keeper, guard, facts, checks }: Keeping) {
  const { settings, prd, steering } = parts;
  const policy = policyOf(settings);
  const { rule } = TERMS.prd(settings);
  let template = parts.template();
  let kept: string | undefined;
  steering.care({
    async begin() {},
    async end() {
      template = parts.template();
    },
  });
  return {
    /** How much of it is the user's own. */
    userChars: () => template.length,
    /** The files that a review must leave as they are. */
    kept: () => kept,
    async next(iteration: number, feedback: readonly Feedback[]): Promise<string> {
      const assignment = await broughtUpToDate(parts, keeper, iteration);
      const { mode, story } = assignment;
      kept = mode === 'review' ? await beginReview(parts, guard, iteration) : undefined;
      if (mode !== 'review') guard.end();
      if (mode === 'implement' && story) await facts.begin(story.id);
      const isPlain = speaksPlainly(rosterOf(parts, mode), settings);
      const { maximumIterations: maxIterations } = settings;
      const terms = { maxIterations, ralphDir: prd.name, policy, rule, isPlain };
      const review = mode === 'review' && story ? { review: await facts.of(story.id) } : {};
      const commands = checks.told(commandsOf(keeper.list(), story, settings.checks));
      const decided = decisionsOf(parts, story?.id);
      const told = { feedback, commands, decided, ...review };
      return buildStoryPrompt({ ...terms, template, iteration, assignment, ...told });
    },
  };
}

function openKeeper(parts: PrdParts, policy: ReviewPolicy): StoryKeeper {
  const { settings, prd: paths, runId, list, begun, emit, project, env } = parts;
  const { aside } = parts.paths;
  const keepCopy = (hash: string, text: string) => writeStoryCopy(parts.paths, hash, text);
  const isolation = parts.sandbox?.words === undefined ? 'direct' : 'sandbox';
  const approvals = parts.approvals ?? approvalsPath(env, project.root, paths);
  const own = { paths, aside, keepCopy, runId, list, policy, begun, emit, approvals } as const;
  const { maximumIterations: maxIterations, checks } = settings;
  const asking = () => askingStories(parts);
  return createStoryKeeper({
    ...own,
    maxIterations,
    checks,
    isolation,
    asking,
    now: () => parts.clock.now(),
  });
}

/** A review that was cut off and is taken again begins with the files as it found them. */
async function beginReview(
  { past, emit }: PrdParts,
  guard: ReviewGuard,
  iteration: number,
): Promise<string | undefined> {
  const { open } = past();
  const before = open?.number === iteration ? open.kept : undefined;
  const kept = await guard.begin(before);
  const undone = before === undefined ? [] : await guard.restore(iteration, []);
  for (const { what } of undone) warn(emit, `Undone, because a review that was cut off left it: ${what}`);
  return kept;
}

interface Keeping {
  readonly keeper: StoryKeeper;
  readonly guard: ReviewGuard;
  readonly facts: ReturnType<typeof createReviewFacts>;
  readonly checks: StoryChecks;
}

interface StepParts extends Keeping {
  readonly run: Run;
  userChars(): number;
}

/** From the turn to the evidence: each step leaves what the next one needs. */
function createSteps(
  parts: PrdParts,
  { keeper, guard, facts, checks, run, userChars }: StepParts,
): Required<Pick<LoopPlan, 'prepare' | 'recall' | 'turn' | 'restore' | 'look' | 'commit' | 'stories'>> {
  const { settings, cwd, env, past } = parts;
  const watch = createTreeWatch({ cwd, env, on: true });
  let touched: readonly Violation[] = [];
  let missing: readonly string[] = [];
  let uncommitted: readonly string[] = [];
  const pausing = createPausing({ ...parts, inputs: checks.inputs }, watch, {
    restore(iteration) {
      const settled = keeper.settle(iteration, evidenceOf(parts, touched));
      missing = settled.missing;
      return settled.violations;
    },
    hold() {},
    release: () => keeper.trust(),
  });
  return {
    ...createBeginning(parts, watch, { keeper, guard, facts, checks }),
    async turn(iteration, prompt) {
      const turn = { iteration, prompt, userChars: userChars() };
      return workTurn(whoWorks(parts, keeper), run, { ...turn, begins: () => keeper.restoreList(iteration) });
    },
    async restore(iteration, pending) {
      const changed = await guard.restore(iteration, pending);
      touched = [...(past().open?.violations ?? []), ...changed].filter(isOutside(parts.prd));
      return [...changed, ...(await pausing.restore(iteration, pending))];
    },
    async look() {
      const look = await watch.look();
      uncommitted = await uncommittedIn(watch);
      return look;
    },
    commit: (iteration, before) =>
      commitWork(parts, iteration, run.rule, before, checkedTree(parts) ?? watch.checked()),
    stories(iteration) {
      const results = past().open?.checks ?? [];
      const refused = keeper.weigh(iteration, results);
      keeper.record(iteration);
      facts.saw(keeper.assignment().story?.id, results);
      const untold = noteQuestion(parts, keeper) ? refused : [...missing, ...refused];
      return { ...standOf(keeper, policyOf(settings)), missing: untold, uncommitted };
    },
  };
}

function createBeginning(
  parts: PrdParts,
  watch: TreeWatch,
  { keeper, guard, facts, checks }: Keeping,
): Pick<LoopPlan, 'prepare' | 'recall'> {
  return {
    async prepare() {
      const prepared = preparedWith(await watch.start(), parts, checks.inputs.take());
      await checks.prepare();
      keeper.record(0);
      parts.emit({ type: 'notice', level: 'info', text: startWords(keeper.list(), parts.settings) });
      return prepared;
    },
    async recall(before, prepared) {
      const { tree } = prepared;
      const { open, last } = before;
      watch.recall(tree);
      await checks.recall(before);
      if (last) facts.saw(last.story, last.checks);
      if (open?.mode === 'review' && open.turn && !open.judged) await guard.begin(open.kept);
      return preparedWith(tree, parts, recallInputs(checks.inputs, before, prepared));
    },
  };
}

function whoWorks(parts: PrdParts, keeper: StoryKeeper): PrdParts {
  const roster = rosterOf(parts, keeper.assignment().mode);
  return { ...parts, roster, agent: currentAgent(roster) };
}

async function uncommittedIn(watch: TreeWatch): Promise<readonly string[]> {
  const status = watch.takeStatus();
  const paths = status ? await uncommittedPaths(status) : [];
  return (isProblem(paths) ? [] : paths).filter(path => basename(path) !== ACTIVE_FILE);
}

/** Where no turn is over, as in a pause between two attempts, no verdict counts. */
function evidenceOf(parts: PrdParts, touched: readonly Violation[]): ReviewEvidence {
  const { outcome, reviews: spoken = [] } = parts.past().open?.turn ?? {};
  return { outcome, spoken, touched: touched.map(({ what }) => what), isContained: isContained(parts) };
}

/** Nothing of an earlier turn can still be alive when a review ends. */
function isContained({ sandbox }: PrdParts): boolean {
  return sandbox?.words !== undefined || sandbox?.wall !== undefined;
}

/** A change to a file that is neither in the folder of the list nor Ralph's own. What was refused never came about. */
function isOutside({ name }: PrdPaths) {
  return ({ what, isSentence, refused }: Violation) =>
    !isSentence && !refused && !what.startsWith(`${name}/`) && !what.startsWith(ACTIVE_FILE);
}

function withStop(points: PlanParts['hooks']['points']): typeof points {
  return points.includes('stop') ? points : [...points, 'stop'];
}
