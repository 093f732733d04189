/** What the plans have in common: what counts as done, the agent's turn, source control, limits. */
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { OwnCheck } from '../domain/check.ts';
import type { CompletionRule } from '../domain/completion.ts';
import type { EndedTurn } from '../domain/event.ts';
import { pick } from '../domain/fields.ts';
import { budgetSpent, type Limits } from '../domain/limits.ts';
import type { Past } from '../domain/past.ts';
import type { PastTask } from '../domain/past-iteration.ts';
import type { Problem } from '../domain/problem.ts';
import { COMMIT_PROMPT } from '../domain/prompt.ts';
import type { StandstillLimits } from '../domain/standstill.ts';
import { addUsage, type Usage } from '../domain/usage.ts';
import type { Run } from '../domain/verdict.ts';
import { secondsSince } from '../platform/clock.ts';
import { ensureFolder, linkOver, writePrivate } from '../platform/files.ts';
import type { ProjectPaths, RunPaths } from '../store/paths.ts';
import { type Included, includeFiles } from '../workspace/include.ts';
import { createProtection, type Protection } from '../workspace/protect.ts';
import { isUnderGit } from '../workspace/repository.ts';
import { runScmTasks } from '../workspace/scm.ts';
import { deadlines, oneTurn } from './agent-turn.ts';
import { type AttemptWorld, takeAttempts } from './attempts.ts';
import { watchChanges } from './keep-changes.ts';
import { currentAgent } from './roster.ts';

export interface PlanParts extends AttemptWorld {
  /** The project is a checkout that nothing has been done in yet. */
  readonly isFresh?: boolean | undefined;
  /** What the run has done so far. */
  past(): Past;
  readonly project: ProjectPaths;
  readonly paths: RunPaths;
  /** What a program knows of checks that the settings only name: that one is a function. */
  readonly ownChecks?: readonly OwnCheck[] | undefined;
}

/** What each command counts as done. */
export const TERMS: Readonly<Record<SettingsCommand, (settings: Settings) => Omit<Run, 'limits'>>> = {
  run: ({ completionResponse: text, strict }) => ({
    rule: { kind: 'response', text },
    success: 'promise_accepted',
    minToolCalls: 0,
    strict,
  }),
  loop: settings => ({
    rule: promiseOf(settings),
    success: 'all_checks_passed',
    minToolCalls: 1,
    strict: settings.strict,
    ...pick(settings, 'mutateMin'),
  }),
  prd: settings => ({
    rule: promiseOf(settings),
    success: 'all_stories_approved',
    minToolCalls: 0,
    strict: settings.strict,
    ...pick(settings, 'mutateMin'),
  }),
};

function promiseOf({ completionTag: text }: Settings): CompletionRule {
  return { kind: 'promise', text };
}

export function limitsOf(settings: Settings): Limits {
  const { maximumIterations, maxCost, maxTokens, maxTime, maxFailures, stuckAfter } = settings;
  return {
    maxIterations: maximumIterations,
    ...(maxCost !== undefined && { maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxTime !== undefined && { maxTime }),
    maxFailures,
    stuckAfter,
  };
}

export function standstillLimits(settings: Settings): StandstillLimits {
  const { unchangedAfter, thrashingAfter, costlyAfter } = settings;
  return { 'no-change': unchangedAfter, thrashing: thrashingAfter, costly: costlyAfter };
}

/** Milliseconds until `--max-time`; absent: there is none. */
export function timeLeft({ settings: { maxTime }, meter }: PlanParts): { timeLeft?(): number } {
  return maxTime === undefined ? {} : { timeLeft: () => (maxTime - meter.elapsed()) * 1000 };
}

/** undefined: nothing is protected. */
export async function openProtection(
  { settings, cwd, env, paths }: PlanParts,
  kept: string | undefined,
): Promise<Protection | Problem | undefined> {
  if (settings.protect.length === 0) return undefined;
  return createProtection({
    cwd,
    env,
    globs: settings.protect,
    newFiles: settings.protectNew ? 'forbid' : 'allow',
    aside: paths.aside,
    keepIn: paths.state.kept,
    ...(kept !== undefined && { recall: kept }),
  });
}

/** What a clean checkout needs beside the files of git; undefined: there will be none. */
export async function openIncluded({
  settings,
  cwd,
  env,
  paths,
  past,
}: PlanParts): Promise<Included | Problem | undefined> {
  const wants = settings.proof === 'clean' ? '--proof clean' : settings.mutate ? '--mutate' : undefined;
  if (wants !== undefined && !isUnderGit(cwd)) {
    const fix = `\`git init\` creates one; without it, leave ${wants} out`;
    return { where: wants, what: 'a clean copy of the work needs a git repository', fix };
  }
  if (settings.proof !== 'clean') return undefined;
  const { prepared } = past();
  return includeFiles({
    cwd,
    env,
    keepIn: paths.state.kept,
    recall: prepared && (prepared.included ?? null),
  });
}

export interface WorkTurn {
  readonly iteration: number;
  readonly prompt: string;
  readonly userChars: number;
  /** Before each attempt. */
  begins?(): void;
}

/** The turn in which the work is done, with its prompt on record and its limits kept from inside. */
export async function workTurn(parts: PlanParts, { rule, limits }: Run, work: WorkTurn): Promise<EndedTurn> {
  const { settings, project } = parts;
  const { iteration, prompt } = work;
  const paths = parts.paths.iteration(iteration);
  ensureFolder(paths.folder);
  writePrivate(paths.prompt, prompt);
  linkOver(paths.prompt, project.prompt(iteration));
  const before = parts.past().totals.usage;
  const keepChanges = watchChanges(parts);
  const began = parts.clock.ticks();
  const ended = await takeAttempts(parts, iteration, ({ number, world, used }) => {
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
      deadlines: deadlines(settings, parts.meter.elapsed()),
      overBudget: usage =>
        budgetSpent(limits, sumOf(before, used, usage)) ??
        parts.shared?.overdrawn(sumOf(undefined, used, usage)),
    });
  });
  const duration = secondsSince(parts.clock, began);
  await keepChanges(paths.diff, { toolCalls: ended.toolCalls, duration });
  return ended;
}

function sumOf(before: Usage | undefined, used: Usage | undefined, now: Usage): Usage {
  const attempts = used ? addUsage(used, now) : now;
  return before ? addUsage(before, attempts) : attempts;
}

/** As much as is shown of a commit in one line. */
const SUBJECT = 72;

/** Asks the agent for a commit message and runs the tasks of source control. False: they were cut off with the run. */
export async function commitWork(
  parts: PlanParts,
  iteration: number,
  rule: CompletionRule,
  before: readonly PastTask[],
  checked: string | undefined,
): Promise<boolean> {
  const { scm } = parts.settings;
  if (!scm?.command || !scm.tasks?.length) return true;
  const paths = parts.paths.iteration(iteration);
  const askForMessage = async () => {
    const { turn, outcome } = await oneTurn(
      { ...parts, agent: currentAgent(parts.roster) },
      {
        purpose: 'commit-message',
        iteration,
        prompt: COMMIT_PROMPT,
        rule,
        mode: 'text',
        rawFile: `${paths.folder}/commit-message.txt`,
        errorFile: paths.agentErrors,
        deadlines: deadlines(parts.settings, 0),
        overBudget: () => undefined,
      },
    );
    return outcome.kind === 'completed' ? turn.lastWords : undefined;
  };
  const { command, tasks } = scm;
  const { cwd, env, abort, emit } = parts;
  const { title, runId = '' } = parts.past().head ?? {};
  const { words, wall, checks } = parts.sandbox ?? {};
  const isSandboxed = words !== undefined;
  return runScmTasks({
    ...{ command, tasks, before, cwd, env, abort, emit, askForMessage, checked, isSandboxed },
    confinement: isSandboxed ? checks : wall,
    start: parts.past().prepared?.start,
    commitDirty: parts.settings.commitDirty,
    doneWords: rule.text,
    defaultMessage: title?.slice(0, SUBJECT) ?? `Work of iteration ${iteration}`,
    trailers: { 'Ralph-Run': runId, ...(title !== undefined && { 'Ralph-Task': title }) },
  });
}
