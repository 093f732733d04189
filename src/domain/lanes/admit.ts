/** Which work of a parallel run begins now. Pure: the same board gives the same answer. */
import type { Board, Lane } from './board.ts';

export interface Room {
  /** How many may be worked on at the same time. */
  readonly slots: number;
  /** The account of the agents is limited: nothing is begun. */
  readonly isLimited: boolean;
  /** A further turn can be paid for. */
  readonly hasMoney: boolean;
}

/** More of them waiting in the queue, and nothing new is begun: it would only wait there, too, on an older base. */
export const MOST_QUEUED = 2;

/** What was sent back first, then what is ready by priority, those first whose likely files nobody else is changing. */
export function admit(board: Board, { slots, isLimited, hasMoney }: Room): readonly string[] {
  const running = board.lanes.filter(({ isRunning }) => isRunning);
  const free = slots - running.length;
  if (free <= 0 || isLimited || !hasMoney) return [];
  const idle = board.lanes.filter(lane => lane.state === 'waiting' && !lane.isRunning);
  const returned = idle.filter(({ sentBack }) => sentBack);
  const isFull = board.queue.length > MOST_QUEUED;
  const fresh = isFull ? [] : idle.filter(lane => !lane.sentBack && isReady(board, lane));
  return choose([...byPriority(returned), ...byPriority(fresh)], running, free);
}

function isReady({ landed }: Board, { needs }: Lane): boolean {
  return needs.every(id => landed.some(({ story }) => story === id));
}

/** Of the same priority the order of the list stays. */
function byPriority(lanes: readonly Lane[]): readonly Lane[] {
  return [...lanes].sort((one, other) => one.priority - other.priority);
}

function choose(ready: readonly Lane[], running: readonly Lane[], free: number): readonly string[] {
  const taken = new Set(running.flatMap(({ files }) => files));
  const chosen: Lane[] = [];
  const left = [...ready];
  while (chosen.length < free && left.length > 0) {
    const first = left[0] as Lane;
    const equal = left.filter(lane => lane.priority === first.priority && !lane.sentBack === !first.sentBack);
    const next = equal.find(({ files }) => !files.some(file => taken.has(file))) ?? first;
    left.splice(left.indexOf(next), 1);
    chosen.push(next);
    for (const file of next.files) taken.add(file);
  }
  return chosen.map(({ id }) => id);
}

/** Words of a text that look like files of the project: `src/login.ts`, `README.md`. */
export function likelyFiles(texts: readonly string[]): readonly string[] {
  const found = texts.flatMap(
    text => text.replace(/https?:\S+/g, '').match(/[\w@.-]+(?:\/[\w@.-]+)+|\b[\w-]+\.[a-z]{1,5}\b/g) ?? [],
  );
  return [...new Set(found.filter(word => !/^\d+(\.\d+)+$|^(e\.g|i\.e)$/.test(word)))];
}
