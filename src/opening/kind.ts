/** What is special about each command that runs a loop: where its agent works, and its plan. */

import type { LoopCommand, RecordedEvent } from '../domain/event.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { titleOf } from '../domain/title.ts';
import type { CrewPlan, LoopPlan } from '../engine/plan.ts';
import type { Elsewhere } from '../parallel/elsewhere.ts';
import type { ProjectPaths } from '../store/paths.ts';
import type { Given } from '../store/run-file.ts';
import { loopPlan } from '../turns/loop-plan.ts';
import { makeReady, setUp } from '../turns/make-ready.ts';
import { openIncluded, openProtection, type PlanParts } from '../turns/plan-parts.ts';
import type { PromptSource } from '../turns/prompt-source.ts';
import type { Roster } from '../turns/roster.ts';
import { runPlan } from '../turns/run-plan.ts';
import { startRef as startRefAt } from '../workspace/diff.ts';
import { openWorktree, type Worktree } from '../workspace/worktree.ts';

export interface KindWorld {
  readonly project: ProjectPaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The id of a run that is resumed. */
  readonly resumed?: string;
}

/** Everything a plan is made from but what is the command's own. */
export type Parts = PlanParts & {
  readonly runId: string;
  readonly notices: readonly string[];
  /** Who reviews stories, and the fallbacks behind; absent: the agent does. */
  readonly reviewers?: Roster;
  /** Of a parallel run: its lanes and its branch are elsewhere. */
  readonly elsewhere?: Elsewhere | undefined;
  /** Sees what happens in the runs of a parallel run. */
  readonly onChildEvent?: ((lane: string, event: RecordedEvent) => void) | undefined;
};

export interface Entered {
  /** Where the agent works. */
  readonly cwd: string;
  /** What the run was given beside its settings: with it the run can be resumed. */
  readonly given: Omit<Given, 'flags'>;
  /** What it is about, in one line. */
  readonly title?: string | undefined;
  /** The user's words. */
  readonly task?: string | undefined;
  readonly worktree?: Worktree | undefined;
  /** How to take over what was done, where it is on a branch of its own. */
  readonly advice?: string | undefined;
  /** The plan gives up what it holds when it is closed. `kept`: the protected files as they were when a resumed run began. */
  plan(parts: Parts, kept: string | undefined): Promise<LoopPlan | CrewPlan | Problem>;
  /** Gives up what is held: a directory, a worktree. */
  leave(): void;
}

export interface RunKind {
  readonly command: LoopCommand;
  /** Finds or creates the place where the agent works. */
  enter(world: KindWorld): Promise<Entered | Problem>;
}

export interface PromptGiven {
  readonly source: PromptSource;
  /** Where the prompt was read from; else it is `prompt`. */
  readonly promptFile?: string | undefined;
  readonly prompt?: string | undefined;
}

/** `ralph run`. */
export function promptKind({ source, promptFile, prompt: task }: PromptGiven): RunKind {
  return {
    command: 'run',
    enter: async ({ project }) => ({
      cwd: project.root,
      title: titleIn(source),
      given: promptFile === undefined ? {} : { promptFile },
      task,
      async plan(parts, kept) {
        const protection = await openProtection(parts, kept);
        if (isProblem(protection)) return protection;
        const included = await openIncluded(parts);
        if (isProblem(included)) return included;
        const notices = [...parts.notices, ...(protection?.notes ?? [])];
        return runPlan({ ...parts, source, notices, protection, included });
      },
      leave() {},
    }),
  };
}

function titleIn(source: PromptSource): string | undefined {
  const prompt = source.read();
  return typeof prompt === 'string' ? titleOf(prompt) : undefined;
}

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
}

/** `ralph loop`. */
export function taskKind({ task, spec, yaml, worktree: wanted, lane, ...known }: TaskGiven): RunKind {
  return {
    command: 'loop',
    async enter({ project: { root }, env }) {
      const worktree = typeof wanted === 'object' ? wanted : await worktreeFor(wanted, { root, env });
      if (isProblem(worktree)) return worktree;
      const cwd = worktree?.cwd ?? root;
      const startRef = known.startRef ?? (await startRefAt({ cwd, env }));
      if (typeof startRef !== 'string') return startRef;
      return {
        cwd,
        given: {
          startRef,
          ...(yaml !== undefined && { yaml }),
          ...(spec && { spec: spec.name }),
          ...(worktree && { worktree: worktree.name }),
          ...(lane !== undefined && { lane }),
        },
        title: titleOf(task),
        task,
        worktree,
        async plan(parts, kept) {
          const unready = await readied(parts, worktree);
          if (unready) return unready;
          const protection = await openProtection(parts, kept);
          if (isProblem(protection)) return protection;
          const included = await openIncluded(parts);
          if (isProblem(included)) return included;
          const notices = [...parts.notices, ...(worktree?.notes ?? []), ...(protection?.notes ?? [])];
          const place = worktree && { worktreePath: worktree.path, branch: worktree.branch };
          const own = { task, startRef, cwd, spec: spec?.source, notices, protection, included, place };
          return loopPlan({ ...parts, ...own });
        },
        leave: () => worktree?.release(),
      };
    },
  };
}

/** Where the agent works is ready for it, or why not. */
export async function readied(parts: Parts, worktree: Worktree | undefined): Promise<Problem | undefined> {
  if (worktree?.created) return makeReady(parts, worktree);
  return parts.isFresh ? setUp(parts, parts.cwd) : undefined;
}

/** `auto` is none: the name is Ralph's to choose. */
export function isNamed(worktree: string | boolean): worktree is string {
  return typeof worktree === 'string' && worktree !== 'auto';
}

async function worktreeFor(
  wanted: string | boolean | undefined,
  place: { readonly root: string; readonly env: KindWorld['env'] },
): Promise<Worktree | Problem | undefined> {
  if (!wanted) return undefined;
  return openWorktree({ ...place, ...(isNamed(wanted) && { name: wanted }) });
}
