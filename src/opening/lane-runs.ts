/** Opens and resumes the runs of a parallel run. */
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { ChildRequest, ChildRun } from '../parallel/crew.ts';
import { ownerName } from '../platform/spawn.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { writeRunFile } from '../store/run-file.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import type { Parts, RunKind } from './kind.ts';
import { openRun, type RunRequest } from './open-run.ts';
import { claimRun, clearWorkplace, kindAgain, recoverRun } from './resume.ts';
import type { StoryLane } from './stories-kind.ts';

/** What the run that they belong to gives them. */
export interface ChildBase {
  readonly parts: Parts;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly version: string;
}

/** What lands is checked clean in the queue, and there passes the gate for faults; in a lane the agent is told of them once. */
export function laneSettings(settings: Settings): Settings {
  const { mutateMin, ...rest } = commitsOnly(settings);
  return { ...rest, mutate: settings.mutate || mutateMin !== undefined, proof: 'place' };
}

/** For work that Ralph itself takes to where it belongs: it is committed, and no other task of source control runs. */
export function commitsOnly(settings: Settings): Settings {
  const { scm } = settings;
  return scm ? { ...settings, scm: { ...scm, tasks: scm.tasks?.filter(isCommit) ?? [] } } : settings;
}

export function isCommit(task: string): boolean {
  return task.trim() === 'commit';
}

function requestOf({ parts, flags, version }: ChildBase, child: ChildRequest, kind: RunKind): RunRequest {
  const { project, env, clock, roster, reviewers, random } = parts;
  const agents = roster.agents as readonly [ChosenAgent, ...ChosenAgent[]];
  const reviewer = reviewers?.agents[0];
  const { id, shared, stop, onEvent } = child;
  return {
    ...{ kind, project, env, clock, agents, flags, version, stop, onEvent },
    settings: laneSettings(parts.settings),
    ...(reviewer && { reviewer }),
    ...(random && { random }),
    child: { id, shared },
  };
}

export async function openChild(
  base: ChildBase,
  child: ChildRequest,
  kind: RunKind,
  agent?: ChosenAgent,
): Promise<ChildRun | Problem> {
  const request = requestOf(base, child, kind);
  return openRun(agent ? { ...request, agents: [agent, ...request.agents.slice(1)] } : request);
}

export async function resumeChild(
  base: ChildBase,
  child: ChildRequest,
  lane?: StoryLane,
  agent?: ChosenAgent,
): Promise<ChildRun | Problem> {
  const { parts } = base;
  const { project, env } = parts;
  const paths = runPaths(project, child.id);
  const claimed = await claimRun(paths, child.id);
  if (isProblem(claimed)) return claimed;
  // It is opened again with the run.
  child.worktree.release();
  const again = await reopen();
  if (isProblem(again)) claimed.release();
  return again;

  async function reopen(): Promise<ChildRun | Problem> {
    if (isProblem(claimed)) return claimed;
    const file = { ...claimed.file, cwd: project.root };
    const { past, repaired, doubts, lost } = await recoverRun(paths);
    const [doubt = lost] = doubts;
    if (doubt !== undefined) {
      const fix = `look at it with \`ralph log ${child.id}\`; \`ralph cancel --remove ${child.worktree.name}\` gives it up`;
      return { where: child.id, what: doubt, fix };
    }
    const settings = laneSettings(parts.settings);
    const kind = await kindAgain({ file, paths, past }, settings, env, lane);
    if (!('enter' in kind)) return kind[0] as Problem;
    writeRunFile(paths, { ...file, owner: ownerName() });
    const place = projectPaths(project.root).worktree(file.given.worktree ?? '');
    const cleared = await clearWorkplace({ file, paths, past }, place, env);
    const repairs = { ...cleared, repaired: [...repaired, ...cleared.repaired], changes: [] };
    const request = requestOf(base, child, kind);
    const agents = agent ? ([agent, ...request.agents.slice(1)] as const) : request.agents;
    return openRun({ ...request, agents, resumed: { file, paths, past, repairs } });
  }
}
