/** `ralph loop`: a task, a clean context each time, and checks that must all pass. */

import type { ForkOf } from '../../domain/run/event.ts';
import { buildLoopPrompt } from '../../domain/run/loop-prompt.ts';
import { titleOf } from '../../domain/run/title.ts';
import { defined } from '../../domain/text/fields.ts';
import { formatProblem, isProblem, type Problem } from '../../domain/text/problem.ts';
import { type Steps, warn } from '../../run/steps.ts';
import { createReady, decisionsOf, noteQuestion } from '../../run/stories/questions.ts';
import { speaksPlainly } from '../../run/turns/agent-pool.ts';
import { baseSteps } from '../../run/turns/base-steps.ts';
import { checksOf, createBaseline } from '../../run/turns/check-round.ts';
import type { RunContext } from '../../run/turns/context.ts';
import { mutationStep } from '../../run/turns/mutation.ts';
import type { Held } from '../../run/turns/pausing.ts';
import type { PromptSource } from '../../run/turns/prompt-source.ts';
import { createProver } from '../../run/turns/prover.ts';
import { createProgress } from '../../store/progress.ts';
import { type GivenIssue, writeTask } from '../../store/run-file.ts';
import { accumulatedDiff } from '../../workspace/diff.ts';
import { openOwnGit, type Start } from '../../workspace/own-git.ts';
import type { Place } from '../../workspace/repository.ts';
import { createTreeWatch } from '../../workspace/tree-watch.ts';
import { openWorktree, type Worktree } from '../../workspace/worktree.ts';
import type { Job, Where } from '../job.ts';

export interface TaskGiven {
  readonly task: string;
  /** The file that the task was read from, and reads it anew. */
  readonly spec?: { readonly name: string; readonly source: PromptSource } | undefined;
  /** The YAML file with its settings. */
  readonly yaml?: string | undefined;
  /** true or `auto`: a worktree under a name of Ralph's own. One that is open already is used as it is. */
  readonly worktree?: string | boolean | Worktree | undefined;
  /** Of a parallel run: what it works on there. */
  readonly lane?: string | undefined;
  /** The commit from which changes are counted, where it is known. */
  readonly startRef?: string | undefined;
  /** The run, and its iteration, whose files it begins with. */
  readonly forkOf?: ForkOf | undefined;
  /** The issue that it is for: its agent may ask. */
  readonly issue?: GivenIssue | undefined;
}

/** What asks, for an issue: `ralph answer issue-12 "…"`. Its worktree has the same name. */
export function issueName({ number }: Pick<GivenIssue, 'number'>): string {
  return `issue-${number}`;
}

export function taskJob(given: TaskGiven): Job {
  const { task, spec, yaml, worktree: wanted, lane, forkOf, issue, ...known } = given;
  return {
    command: 'loop',
    async enter({ project: { root }, env }) {
      const worktree = typeof wanted === 'object' ? wanted : await worktreeFor(wanted, { root, env });
      if (isProblem(worktree)) return worktree;
      const cwd = worktree?.cwd ?? root;
      const begun = known.startRef === undefined ? await beginAt({ cwd, env }) : undefined;
      if (isProblem(begun)) return begun;
      const startRef = known.startRef ?? begun?.commit ?? begun?.tree ?? '';
      return {
        cwd,
        begun,
        given: {
          startRef,
          ...defined({ yaml, spec: spec?.name, worktree: worktree?.name, lane, forkOf, issue }),
        },
        title: titleOf(task),
        task,
        worktree,
        notices: worktree?.notes ?? [],
        steps: async context =>
          taskSteps(context, { task, spec: spec?.source, startRef, asks: issue && issueName(issue) }),
        leave: () => worktree?.release(),
      };
    },
  };
}

async function beginAt(place: Place): Promise<Start | Problem> {
  const own = await openOwnGit(place);
  return isProblem(own) ? own : own.begin();
}

/** `auto` is none: the name is Ralph's to choose. */
export function isNamed(worktree: string | boolean): worktree is string {
  return typeof worktree === 'string' && worktree !== 'auto';
}

async function worktreeFor(
  wanted: string | boolean | undefined,
  place: { readonly root: string; readonly env: Where['env'] },
): Promise<Worktree | Problem | undefined> {
  if (!wanted) return undefined;
  return openWorktree({ ...place, ...(isNamed(wanted) && { name: wanted }) });
}

interface TaskHere {
  /** The task, or the text of the spec file. */
  readonly task: string;
  /** The spec file, to be read anew when the user has had his hands on it. */
  readonly spec: PromptSource | undefined;
  /** The commit from which changes are counted. */
  readonly startRef: string;
  /** The name under which its agent may ask; undefined: it may not. */
  readonly asks: string | undefined;
}

const DIFF_CHARS = 5_000;

function taskSteps(context: RunContext, here: TaskHere): Steps {
  const { settings, cwd, env } = context;
  const checks = checksOf(settings.checks, settings, context.ownChecks);
  const progress = createProgress(context.project, context.paths);
  const tree = createTreeWatch(context);
  const baseline = createBaseline({ ...context, checks: () => checks, excused: settings.baselineUngated });
  const prover = createProver(context, {
    ...{ commands: settings.checks, checks: () => checks, as: baseline.excuse },
  });
  const task = holdTask(context, here);
  const { asks } = here;
  const base = baseSteps(context, {
    ...{ tree, prover, held: task, userChars: () => task.text().length },
    ...(asks !== undefined && { ready: createReady(context) }),
    ...(settings.baseline && { begin: () => baseline.take(prover.steps.check) }),
    async recall(past) {
      baseline.recall(past.baseline);
      for (const result of past.results) progress.add(result);
    },
  });
  return {
    checks,
    ...base,
    look() {
      noteQuestion(context, asks);
      return base.look();
    },
    ...mutationStep(context),
    async prompt(iteration, feedback) {
      const [status, { startRef }] = [tree.takeStatus(), here];
      const startTree = context.past().prepared?.start?.tree;
      const diff = await accumulatedDiff({
        cwd,
        env,
        startRef,
        maxChars: DIFF_CHARS,
        ...defined({ status, startTree }),
      });
      if (isProblem(diff)) return diff;
      return buildLoopPrompt({
        ...{ task: task.text(), iteration, feedback, rule: context.goal.rule },
        checks: baseline.forPrompt(),
        progress: progress.latest(),
        isPlain: speaksPlainly(context.roster, settings),
        maxIterations: settings.maximumIterations,
        protect: settings.protect,
        only: settings.only,
        ...(asks !== undefined && { decided: decisionsOf(context, asks) }),
        diff: diff.text,
      });
    },
    note: result => progress.add(result),
  };
}

interface HeldTask extends Held {
  text(): string;
}

/** The task; of a spec file only what the user wrote into it, while the run was paused: an agent may not change its own task. */
function holdTask({ emit, paths }: RunContext, { task, spec }: TaskHere): HeldTask {
  let text = task;
  let held: string | Problem | undefined;
  return {
    text: () => text,
    hold() {
      held = spec?.read();
    },
    release() {
      const now = spec?.read();
      if (now === undefined || now === held) return;
      if (typeof now === 'string') {
        text = now;
        writeTask(paths, now);
      } else warn(emit, `${formatProblem(now)}. The task stays as it was.`);
    },
  };
}
