/** Takes away what `laneSetup` made, where no run does that: a run that was cut off and is given up, a worker that never came back. */
import type { Settings } from '../config/settings-shape.ts';
import { outcomeWords } from '../domain/checks/words.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { openLanePlace } from '../parallel/lane-place.ts';
import { systemClock } from '../platform/clock.ts';
import { errorLine } from '../platform/error-words.ts';
import { openRunStore } from '../store/run-store.ts';
import { withLock } from '../workspace/lock.ts';
import { type EndedRequest, type EndedRun, readEnded } from './leavings.ts';
import { type Outside, proveOutside } from './prove-outside.ts';

/** Of a run that is removed while it could be resumed. One whose ledger nobody can believe says nothing of what to run. */
export async function tearDownRun(request: EndedRequest): Promise<readonly Problem[]> {
  const run = readEnded(request);
  if (isProblem(run)) return [];
  const left = await withLock(run.paths.state.lock, () => tearDownLanes(run));
  return isProblem(left) ? [left] : left;
}

/** Of a run that nobody drives, whose lock the caller has. Returns why something is left, for each lane. */
export async function tearDownLanes(run: EndedRun): Promise<readonly Problem[]> {
  const { id, project, paths, env, settings, past } = run;
  const lanes = past.board?.lanes ?? [];
  const made = lanes.filter(({ place }) => place !== undefined);
  if (made.length === 0) return [];
  const store = openRunStore({ project, id, env, now: systemClock.now, ticks: systemClock.ticks, lost() {} });
  const left: Problem[] = [];
  for (const lane of made) {
    const name = { run: id, lane: lane.id, index: lanes.indexOf(lane) };
    const own = await openLanePlace(env, name, lane.port);
    const problem = isProblem(own)
      ? own
      : await tearDown({ settings, project, paths, env: own.env, abort: NEVER });
    if (problem) left.push(problem);
    store.append({ type: 'lane-place', story: lane.id, state: 'gone' });
    if (!isProblem(own)) own.release();
  }
  await store.flushed();
  store.close();
  return left;
}

/** `env`: with what the lane had. Returns why it is left. */
export async function tearDown(
  world: Pick<Outside, 'project' | 'paths' | 'env' | 'abort'> & { readonly settings: Settings },
): Promise<Problem | undefined> {
  const { laneTeardown: command, setupTimeout: timeout } = world.settings;
  if (command === undefined) return undefined;
  const settings = { ...world.settings, checkRetries: 0 };
  const check = { command, failAction: 'APPEND', timeout } as const;
  const ended = await proveOutside({ ...world, settings, emit() {} }, [check]);
  if (isProblem(ended)) return ended;
  const [result] = ended;
  if (result?.passed) return undefined;
  const how = result ? outcomeWords(result) : 'was cut off';
  return {
    where: `laneTeardown of ${world.env.RALPH_LANE}`,
    what: `it ${how}: ${errorLine(result?.output ?? '')}`,
  };
}

const NEVER = new AbortController().signal;
