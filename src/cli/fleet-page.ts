/** The units of a fleet for the dashboard: listed, opened and steered through the database. */
import { userInfo } from 'node:os';
import type { Elsewhere, RunElsewhere } from '../dashboard/elsewhere.ts';
import type { ListedRun } from '../dashboard/projects.ts';
import { isProblem } from '../domain/problem.ts';
import { cancelUnit, tellUnit } from '../fleet/commands.ts';
import type { Database } from '../fleet/database.ts';
import { type ListedUnit, listUnits } from '../fleet/list-units.ts';
import { openReading, type UnitReading } from '../fleet/reading.ts';
import { OVER } from '../fleet/unit.ts';
import { unitOf } from '../fleet/units.ts';
import { readSurroundings, waitsFor } from '../fleet/view.ts';
import type { Message } from '../store/inbox.ts';
import type { Env } from '../store/state.ts';
import type { Steered } from '../store/steering.ts';

/** Whole units in the list; more are in `ralph fleet status --all`. */
const SHOWN = 200;
/** Units whose copies are kept up to date. */
const MOST_OPEN = 32;

export function fleetPage(database: Database, env: Env): Elsewhere {
  const open = new Map<string, RunElsewhere>();
  return {
    root: `fleet ${database.shown}`,
    async list() {
      const surroundings = await readSurroundings(database);
      return (await listUnits(database, SHOWN)).map(unit =>
        listedUnit({ ...unit, detail: waitsFor(unit, surroundings) ?? unit.detail }),
      );
    },
    async open(id) {
      const known = open.get(id);
      if (known) {
        await known.refresh();
        return known;
      }
      // A name from outside never becomes a path unless it is the name of a unit.
      if (!(await unitOf(database, id))) return undefined;
      const reading = await openReading(database, env, id);
      if (isProblem(reading)) return undefined;
      const run = {
        project: reading.project,
        refresh: oneAtATime(reading),
        steer: steering(database, reading),
      };
      open.set(id, run);
      for (const oldest of open.keys()) if (open.size > MOST_OPEN) open.delete(oldest);
      return run;
    },
  };
}

/** However many pages show it. */
function oneAtATime({ refresh }: UnitReading): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= refresh().finally(() => {
      running = undefined;
    });
    return running;
  };
}

function steering(database: Database, { id, unit, isOver, refresh }: UnitReading) {
  return async (order: Message): Promise<Steered> => {
    await refresh();
    if (isOver()) return { message: `${id} is over: ${unit().state}.`, done: false };
    const user = userInfo().username;
    const isHeld = unit().state === 'running';
    if (order.kind === 'cancel' && (!order.gently || !isHeld)) {
      const isCancelled = await cancelUnit(database, id, user);
      return {
        message: isCancelled ? `${id} is cancelled.` : `${id} stops now. Its work is kept.`,
        done: true,
      };
    }
    await tellUnit(database, id, order, user);
    const who = isHeld ? `worker ${unit().worker}` : 'worker that takes it';
    return { message: `The ${who} gets it within a second.`, done: true };
  };
}

function listedUnit(unit: ListedUnit): ListedRun {
  const { id, kind, state, title, worker, detail, cost, iterations, stopReason, startedAt } = unit;
  const isOver = OVER.includes(state);
  const standing = state === 'done' ? 'done' : isOver ? 'stopped' : 'running';
  return {
    ...{ id, cost, stopReason, iteration: iterations, state: standing },
    title: [title, detail].filter(Boolean).join(' — '),
    ...(worker !== null && { worker }),
    now: standing === 'running' && state !== 'running' ? 'waiting' : standing,
    command: kind === 'loop' ? 'loop' : 'prd',
    startedAt: startedAt?.toISOString() ?? null,
    // Nobody has looked at it yet: that is done when it is opened.
    ledger: { kind: 'none' },
    ...{ agent: null, sandbox: null, story: null, until: null, maxIterations: null, proof: null },
    ...{ resumable: false, isLost: false, paused: false, questions: [], raise: null, lanes: null },
    checks: { passed: 0, failed: 0 },
  };
}
