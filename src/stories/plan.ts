/** The plan of `ralph prd run`: one story and one mode an iteration, and no story done before a fresh context has reviewed it. */
import { basename } from 'node:path';
import type { Settings } from '../config/settings-shape.ts';
import type { TurnOutcome } from '../domain/evidence.ts';
import { isProblem } from '../domain/problem.ts';
import type { Story, StoryList } from '../domain/story.ts';
import { cappedStory, formatEstimate, openStories, type ReviewPolicy } from '../domain/story-mode.ts';
import { buildStoryPrompt } from '../domain/story-prompt.ts';
import { buildStoryReport } from '../domain/story-report.ts';
import type { Run } from '../domain/verdict.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { ACTIVE_FILE, type PrdPaths } from '../store/prd-paths.ts';
import { createPausing, preparedWith } from '../turns/pausing.ts';
import {
  commitWork,
  limitsOf,
  type PlanParts,
  standstillLimits,
  TERMS,
  workTurn,
} from '../turns/plan-parts.ts';
import { speaksPlainly } from '../turns/roster.ts';
import { uncommittedPaths } from '../workspace/changes.ts';
import type { Protection } from '../workspace/protect.ts';
import { createTreeWatch } from '../workspace/tree-watch.ts';
import { type Begun, createStoryKeeper, type StoryKeeper } from './keeper.ts';

export interface PrdParts extends PlanParts {
  readonly runId: string;
  readonly prd: PrdPaths;
  /** As it is trusted when the run begins. */
  readonly list: StoryList;
  /** The project's own prompt, read anew when the user may have changed it. */
  template(): string;
  readonly notices: readonly string[];
  readonly protection: Protection | undefined;
  /** The iteration that a resumed run was in. */
  readonly begun: Begun | undefined;
}

export function prdPlan(given: PrdParts): LoopPlan {
  const { settings, agent, protection, prd, emit, runId, list, begun } = given;
  const parts: PrdParts = { ...given, hooks: { ...given.hooks, points: withStop(given.hooks.points) } };
  const run = { ...TERMS.prd(settings), limits: limitsOf(settings) };
  const { rule } = run;
  const policy = policyOf(settings);
  const { maximumIterations: maxIterations } = settings;
  const { aside, stories } = parts.paths;
  const isolation = parts.sandbox?.words === undefined ? 'direct' : 'sandbox';
  const own = {
    paths: prd,
    aside,
    stories,
    runId,
    list,
    policy,
    maxIterations,
    isolation,
    begun,
    emit,
  } as const;
  const keeper = createStoryKeeper({ ...own, now: () => parts.clock.now() });
  let template = parts.template();
  parts.steering.care({
    async begin() {},
    async end() {
      template = parts.template();
    },
  });
  return {
    command: 'prd',
    run,
    agent,
    checks: [],
    standstill: standstillLimits(settings),
    notices: parts.notices,
    async prompt(iteration, feedback) {
      const assignment = keeper.begin();
      const isPlain = speaksPlainly(parts.roster, settings);
      const terms = { maxIterations, ralphDir: prd.name, policy, rule, isPlain };
      return buildStoryPrompt({ ...terms, template, iteration, assignment, feedback });
    },
    ...createSteps(parts, keeper, run, () => template.length),
    check: async () => [],
    assignment() {
      const { mode, story } = keeper.assignment();
      return { mode, ...(story && { story: story.id }) };
    },
    findings: iterations => ({ stories: buildStoryReport(keeper.list(), iterations, policy) }),
    note() {},
    close() {
      keeper.release();
      protection?.close();
    },
  };
}

/** From the turn to the evidence: each step leaves what the next one needs. */
function createSteps(
  parts: PrdParts,
  keeper: StoryKeeper,
  run: Run,
  userChars: () => number,
): Required<Pick<LoopPlan, 'prepare' | 'recall' | 'turn' | 'restore' | 'look' | 'commit' | 'stories'>> {
  const { settings, cwd, env, protection, emit } = parts;
  const watch = createTreeWatch({ cwd, env, on: true });
  const policy = policyOf(settings);
  let outcome: TurnOutcome = { kind: 'completed' };
  let missing: readonly string[] = [];
  let uncommitted: readonly string[] = [];
  const pausing = createPausing(parts, watch, {
    restore(iteration) {
      const settled = keeper.settle(iteration, outcome.kind === 'completed');
      missing = settled.missing;
      return settled.violations;
    },
    hold() {},
    release: () => keeper.trust(),
  });
  return {
    async prepare() {
      const prepared = preparedWith(await watch.start(), { protection });
      keeper.record(0);
      const text = formatEstimate(keeper.list(), policy, settings.maximumIterations);
      emit({ type: 'notice', level: 'info', text });
      return prepared;
    },
    async recall(_, { tree }) {
      watch.recall(tree);
      return preparedWith(tree, { protection });
    },
    async turn(iteration, prompt) {
      const ended = await workTurn(parts, run, { iteration, prompt, userChars: userChars() });
      outcome = ended.outcome;
      return ended;
    },
    restore: pausing.restore,
    async look() {
      const look = await watch.look();
      const status = watch.takeStatus();
      const paths = status ? await uncommittedPaths(status) : [];
      uncommitted = (isProblem(paths) ? [] : paths).filter(path => basename(path) !== ACTIVE_FILE);
      return look;
    },
    commit: (iteration, before) => commitWork(parts, iteration, run.rule, before, watch.checked()),
    stories(iteration) {
      keeper.record(iteration);
      const list = keeper.list();
      const open = openStories(list, policy).map(story => story.id);
      const capped = cappedStory(list, keeper.assignment(), policy);
      return { open, missing, uncommitted, ...(capped && { capped: cappedWords(capped) }) };
    },
  };
}

function cappedWords({ id, reviewCount, reviewFeedback }: Story): string {
  return `${id} was reviewed ${reviewCount} times: ${reviewFeedback}`;
}

function withStop(points: PlanParts['hooks']['points']): PlanParts['hooks']['points'] {
  return points.includes('stop') ? points : [...points, 'stop'];
}

export function policyOf({ skipReview, reviewCap, atCap }: Settings): ReviewPolicy {
  return { skipReview, reviewCap, atCap };
}
