/** Projects for parallel runs, and the agent that works in their lanes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LaneOutcome } from '../../src/domain/lanes/board.ts';
import type { LoopResult } from '../../src/domain/run/result.ts';
import type { Story } from '../../src/domain/stories/story.ts';
import { story } from '../domain/stories/stories.ts';
import { ralph } from './commands.ts';
import { type RalphOptions, startRalph } from './ralph.ts';
import type { Repo } from './repo.ts';
import { scriptedClaude } from './scripted-claude.ts';
import { prdRepo } from './stories.ts';

export interface LaneRig {
  readonly project: Repo;
  /** Where its agent finds what to do. */
  readonly orders: string;
  readonly options: RalphOptions;
  /** What the agent does for a story: a shell script. */
  does(story: string, mode: string, script: string): void;
  /** Its turns so far. */
  turns(): readonly LaneTurn[];
}

interface LaneTurn {
  readonly story: string;
  readonly mode: string;
  readonly at: number;
  readonly pid: number;
}

export function plain(id: string, more: Partial<Story> = {}): Story {
  return story(id, { notes: '', ...more });
}

export function laneRig(stories: readonly Story[], env: Readonly<Record<string, string>> = {}): LaneRig {
  const project = prdRepo(...stories);
  return rigFor(project, env);
}

export function rigFor(project: Repo, env: Readonly<Record<string, string>> = {}): LaneRig {
  const { orders, bin, turns } = scriptedClaude<LaneTurn>('lane-agent.mjs');
  return {
    project,
    orders,
    turns,
    options: { cwd: project.dir, path: [bin], env: { IS_SANDBOX: '1', LANE_AGENT: orders, ...env } },
    does: (id, mode, script) => writeFileSync(join(orders, `${id}.${mode}`), script),
  };
}

export type ParallelResult = LoopResult & { readonly lanes: readonly LaneOutcome[] };

export async function runParallel({ options }: LaneRig, ...args: readonly string[]) {
  const finished = await ralph(['prd', 'run', '--agent', 'claude', '--json', ...args], options);
  return { ...finished, result: resultIn(finished.stdout) };
}

export function startParallel({ options }: LaneRig, ...args: readonly string[]) {
  return startRalph(['prd', 'run', '--agent', 'claude', '--json', ...args], options);
}

export function resultIn(stdout: string): ParallelResult {
  const line = stdout.split('\n').find(each => each.startsWith('{"runId"'));
  if (line === undefined) throw new Error(`there is no result in:\n${stdout}`);
  return JSON.parse(line);
}

/** The files of the branch that has landed, by name; of a submodule its commit. */
export function landedFiles({ project }: LaneRig, branch: string): Readonly<Record<string, string>> {
  const lines = project.git('ls-tree', '-r', branch).trim().split('\n');
  const entries = lines.map(line => /^\d+ (\w+) (\w+)\t(.*)$/.exec(line) ?? []);
  return Object.fromEntries(
    entries.map(([, type, oid = '', name = '']) => [
      name,
      type === 'commit' ? oid : project.git('cat-file', 'blob', oid),
    ]),
  );
}

/** What may depend neither on who was first, nor on how often a turn was begun. */
export function whatLanded(landed: Readonly<Record<string, string>>) {
  const { 'ralph/progress.txt': progress = '', 'ralph/tasks.json': list = '{}', ...files } = landed;
  const stories: readonly { id: string; reviewStatus: string; passes: boolean }[] =
    JSON.parse(list).userStories;
  return {
    files,
    stories: stories.map(({ id, reviewStatus, passes }) => `${id} ${reviewStatus} ${passes}`),
    log: [...new Set(progress.split('\n').filter(line => / implement$/.test(line)))].sort(),
  };
}
