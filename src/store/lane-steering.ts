/** Steering a run that may be a parallel one: a hint for the whole reaches every run of it, an answer the one that asked. */
import { type Lane, parentOf } from '../domain/board.ts';
import { type FoundRun, type IdleLane, laneIn, liveChildren } from './find-live.ts';
import type { Message } from './inbox.ts';
import { type ProjectPaths, runPaths } from './paths.ts';
import { type LiveRun, liveRun, readRunFile } from './run-file.ts';
import { pauseIsPending, type Steered, steerRun } from './steering.ts';

/** With the run that got the message. */
export type SteeredRun = Steered & { readonly runId: string };

type Found = Pick<LiveRun, 'id'> | Exclude<FoundRun, LiveRun | { readonly what: string }>;

export function steerFound(project: ProjectPaths, found: Found, order: Message, now: number): SteeredRun {
  if ('idle' in found) return steerIdle(project, found.idle, order, now);
  const id = 'ended' in found ? found.ended : found.id;
  const paths = runPaths(project, id);
  const isLive = !('ended' in found);
  if (readRunFile(paths)?.given?.crew !== undefined) return steerWhole(project, { id, isLive }, order, now);
  return isLive ? steerLive({ id, paths }, order, now) : steerEnded(project, id, order, now);
}

function steerLive(run: Pick<LiveRun, 'id' | 'paths'>, order: Message, now: number): SteeredRun {
  return { ...steerRun(run, order, now), runId: run.id };
}

/** Only an answer waits for a run to be resumed. */
function steerEnded(project: ProjectPaths, id: string, order: Message, now: number): SteeredRun {
  if (order.kind !== 'answer') return { message: `${id} is not running.`, done: false, runId: id };
  const { message, done } = steerRun({ id, paths: runPaths(project, id) }, order, now);
  const resume = `It is not running: ralph resume ${parentOf(id) ?? id}`;
  return { message: done ? `${message} ${resume}` : message, done, runId: id };
}

interface Whole {
  readonly id: string;
  readonly isLive: boolean;
}

function steerWhole(project: ProjectPaths, { id, isLive }: Whole, order: Message, now: number): SteeredRun {
  const paths = runPaths(project, id);
  if (order.kind === 'answer') {
    const lane = laneIn(paths, order.story);
    const child = lane?.runs.at(-1);
    if (lane === undefined || child === undefined)
      return { message: `${order.story} has no open question.`, done: false, runId: id };
    const live = liveRun(project, child);
    const asked = { ...order, story: lane.id };
    if (live) return steerLive(live, asked, now);
    return isLive
      ? steerLive({ id: child, paths: runPaths(project, child) }, asked, now)
      : steerEnded(project, child, asked, now);
  }
  if (!isLive) return steerEnded(project, id, order, now);
  const children = liveChildren(project, id);
  if (order.kind === 'tell') return tellAll(id, children, order, now);
  const { message, done } = steerRun({ id, paths }, order, now);
  const paused = order.kind === 'continue' && !done ? children.filter(run => pauseIsPending(run.paths)) : [];
  const also = paused.map(run => ` ${run.id} is paused: ralph continue ${run.id}`).join('');
  return { message: `${message}${also}`, done, runId: id };
}

/** What begins later does not get it: a hint is for what is being done now. */
function tellAll(id: string, children: readonly LiveRun[], order: Message, now: number): SteeredRun {
  if (children.length === 0)
    return { message: `No agent of ${id} works right now: tell it later.`, done: false, runId: id };
  for (const child of children) steerRun(child, order, now);
  const names = children.map(child => child.id.slice(id.length + 1)).join(', ');
  return { message: `Queued for the next iteration of ${names} in ${id}.`, done: true, runId: id };
}

function steerIdle(project: ProjectPaths, { run, lane }: IdleLane, order: Message, now: number): SteeredRun {
  if (order.kind === 'answer') return steerWhole(project, { id: run, isLive: true }, order, now);
  return { message: idleWords(run, lane), done: false, runId: lane.runs.at(-1) ?? run };
}

function idleWords(run: string, { id, state, needs, why, sentBack }: Lane): string {
  const where = `${id} in ${run}`;
  switch (state) {
    case 'waiting':
      if (sentBack) return `${where} was sent back, and waits to be worked on again.`;
      return `${where} has not begun${needs.length === 0 ? '' : `: it depends on ${needs.join(', ')}`}.`;
    case 'queued':
      return `${where} is in the merge queue: no agent works on it.`;
    case 'landed':
      return `${where} has landed.`;
    case 'kept':
      return `${where} is done, and its work is kept on a branch.`;
    case 'needs_you':
      return `${where} has stopped: ${why ?? 'it needs you'} \`ralph resume ${run}\` tries it again when the run is over.`;
    case 'building':
    case 'reviewing':
      return `${where} is between two steps: try again in a moment.`;
    default:
      return state satisfies never;
  }
}
