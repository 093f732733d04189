/** The units of a fleet for the dashboard: listed, opened and steered through the database. */
import { userInfo } from 'node:os';
import type { OtherRun, OtherRuns } from '../dashboard/projects.ts';
import { sameFor } from '../domain/text/fields.ts';
import { isProblem } from '../domain/text/problem.ts';
import { sendToUnit } from '../fleet/commands.ts';
import type { Database } from '../fleet/database.ts';
import { openReading, type UnitReading } from '../fleet/reading.ts';
import { OVER } from '../fleet/unit.ts';
import { unitOf } from '../fleet/units.ts';
import { type ListedUnit, listUnits, readSurroundings, waitsFor } from '../fleet/view.ts';
import type { ListedRun } from '../report/run-view.ts';
import type { Message } from '../store/inbox.ts';
import type { Env } from '../store/state.ts';

/** Whole units in the list; more are in `ralph fleet status --all`. */
const SHOWN = 200;
/** Units whose copies are kept up to date. */
const MOST_OPEN = 32;

export function fleetPage(database: Database, env: Env): OtherRuns {
  const open = new Map<string, OtherRun>();
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
        async steer(order: Message) {
          await reading.refresh();
          return sendToUnit(database, reading.unit(), order, userInfo().username);
        },
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
    // It is in the database; what is copied from there is looked at when it is opened.
    ledger: { kind: 'intact' },
    ...sameFor(null, 'agent', 'sandbox', 'story', 'until', 'maxIterations', 'proof'),
    ...sameFor(null, 'raise', 'lanes', 'pullRequest', 'said'),
    ...{ resumable: false, isLost: false, paused: false, questions: [] },
    checks: { passed: 0, failed: 0 },
  };
}
