/** Parallel runs for tests: lanes, and a queue over an integration branch in memory. */
import type { Settings } from '../../src/config/settings-shape.ts';
import type { CheckFunction } from '../../src/domain/checks/check.ts';
import type { Board, Lane, LaneHead } from '../../src/domain/lanes/board.ts';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { createCheckGate } from '../../src/parallel/check-gate.ts';
import type { LaneWork } from '../../src/parallel/lane-work.ts';
import { createQueue, type QueueWorld } from '../../src/parallel/queue.ts';
import { createGate } from '../rig/gate.ts';
import { functionAgent, turnWorld } from '../run/turns/world.ts';
import { type Files, memory } from './memory.ts';

export function lane(id: string, more: Partial<Lane> = {}): Lane {
  return {
    ...{ id, title: `Title of ${id}`, priority: 1, needs: [], files: [], state: 'waiting', runs: [] },
    ...{ isRunning: false, iterations: 0, returns: 0, used: {} },
    ...more,
  };
}

export const headOf = (id: string): LaneHead => ({
  ...{ id, title: `Title of ${id}`, priority: 1, needs: [], files: [] },
});

export interface WorkOptions {
  readonly check?: CheckFunction;
  readonly isReviewed?: boolean;
  readonly ownPaths?: readonly string[];
  readonly settings?: Partial<Settings>;
}

/** Lanes A, B and C, with one check that is a function. */
export function parallelRun(
  base: Files,
  { check, isReviewed = false, ownPaths = [], settings = {} }: WorkOptions = {},
) {
  const git = memory(base);
  const world = turnWorld({ agents: [functionAgent('one', async () => undefined)], settings });
  const { emit, past } = world.parts;
  const work: LaneWork = {
    ...{ command: 'loop', success: 'all_checks_passed', branch: null, ownPaths, isReviewed },
    lanes: () => ['A', 'B', 'C'].map(headOf),
    firstFiles: () => [],
    checksFor: () => (check ? [{ command: 'check()', failAction: 'APPEND', timeout: 0, call: check }] : []),
    filesWith: async lane => ownPaths.map(path => [path, `${lane} has landed`] as const),
    landed() {},
    open: async () => ({ where: 'lane', what: 'it is not opened here' }),
    resume: async () => ({ where: 'lane', what: 'it is not resumed here' }),
    message: ({ title }) => title,
  };
  emit({ type: 'board-set', base: 'base', tip: 'base', branch: null, lanes: work.lanes() });
  const board = () => past().board as Board;
  const included = { name: 'none', files: 0, copyTo() {}, close() {} };
  const parts = { ...world.parts, protection: undefined, included } as unknown as QueueWorld['parts'];
  const { integration } = git;
  const gate = createCheckGate();
  const place = async () => ({ env: parts.env, release() {} });
  const places = { of: place, ready: place, setUpOf: () => undefined, async close() {}, async closeAll() {} };
  const queueWorld: QueueWorld = { work, parts, integration, runId: 'r1', lanes: 2, board, places, gate };
  /** The work of a lane is proven, and comes into the queue. */
  const queue = async (story: string, onto: string, files: Files, patch?: string) => {
    const head = git.work(onto, files);
    const own = await integration.patchOf(onto, head, ownPaths);
    emit({ type: 'queued', story, head, patch: patch ?? String(own) });
    return head;
  };
  const merging = createQueue(queueWorld);
  /** Until there is nothing to do. */
  const drain = async () => {
    for (;;) {
      const { open: ring, opened: rung } = createGate();
      const isBusy = () => merging.isBusy();
      if (await merging.step(() => ring())) {
        if (isBusy()) await rung;
      } else if (!isBusy()) return;
    }
  };
  const of = (story: string) => board().lanes.find(({ id }) => id === story);
  return {
    ...git,
    ...world,
    laneWork: work,
    board,
    queue,
    drain,
    merging,
    queueWorld,
    of,
    told: () => toldBy(world.events),
  };
}

/** What happened to the lanes, a word each. */
function toldBy(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap(event => {
    if (event.type === 'landed') return [`${event.story} landed`];
    if (event.type === 'sent-back') return [`${event.story} sent back: ${event.why}`];
    if (event.type === 'lane-kept') return [`${event.story} kept: ${event.why}`];
    return [];
  });
}
