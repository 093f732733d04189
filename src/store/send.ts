/**
 * Steers a run from outside. The commands, the keys, the dashboard and the library all send their messages here; what is behind the
 * name decides how a message gets there: a run, a parallel run with its lanes, or the loop of an agent session.
 */
import { type Lane, parentOf } from '../domain/lanes/board.ts';
import { openQuestions, questionWords } from '../domain/stories/questions.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { readState } from './checkpoint.ts';
import { type Message, readMessages, sendMessage } from './inbox.ts';
import { overviewOf } from './overview.ts';
import { type ProjectPaths, type RunPaths, runPaths } from './paths.ts';
import { findRun, type LiveRun, listRuns, liveRun, readRunFile } from './run-file.ts';
import { listSessions } from './session-file.ts';
import { cancel } from './session-ledger.ts';

export interface Sent {
  /** One sentence for people. */
  readonly message: string;
  /** Whether it changed anything. */
  readonly done: boolean;
  /** The run that got the message. */
  readonly runId: string;
}

/** To the run that is named by its id, by part of it or by the name of a lane, or to the only one that is running. */
export function send(
  project: ProjectPaths,
  wanted: string | undefined,
  order: Message,
  now: number,
): Sent | Problem {
  const target = findTarget(project, wanted);
  if (isProblem(target)) return target;
  if ('lane' in target) return sendToIdle(project, target, order, now);
  const file = readRunFile(runPaths(project, target.id));
  if (file?.command === 'session') return sendToSession(project, target.id, order);
  return (file?.given?.parallel === undefined ? sendToRun : sendToWhole)(project, target, order, now);
}

interface Target {
  readonly id: string;
  readonly isLive: boolean;
}

/** A lane of a running parallel run that nobody works on right now. */
interface IdleLane {
  readonly run: string;
  readonly lane: Lane;
}

/** A run that has ended is known by its id alone. */
function findTarget(project: ProjectPaths, wanted?: string): Target | IdleLane | Problem {
  const ids = listRuns(project);
  const live = ids.flatMap(id => liveRun(project, id) ?? []);
  const isLive = (id: string | undefined) => live.some(each => each.id === id);
  if (wanted !== undefined && ids.includes(wanted)) return { id: wanted, isLive: isLive(wanted) };
  const whole = live.filter(({ id }) => parentOf(id) === undefined);
  const fits = whole.filter(({ id }) => id.includes(wanted ?? ''));
  if (fits.length > 0) return onlyOne(fits, wanted);
  const lanes = wanted === undefined ? [] : whole.flatMap(run => laneNamed(run, wanted));
  const [first] = lanes;
  if (first && lanes.length === 1) {
    const id = first.lane.runs.at(-1);
    return id !== undefined && isLive(id) ? { id, isLive: true } : first;
  }
  if (first) {
    const what = `${lanes.length} running runs work on it: ${lanes.map(({ run }) => run).join(', ')}`;
    return { where: wanted ?? '', what, fix: `name the run: ${first.run}.${wanted}` };
  }
  const parts = live.filter(({ id }) => id.includes(wanted ?? ''));
  if (parts.length > 0) return onlyOne(parts, wanted);
  const id = findRun(project, wanted);
  return isProblem(id) ? id : { id, isLive: false };
}

function onlyOne(fits: readonly LiveRun[], wanted = 'run'): Target | Problem {
  const [only] = fits;
  if (only && fits.length === 1) return { id: only.id, isLive: true };
  return { where: wanted, what: `${fits.length} are running: ${fits.map(({ id }) => id).join(', ')}` };
}

function laneNamed({ id: run, paths, file }: LiveRun, wanted: string): readonly IdleLane[] {
  const lane = file.given?.parallel === undefined ? undefined : laneIn(paths, wanted);
  return lane ? [{ run, lane }] : [];
}

/** By its name; the case of letters does not matter. */
function laneIn(paths: RunPaths, wanted: string): Lane | undefined {
  const name = wanted.toLowerCase();
  return readState(paths).state.board?.lanes.find(({ id }) => id.toLowerCase() === name);
}

function sendToRun(project: ProjectPaths, { id, isLive }: Target, order: Message, now: number): Sent {
  const paths = runPaths(project, id);
  const refused = refusalOf(project, { id, isLive }, order);
  if (refused !== undefined) return { message: refused, done: false, runId: id };
  sendMessage(paths, order, now);
  const resume = isLive ? '' : ` It is not running: ralph resume ${parentOf(id) ?? id}`;
  return { message: `${confirmation(id, order)}${resume}`, done: true, runId: id };
}

/** Why the message would change nothing; undefined: it would. Only an answer waits for a run to be resumed. */
function refusalOf(project: ProjectPaths, { id, isLive }: Target, order: Message): string | undefined {
  const paths = runPaths(project, id);
  const isPaused = () => pauseIsPending(paths) || overviewOf(id, paths).state === 'paused';
  if (!isLive && order.kind !== 'answer') return `${id} is not running.`;
  if (order.kind === 'pause') return isPaused() ? `${id} is already paused.` : undefined;
  if (order.kind === 'continue') return isPaused() ? undefined : `${id} is not paused.`;
  if (order.kind !== 'answer') return undefined;
  const open = openQuestions(readState(paths).state.questions);
  if (!open.some(({ story }) => story === order.story))
    return [`${order.story} has no open question.`, ...open.map(questionWords)].join(' ');
  const whole = parentOf(id) ?? id;
  if (isLive || overviewOf(whole, runPaths(project, whole)).resumable) return undefined;
  return `${whole} has ended and cannot be resumed, so nobody would read the answer. Write it into the story in tasks.json, then start a new run: ralph prd run`;
}

function confirmation(id: string, order: Message): string {
  switch (order.kind) {
    case 'pause':
      return `${id} will pause after this turn. Continue it with: ralph continue ${id}`;
    case 'continue':
      return `${id} continues.`;
    case 'cancel':
      return `${id} stops ${order.gently ? 'after this step' : 'now'}. Its work is kept.`;
    case 'tell':
      return `Queued for the next iteration of ${id}.`;
    case 'answer':
      return `The answer for ${order.story} is with ${id}: it is in the next prompt of that story.`;
    default:
      return order satisfies never;
  }
}

/** The run has been asked to pause and is still in its turn. */
export function pauseIsPending(paths: Pick<RunPaths, 'state'>): boolean {
  const last = readMessages(paths).findLast(({ kind }) => kind === 'pause' || kind === 'continue');
  return last?.kind === 'pause';
}

/** A hint for the whole reaches every run of it, an answer the one that asked. */
function sendToWhole(project: ProjectPaths, target: Target, order: Message, now: number): Sent {
  const { id, isLive } = target;
  if (order.kind === 'answer') {
    const lane = laneIn(runPaths(project, id), order.story);
    const child = lane?.runs.at(-1);
    if (lane === undefined || child === undefined)
      return { message: `${order.story} has no open question.`, done: false, runId: id };
    const asked = { id: child, isLive: isLive || liveRun(project, child) !== undefined };
    return sendToRun(project, asked, { ...order, story: lane.id }, now);
  }
  const children = isLive
    ? listRuns(project).filter(each => parentOf(each) === id && liveRun(project, each) !== undefined)
    : [];
  if (isLive && order.kind === 'tell') return tellAll(project, id, children, order, now);
  const { message, done } = sendToRun(project, target, order, now);
  const paused =
    order.kind === 'continue' && !done
      ? children.filter(each => pauseIsPending(runPaths(project, each)))
      : [];
  const also = paused.map(each => ` ${each} is paused: ralph continue ${each}`).join('');
  return { message: `${message}${also}`, done, runId: id };
}

/** What begins later does not get it: a hint is for what is being done now. */
function tellAll(
  project: ProjectPaths,
  id: string,
  children: readonly string[],
  order: Message,
  now: number,
): Sent {
  if (children.length === 0)
    return { message: `No agent of ${id} works right now: tell it later.`, done: false, runId: id };
  for (const child of children) sendMessage(runPaths(project, child), order, now);
  const names = children.map(child => child.slice(id.length + 1)).join(', ');
  return { message: `Queued for the next iteration of ${names} in ${id}.`, done: true, runId: id };
}

function sendToIdle(project: ProjectPaths, { run, lane }: IdleLane, order: Message, now: number): Sent {
  if (order.kind === 'answer') return sendToWhole(project, { id: run, isLive: true }, order, now);
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

/** Its host drives it, and reads no inbox. */
function sendToSession({ root }: ProjectPaths, id: string, order: Message): Sent {
  const file = listSessions(root).find(each => 'state' in each && each.state.runId === id);
  if (!file || !('state' in file)) return { message: `${id} is not running.`, done: false, runId: id };
  if (order.kind === 'cancel' && cancel(root, file))
    return { message: confirmation(id, { kind: 'cancel', gently: false }), done: true, runId: id };
  const message = `${id} is the loop of an agent session: steer it there, or take it into this terminal with \`ralph continue-here\`.`;
  return { message, done: false, runId: id };
}
