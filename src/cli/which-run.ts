/** Which run a command means: one that is named by part of its id, or the latest; where there is none here, a unit of the fleet. */
import { type LedgerTrust, trustSentence } from '../domain/run/ledger-trust.ts';
import type { ExitCode } from '../domain/run/stop-reason.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Database } from '../fleet/database.ts';
import { databaseUrl } from '../fleet/database-url.ts';
import type { UnitReading } from '../fleet/reading.ts';
import { fileSize } from '../platform/files.ts';
import { isRunning } from '../store/lease.ts';
import { laterLedger } from '../store/ledger-end.ts';
import { repairMirror } from '../store/mirror.ts';
import { type ProjectPaths, projectAt, type RunPaths, runPaths } from '../store/paths.ts';
import { findRun, liveRuns } from '../store/run-file.ts';
import { type Call, orThrow, Problems, refuse } from './command.ts';
import type { Output } from './output.ts';

export const RUN_ARGUMENT = ['[run]', 'a run, or part of its id; without it the latest'] as const;

/** The flag that every command of the fleet has. */
export const DATABASE = [
  '--database <url>',
  'the PostgreSQL of the fleet (default: RALPH_DATABASE_URL, or that of `ralph fleet up`)',
] as const;

export const RUN_DATABASE = [
  '--database <url>',
  'show a unit of this fleet (default: where there is no such run here, one of RALPH_DATABASE_URL, or of `ralph fleet up`)',
] as const;

export interface WantedRun {
  readonly id: string;
  readonly project: ProjectPaths;
  readonly paths: RunPaths;
  /** Where it is a unit of the fleet: a copy of it. */
  readonly unit?: UnitReading;
}

export type Wanting = Pick<Call, 'args' | 'cwd' | 'env' | 'options' | 'output'>;

/** A command without an id means this run: it is the latest, and no other is running. */
export function isMeant(project: ProjectPaths, id: string): boolean {
  return findRun(project) === id && liveRuns(project).every(live => live.id === id);
}

/** `show` has until its end to ask for what is new. */
export async function withRun<Value>(
  call: Wanting,
  show: (run: WantedRun) => Value | Promise<Value>,
): Promise<Value> {
  const { args, cwd, env, options } = call;
  if (options.database !== undefined) return withUnit(call, show);
  const project = projectAt(cwd, env);
  const id = findRun(project, args[0]);
  if (!isProblem(id)) {
    const paths = runPaths(project, id);
    repairShown(call.output, [paths]);
    return show({ id, project, paths });
  }
  if (args[0] === undefined || isProblem(databaseUrl({}, env))) throw new Problems([id]);
  return withUnit(call, show, id);
}

/** `missing`: why it is no run of this project. */
export async function withUnit<Value>(
  { args, options, env }: Wanting,
  show: (run: WantedRun) => Value | Promise<Value>,
  missing?: Problem,
): Promise<Value> {
  const [{ findUnit }, { openReading }] = await Promise.all([
    import('../fleet/units.ts'),
    import('../fleet/reading.ts'),
  ]);
  const act = async (database: Database) => {
    const found = await findUnit(database, args[0]);
    if (isProblem(found)) throw alsoMissing(found, missing);
    const unit = orThrow(await openReading(database, env, found.id));
    const later = laterLedger(unit.id, unit.paths.events);
    if (later) throw new Problems([later]);
    if (options.follow !== true) refuseUnbegun(unit);
    return show({ ...unit, unit });
  };
  return withDatabase({ options, env }, act, { missing });
}

const alsoMissing = (problem: Problem, missing: Problem | undefined) =>
  new Problems(missing ? [missing, problem] : [problem]);

/** Opened and closed. What fails of it meanwhile is said in words, as when it cannot be opened. */
export async function withDatabase<Value>(
  { options, env }: Pick<Call, 'options' | 'env'>,
  act: (database: Database) => Promise<Value>,
  { missing, isWorker = false }: { readonly missing?: Problem | undefined; readonly isWorker?: boolean } = {},
): Promise<Value> {
  const { openFleet } = await import('../fleet/open.ts');
  const database = await openFleet(options, env, { isWorker });
  if (isProblem(database)) throw alsoMissing(database, missing);
  try {
    return await act(database);
  } catch (error) {
    const problem = database.problemOf(error);
    throw problem ? new Problems([problem]) : error;
  } finally {
    await database.close();
  }
}

function refuseUnbegun({ id, paths, unit, isOver }: UnitReading): void {
  if (fileSize(paths.events) > 0) return;
  const { state, detail } = unit();
  if (isOver()) refuse(id, `it has no ledger: ${state} before it began${detail ? `: ${detail}` : ''}`);
  refuse(id, `it has no ledger yet: it is ${state}`, '`ralph fleet status` says what it waits for');
}

/** Says on stderr when what was shown is not what Ralph wrote, or may not be. Returns how the command ends. */
export function warnOfLedger(output: Output, command: string, trust: LedgerTrust): ExitCode {
  if (trust.kind === 'intact') return 0;
  output.error(`ralph ${command}: ${trustSentence(trust)}.\n`);
  return 1;
}

/** Puts right what is shown of runs in the project, the latest first, and says so. Whoever drives one does that itself. */
export function repairShown(output: Output, runs: readonly RunPaths[]): void {
  for (const paths of runs.toReversed()) {
    const wrong = isRunning(paths) ? undefined : repairMirror(paths);
    if (wrong !== undefined) output.error(`${wrong}: it was put back.\n`);
  }
}
