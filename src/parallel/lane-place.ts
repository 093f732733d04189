/**
 * What a lane has for itself on this machine: a name for its databases, a number, ten ports, and what `laneSetup` made for it. Agents and checks
 * of the lane find it in their environment.
 */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Board, laneOf } from '../domain/lanes/board.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { warn } from '../run/steps.ts';
import type { StopRequest } from '../run/stop.ts';
import type { RunContext } from '../run/turns/context.ts';
import { runCommand } from '../run/turns/run-command.ts';
import { type Env, statePaths } from '../store/state.ts';
import { releaseOwner, tryClaim } from '../workspace/lock.ts';

export interface OwnPlace {
  /** That of the run, with what the lane has. */
  readonly env: Env;
  /** Its ports are anybody's again. */
  release(): void;
}

export interface LaneName {
  readonly run: string;
  readonly lane: string;
  readonly index: number;
}

/** Letters and digits, a letter first, no longer than a database allows; the number tells lanes apart whose ids differ in other signs alone. */
export function laneSlug({ run, lane, index }: LaneName): string {
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return `r${letters(run)}n${index}${letters(lane)}`.slice(0, 48);
}

/** `before`: the first of the ports with which it was made; what listens there is what was made. */
export async function openLanePlace(env: Env, name: LaneName, before?: number): Promise<OwnPlace | Problem> {
  const slug = laneSlug(name);
  const block = await keepPorts(join(statePaths(env).folder, 'ports'), slug, before);
  if (isProblem(block)) return block;
  const { port, release } = block;
  const own = { RALPH_LANE: slug, RALPH_LANE_INDEX: String(name.index), RALPH_PORT: String(port) };
  return { env: { ...env, ...own }, release };
}

/** Below those that systems give away by themselves. */
const FIRST_PORT = 20_000;
const BLOCKS = 1_200;
const IN_A_BLOCK = 10;

/** Ten that nobody listens on and no other lane on this machine has; a lane that comes back gets the same, where they are free. */
async function keepPorts(folder: string, slug: string, before: number | undefined) {
  ensureFolder(folder);
  const start = Number.parseInt(sha256(slug).slice(0, 8), 16);
  const all = Array.from({ length: BLOCKS }, (_, at) => FIRST_PORT + ((start + at) % BLOCKS) * IN_A_BLOCK);
  for (const port of before === undefined ? all : [before, ...all]) {
    const file = join(folder, String(port));
    const claimed = tryClaim(file);
    if (isProblem(claimed)) return claimed;
    if (claimed === 'held') continue;
    const release = () => releaseOwner(file);
    if (port === before || (await areFree(port))) return { port, release };
    release();
  }
  const what = `none of the ports from ${FIRST_PORT} to ${FIRST_PORT + BLOCKS * IN_A_BLOCK - 1} is free`;
  return { where: folder, what, fix: 'end what listens there' };
}

async function areFree(first: number): Promise<boolean> {
  const ports = Array.from({ length: IN_A_BLOCK }, (_, at) => first + at);
  return (await Promise.all(ports.map(isFree))).every(Boolean);
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

export type LanePlaces = ReturnType<typeof createPlaces>;

interface PlacesWorld {
  readonly parts: RunContext;
  readonly runId: string;
  readonly stop: Pick<StopRequest, 'insisted'>;
  board(): Board;
}

/** Those of the lanes of a run: each is opened when it is first asked for, and closed when its lane is over. */
export function createPlaces({ parts, runId, board, stop: { insisted } }: PlacesWorld) {
  const open = new Map<string, Promise<OwnPlace | Problem>>();
  const { emit, env } = parts;
  const of = (id: string): Promise<OwnPlace | Problem> => {
    const index = board().lanes.findIndex(lane => lane.id === id);
    const before = laneOf(board(), id)?.port;
    const place = open.get(id) ?? openLanePlace(env, { run: runId, lane: id, index }, before);
    open.set(id, place);
    return place;
  };
  const close = async (id: string): Promise<void> => {
    const isMade = laneOf(board(), id)?.place !== undefined;
    if (!isMade && !open.has(id)) return;
    const place = await of(id);
    open.delete(id);
    if (isProblem(place)) return;
    if (isMade) {
      await tearDown({ ...parts, env: place.env }, insisted);
      // What was cut off is done again when the run is resumed.
      if (!insisted.aborted) emit({ type: 'lane-place', story: id, state: 'gone' });
    }
    place.release();
  };
  return {
    of,
    close,
    /** Also made ready, where the run of the lane did not do that here. */
    async ready(id: string): Promise<OwnPlace | Problem> {
      const place = await of(id);
      const setUp = isProblem(place) ? undefined : setUpOf(parts, board, id, place.env);
      if (isProblem(place) || !setUp) return place;
      setUp.begins();
      const problem = await runCommand({ ...parts, env: place.env }, 'laneSetup');
      if (problem) return problem;
      setUp.done();
      return place;
    },
    /** For the run that makes it ready. */
    setUpOf: (id: string, own: Env) => setUpOf(parts, board, id, own),
    /** Also those that a run that was killed has left. */
    async closeAll(): Promise<void> {
      for (const { id } of board().lanes) await close(id);
    },
  };
}

/** Makes the place of a lane ready: it is on record before anything is made, so that it is taken away after a kill, too. */
export interface LaneSetUp {
  begins(): void;
  done(): void;
}

function setUpOf(
  { emit, settings }: RunContext,
  board: () => Board,
  story: string,
  own: Env,
): LaneSetUp | undefined {
  const { laneSetup, laneTeardown } = settings;
  const isWanted = laneSetup !== undefined || laneTeardown !== undefined;
  if (!isWanted || laneOf(board(), story)?.place === 'ready') return undefined;
  return {
    begins: () => emit({ type: 'lane-place', story, state: 'begun', port: Number(own.RALPH_PORT) }),
    done: () => emit({ type: 'lane-place', story, state: 'ready' }),
  };
}

/** Neither a stop of the run nor the end of its time ends this; whoever asks for its end once more does not wait for it. */
async function tearDown(context: RunContext, insisted: AbortSignal): Promise<void> {
  const { maxTime: _, ...settings } = context.settings;
  const to = { ...context, settings, stopping: insisted, abort: insisted };
  const problem = await runCommand(to, 'laneTeardown');
  if (problem)
    warn(context.emit, `What ${context.env.RALPH_LANE} had for itself is left: ${formatProblem(problem)}`);
}
