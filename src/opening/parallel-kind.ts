/** A parallel run as a kind of run: it works in no tree of its own, and its crew says what it is about. */
import type { LoopCommand } from '../domain/event.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { titleOf } from '../domain/title.ts';
import type { CrewPlan } from '../engine/plan.ts';
import { coordinate } from '../parallel/coordinator.ts';
import type { Crew } from '../parallel/crew.ts';
import type { Given } from '../store/run-file.ts';
import { readRunFile } from '../store/run-file.ts';
import { limitsOf, openIncluded, openProtection, TERMS } from '../turns/plan-parts.ts';
import { release } from '../turns/prover.ts';
import { tooOld } from '../workspace/integration.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import type { KindWorld, Parts, RunKind } from './kind.ts';
import { type ChildBase, isCommit } from './lane-runs.ts';

export interface CrewKind {
  readonly command: Extract<LoopCommand, 'prd' | 'loop'>;
  readonly given: Omit<Given, 'flags'>;
  /** The user's words. */
  readonly task?: string | undefined;
  /** Where that is not the first line of the task. */
  readonly title?: string | undefined;
  /** What must be true before anything is begun. */
  check(world: KindWorld): Promise<Problem | undefined>;
  /** Also of a run that is resumed. */
  crew(base: ChildBase): Promise<Crew | Problem>;
  leave?(): void;
}

export function parallelKind(kind: CrewKind, slots: number): RunKind {
  return {
    command: kind.command,
    async enter(world) {
      const problem = (await whyNot(world)) ?? (await kind.check(world));
      if (problem) return problem;
      return {
        cwd: world.project.root,
        given: kind.given,
        title: titleOf(kind.title ?? kind.task ?? ''),
        task: kind.task,
        plan: (parts, kept) => crewPlan(kind, slots, parts, kept),
        leave: () => kind.leave?.(),
      };
    },
  };
}

/** Work that is merged needs a repository with a commit, and nothing in it that a merge would lose. */
async function whyNot({ project: { root }, env, resumed }: KindWorld): Promise<Problem | undefined> {
  const own = await openOwnGit({ cwd: root, env });
  if (isProblem(own)) return { ...own, fix: own.fix ?? '`git init` and a commit make one' };
  const old = await tooOld(own);
  if (old) return old;
  const { commit } = await own.head();
  if (commit === undefined) {
    const fix = '`git add --all && git commit -m start` makes one';
    return { where: root, what: 'there is no commit yet that parallel work could start from', fix };
  }
  const modules = await own.repository.git.run(['cat-file', '-e', `${commit}:.gitmodules`]);
  if (modules.code === 0) {
    const fix = 'work on one at a time: leave out --parallel';
    return { where: `${root}/.gitmodules`, what: 'parallel work cannot merge submodules', fix };
  }
  return resumed === undefined ? uncommitted(own) : undefined;
}

async function uncommitted(own: Exclude<Awaited<ReturnType<typeof openOwnGit>>, Problem>) {
  const status = await own.status();
  if (isProblem(status)) return status;
  // Files that git does not know yet are nobody's base.
  const changed = status.entries.filter(({ before, path }) => before && !isList(path));
  if (changed.length === 0) return undefined;
  const shown = changed.slice(0, 5).map(({ path }) => path);
  const more = changed.length > shown.length ? ` and ${changed.length - shown.length} more` : '';
  return {
    where: own.top,
    what: `${shown.join(', ')}${more} ${changed.length === 1 ? 'has' : 'have'} changes that are not committed: the parallel work would start without them`,
    fix: '`git commit` or `git stash` them first',
  };
}

/** Ralph brings the list itself. */
function isList(path: string): boolean {
  return /(^|\/)(tasks\.json|progress\.txt|prd\.md|prompt\.md|\.gitignore)$/.test(path);
}

async function crewPlan(
  kind: CrewKind,
  slots: number,
  parts: Parts,
  kept: string | undefined,
): Promise<CrewPlan | Problem> {
  const { settings, agent, runId } = parts;
  const file = readRunFile(parts.paths);
  const crew = await kind.crew({ parts, flags: file?.given?.flags ?? {}, version: file?.version ?? '' });
  if (isProblem(crew)) return crew;
  const protection = await openProtection(parts, kept);
  if (isProblem(protection)) return protection;
  // What lands is always proven clean, whatever its runs do.
  const included = await openIncluded({ ...parts, settings: { ...settings, proof: 'clean' } });
  if (isProblem(included)) return included;
  const own = { ...parts, protection, included };
  return {
    command: kind.command,
    run: { ...TERMS[kind.command](settings), limits: limitsOf(settings) },
    agent,
    checks: crew.checksFor(new Set(crew.lanes().map(({ id }) => id))),
    notices: [...parts.notices, ...(protection?.notes ?? []), ...leftOut(parts)],
    drive: world =>
      coordinate(
        {
          ...{ crew, parts: own, runId, slots, elsewhere: parts.elsewhere },
          onChildEvent: parts.onChildEvent ?? (() => {}),
        },
        world,
      ),
    close: () => release(own),
  };
}

/** What lands is committed by the queue, on a branch that nobody pushes. */
function leftOut({ settings: { scm } }: Parts): readonly string[] {
  const others = (scm?.tasks ?? []).filter(task => !isCommit(task));
  if (others.length === 0) return [];
  return [
    `Left out, because the stories are worked on side by side: ${others.join(', ')} of scm.tasks. Push the branch yourself when you have looked at it.`,
  ];
}
