/** The steps of `ralph prd run`: one story and one mode an iteration, and no story done before a fresh context has reviewed it. */
import { basename } from 'node:path';
import { commandsOf } from '../../domain/checks/verify-commands.ts';
import { isRound } from '../../domain/forge/forge-event.ts';
import type { Conflict } from '../../domain/lanes/conflict.ts';
import type { Violation } from '../../domain/run/evidence.ts';
import type { RunState } from '../../domain/run/state.ts';
import type { Feedback } from '../../domain/run/verdict.ts';
import type { Assignment, StoryMode } from '../../domain/stories/assignment.ts';
import { buildStoryPrompt } from '../../domain/stories/prompt.ts';
import { buildStoryReport, type Role } from '../../domain/stories/report.ts';
import type { ReviewEvidence } from '../../domain/stories/review.ts';
import type { StoryList } from '../../domain/stories/story.ts';
import { pick } from '../../domain/text/fields.ts';
import { isProblem } from '../../domain/text/problem.ts';
import { ACTIVE_FILE, type PrdPaths } from '../../store/prd-paths.ts';
import { uncommittedPaths } from '../../workspace/changes.ts';
import { createTreeWatch, type TreeWatch } from '../../workspace/tree-watch.ts';
import { type Steps, warn } from '../steps.ts';
import { type AgentPool, currentAgent, speaksPlainly } from '../turns/agent-pool.ts';
import { baseSteps } from '../turns/base-steps.ts';
import type { RunContext } from '../turns/context.ts';
import { mutationStep } from '../turns/mutation.ts';
import { type Begun, createStoryKeeper, type StoryKeeper } from './keeper.ts';
import { policyOf, standOf, startWords } from './load.ts';
import { askingStories, createReady, decisionsOf, mayAsk, noteQuestion } from './questions.ts';
import { createReviewFacts } from './review-facts.ts';
import { createReviewGuard, type ReviewGuard } from './review-guard.ts';
import { createStoryChecks, type StoryChecks } from './story-checks.ts';

/** The list that a run works on. */
export interface WorkedList {
  readonly prd: PrdPaths;
  /** As it is trusted when the run begins. */
  readonly list: StoryList;
  /** The project's own prompt, read anew when the user may have changed it. */
  template(): string;
  /** The iteration that a resumed run was in. */
  readonly begun: Begun | undefined;
  /** The branch that is really used; undefined: none. */
  readonly branch: string | undefined;
  /** Where approvals are on record. */
  readonly approvals: string;
  /** Before a review: brings in what others have landed meanwhile; returns why it does not fit, for the agent. `note`: what conflicts, before it is in the files. */
  sync?(note: (left: { merge: string; conflicts: readonly Conflict[] }) => void): Promise<string | undefined>;
}

type StoryContext = RunContext & WorkedList;

/** What the steps of an iteration leave each other. */
interface StoryParts {
  readonly keeper: StoryKeeper;
  readonly guard: ReviewGuard;
  readonly facts: ReturnType<typeof createReviewFacts>;
  readonly checks: StoryChecks;
  readonly tree: TreeWatch;
}

export function storySteps(given: RunContext, worked: WorkedList): Steps {
  const { points } = given.hooks;
  const hooks = points.includes('stop')
    ? given.hooks
    : { ...given.hooks, points: [...points, 'stop' as const] };
  const parts: StoryContext = { ...given, ...worked, hooks };
  const keeper = openKeeper(parts);
  const guard = createReviewGuard(parts, worked.prd);
  const facts = createReviewFacts(parts);
  const checks = createStoryChecks(parts, keeper);
  const keeping = { keeper, guard, facts, checks, tree: createTreeWatch(parts) };
  const prompts = createPrompts(parts, keeping);
  return {
    get checks() {
      return checks.all();
    },
    checksFor: checks.wanted,
    ...mutationStep(parts),
    prompt: prompts.next,
    ...createSteps(parts, keeping, prompts.userChars),
    isDone: checks.isDone,
    assignment() {
      const { mode, story } = keeper.assignment();
      const who = { role: roleOf(mode), agent: currentAgent(poolOf(parts, mode)).name };
      const shown = mode === 'review' ? facts.shown() : {};
      const kept = prompts.kept();
      return {
        mode,
        ...(story && { story: story.id }),
        ...who,
        ...(kept !== undefined && { kept }),
        ...shown,
      };
    },
    findings: iterations => ({
      stories: buildStoryReport(keeper.list(), iterations, policyOf(parts.settings), {
        ...{ agents: rolesOf(parts), unsaid: parts.past().stories?.unsaid },
      }),
      branch: parts.branch ?? null,
    }),
    close() {
      keeper.release();
      // A review that is cut off is taken again with the files as it found them.
      if (!parts.past().open) guard.end();
    },
  };
}

/** What the agent gets in each iteration. */
function createPrompts(parts: StoryContext, { keeper, guard, facts, checks, tree }: StoryParts) {
  const { settings, prd, steering } = parts;
  const policy = policyOf(settings);
  const { rule } = parts.goal;
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
      // What a hook or a merge has done since the last look is part of what is reviewed.
      if (parts.sync || settings.scm?.tasks?.length) tree.touched();
      kept = mode === 'review' ? await beginReview(parts, guard, iteration) : undefined;
      if (mode !== 'review') guard.end();
      const isPlain = speaksPlainly(poolOf(parts, mode), settings);
      const { maximumIterations: maxIterations } = settings;
      const terms = { maxIterations, ralphDir: prd.name, policy, rule, isPlain };
      const review =
        mode === 'review' && story ? { review: await facts.of(story.id, tree.takeStatus()) } : {};
      const commands = checks.forPrompt(commandsOf(keeper.list(), story, settings.checks));
      const decided = decisionsOf(parts, story?.id);
      const given = { feedback, commands, decided, ...pick(settings, 'protect', 'only'), ...review };
      return buildStoryPrompt({ ...terms, template, iteration, assignment, ...given });
    },
  };
}

function openKeeper(parts: StoryContext): StoryKeeper {
  const { settings, prd: paths, runId, list, begun, emit, approvals } = parts;
  const { maximumIterations: maxIterations, checks } = settings;
  return createStoryKeeper({
    ...{ paths, run: parts.paths, runId, list, begun, emit, approvals, maxIterations, checks },
    policy: policyOf(settings),
    isolation: parts.sandbox?.words === undefined ? 'direct' : 'sandbox',
    asking: () => askingStories(parts),
    now: () => parts.clock.now(),
  });
}

/** A story of a parallel run is brought up to date before its review: conflicts are solved before somebody looks, not after. */
export async function broughtUpToDate(
  { sync, past, emit }: Pick<StoryContext, 'sync' | 'past' | 'emit'>,
  keeper: StoryKeeper,
  iteration: number,
): Promise<Assignment> {
  const assignment = keeper.begin();
  const { mode, story } = assignment;
  const { open } = past();
  // A review that was cut off is taken again with the files as it found them.
  const isBegun = open?.number === iteration && open.kept !== undefined;
  const misfit =
    mode === 'review' && story && !isBegun
      ? await sync?.(left => emit({ type: 'merge-left', story: story.id, ...left }))
      : undefined;
  return misfit === undefined || !story ? assignment : keeper.sendBack(story.id, misfit);
}

/** A review that was cut off and is taken again begins with the files as it found them. */
async function beginReview(
  { past, emit }: StoryContext,
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

/** From the turn to the evidence: each step leaves what the next one needs. */
function createSteps(
  parts: StoryContext,
  { keeper, guard, facts, checks, tree }: StoryParts,
  userChars: () => number,
): ReturnType<typeof baseSteps> & Required<Pick<Steps, 'stories'>> {
  const { settings, past } = parts;
  let touched: readonly Violation[] = [];
  let missing: readonly string[] = [];
  let uncommitted: readonly string[] = [];
  let unreviewed: readonly string[] = [];
  const base = baseSteps(parts, {
    ...{ tree, userChars, ready: createReady(parts, keeper), apart: parts.prd.inside },
    prover: checks,
    held: {
      restore(iteration) {
        const applied = keeper.applyTurn(iteration, evidenceOf(parts, touched, facts.shown().unshown));
        missing = applied.missing;
        return applied.violations;
      },
      hold() {},
      release: () => keeper.acceptUserEdits(),
    },
    ...createBeginning(parts, { keeper, guard, facts, checks }),
    begins: iteration => keeper.restoreList(iteration),
  });
  return {
    ...base,
    async restore(iteration, pending) {
      const changed = await guard.restore(iteration, pending);
      touched = [...(past().open?.violations ?? []), ...changed].filter(isOutside(parts.prd));
      return [...changed, ...(await base.restore(iteration, pending))];
    },
    async look() {
      const look = await base.look();
      uncommitted = await uncommittedIn(tree);
      const { mode, story } = keeper.assignment();
      unreviewed = mode === 'review' && story ? await facts.unreviewed(story.id, tree.checked()) : [];
      return look;
    },
    stories(iteration) {
      const results = past().open?.checks ?? [];
      const refused = keeper.applyChecks(iteration, results, unreviewed);
      keeper.save(iteration);
      facts.saw(keeper.assignment().story?.id, results);
      const unheard = noteQuestion(parts, mayAsk(keeper, settings)) ? refused : [...missing, ...refused];
      const isAsked = !keeper.assignment().story && past().open?.hints.some(isRound);
      const round = isAsked ? ({ isRound: true } as const) : {};
      return { ...standOf(keeper, policyOf(settings)), missing: unheard, uncommitted, ...round };
    },
  };
}

function createBeginning(parts: StoryContext, { keeper, guard, facts, checks }: Omit<StoryParts, 'tree'>) {
  return {
    async begin() {
      await checks.prepare();
      keeper.save(0);
      parts.emit({ type: 'notice', level: 'info', text: startWords(keeper.list(), parts.settings) });
    },
    async recall(before: RunState) {
      const { open, last } = before;
      await checks.recall(before);
      if (last) facts.saw(last.story, last.checks);
      if (open?.mode !== 'review' || !open.turn || open.judged) return;
      facts.recall(open);
      await guard.begin(open.kept);
    },
    who() {
      const roster = poolOf(parts, keeper.assignment().mode);
      return { ...parts, roster, agent: currentAgent(roster) };
    },
  };
}

async function uncommittedIn(watch: TreeWatch): Promise<readonly string[]> {
  const status = watch.status();
  const paths = status ? await uncommittedPaths(status) : [];
  return (isProblem(paths) ? [] : paths).filter(path => basename(path) !== ACTIVE_FILE);
}

/** Where no turn is over, as in a pause between two attempts, no verdict counts. */
function evidenceOf(
  parts: StoryContext,
  touched: readonly Violation[],
  unshown: string | undefined,
): ReviewEvidence {
  const { outcome, blocked, reviews: spoken = [] } = parts.past().open?.turn ?? {};
  const changed = touched.map(({ what }) => what);
  const mustSay = parts.settings.strict;
  const said = { outcome, isBlocked: blocked !== undefined, spoken, mustSay };
  return { ...said, touched: changed, unshown, isContained: isContained(parts) };
}

/** Nothing of an earlier turn can still be alive when a review ends. */
function isContained({ sandbox }: StoryContext): boolean {
  return sandbox?.words !== undefined || sandbox?.wall !== undefined;
}

/** A change to a file that is neither in the folder of the list nor Ralph's own. What was refused never came about. */
function isOutside({ inside }: PrdPaths) {
  return ({ what, isSentence, refused }: Violation) =>
    !isSentence && !refused && !what.startsWith(`${inside}/`) && !what.startsWith(ACTIVE_FILE);
}

interface Roles {
  readonly agent: { readonly name: string };
  readonly roster: AgentPool;
  /** Who reviews, and the fallbacks behind; absent: the agent does. */
  readonly reviewers?: AgentPool;
}

export function poolOf({ roster, reviewers }: Roles, mode: StoryMode): AgentPool {
  return mode === 'review' ? (reviewers ?? roster) : roster;
}

export function roleOf(mode: StoryMode): Role {
  return mode === 'review' ? 'reviewer' : 'implementer';
}

/** undefined: one agent does everything. */
export function rolesOf({ agent, reviewers }: Roles): Readonly<Record<Role, string>> | undefined {
  const reviewer = reviewers?.agents[0]?.name;
  return reviewer === undefined ? undefined : { implementer: agent.name, reviewer };
}
