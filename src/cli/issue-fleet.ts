/** The units of a fleet for the issues of a repository: in the database, under a name that each issue has once. */
import { hostname, userInfo } from 'node:os';
import { titleOf } from '../domain/run/title.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { sendToUnit } from '../fleet/commands.ts';
import type { Database } from '../fleet/database.ts';
import { openReading, type UnitReading } from '../fleet/reading.ts';
import { checkRepoUrl, type Submission, secretIn, submitUnit } from '../fleet/submit.ts';
import { OVER, type Unit, type UnitConfig } from '../fleet/unit.ts';
import { findUnits, unitOf } from '../fleet/units.ts';
import { readSurroundings, waitsFor } from '../fleet/view.ts';
import { holdWatch, releaseWatch } from '../fleet/watching.ts';
import type { Away } from '../forge/issue-driver.ts';
import type { IssueFleet, IssueUnit } from '../forge/issue-units.ts';
import type { Access } from '../forge/pull-request.ts';
import { sha256 } from '../platform/hash.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { type Env, statePaths } from '../store/state.ts';
import { unitSource } from './unit-source.ts';

export interface FleetWorld {
  readonly database: Database;
  readonly env: Env;
  /** The project from which it is watched. */
  readonly project: ProjectPaths;
  readonly place: Access['place'];
  readonly flags: UnitConfig['flags'];
  readonly terms: Pick<Submission, 'owner' | 'needs' | 'account' | 'budget' | 'priority'>;
  say(line: string): void;
}

/** Milliseconds between two signs of life of whoever watches. */
const SHOW_EVERY = 15_000;

export interface OwnIssueFleet extends IssueFleet {
  close(): Promise<void>;
}

export function openIssueFleet(world: FleetWorld): OwnIssueFleet {
  const { database, env, place } = world;
  const repository = sha256(`${place.base} ${place.owner}/${place.name}`.toLowerCase()).slice(0, 8);
  const idOf = (issue: number) => `issue-${issue}-${repository}`;
  const watcher = sha256(`${hostname()}\0${world.project.root}`);
  const readings = new Map<string, UnitReading>();
  // Whatever else it does, it shows that it is there.
  const shows = setInterval(() => void holdWatch(database, repository, watcher).catch(() => {}), SHOW_EVERY);
  const safely = async <Value>(act: () => Promise<Value | Problem>): Promise<Value | Problem> =>
    act().catch(error => {
      const problem = database.problemOf(error);
      if (problem) return problem;
      throw error;
    });
  return {
    project: projectPaths(statePaths(env).fleet.read(database.shown), env),
    look: (numbers, isBusy) =>
      safely(async () => {
        const other = await holdWatch(database, repository, watcher);
        if (other !== undefined) return watchedBy(other);
        const units = await issueUnits(database, repository, numbers.map(idOf));
        const surroundings = await readSurroundings(database);
        const found = new Map<number, IssueUnit>();
        for (const [issue, unit] of units) {
          const isRead = isBusy(issue) && readings.has(unit.id);
          const problem = isRead ? undefined : await readUnit(world, readings, unit.id);
          if (problem) return problem;
          const isOver = OVER.includes(unit.state);
          const waits =
            waitsFor(unit, surroundings) ?? (WAITING.has(unit.state) ? 'a worker takes it soon' : undefined);
          found.set(issue, { id: unit.id, isOver, isDone: unit.state === 'done', waits });
        }
        return found;
      }),
    submit: ({ issue, task, repoUrl, base }) =>
      safely(async () => {
        const config: UnitConfig = { flags: world.flags, task, issue };
        const flaw = checkRepoUrl(repoUrl, 'the remote') ?? secretIn(config, env);
        if (flaw) return flaw;
        const given = { kind: 'loop', title: titleOf(task) ?? '', repoUrl, base, config } as const;
        const unit = { ...given, ...world.terms, depends: [], again: false, id: idOf(issue.number) };
        const done = await submitUnit(database, unit, new Date());
        return isProblem(done) ? done : undefined;
      }),
    reopen: (id, messages) => safely(async () => readings.get(id)?.reopen(messages)),
    cancel: id =>
      safely(async () => {
        const unit = await unitOf(database, id);
        const order = { kind: 'cancel', gently: false } as const;
        if (unit && !OVER.includes(unit.state)) await sendToUnit(database, unit, order, userInfo().username);
        return undefined;
      }),
    source: (id, given) => unitSource(readings.get(id) as UnitReading, { ...given, say: world.say }),
    async close() {
      clearInterval(shows);
      await releaseWatch(database, repository, watcher).catch(() => {});
    },
  };
}

function watchedBy(host: string): Away {
  const what = `another \`ralph watch --fleet\` watches this repository, on ${host}`;
  return { where: 'watch', what, fix: 'this one takes over when that one has ended', isHeld: true };
}

const WAITING: ReadonlySet<string> = new Set(['ready', 'admitted', 'parked', 'waiting']);

/** By the numbers of their issues: of those that are over only the latest, and those that are asked for. */
async function issueUnits(
  database: Database,
  repository: string,
  ids: readonly string[],
): Promise<ReadonlyMap<number, Unit>> {
  const recent = await findUnits(database, `-${repository}`, false);
  const missing = ids.filter(id => !recent.some(unit => unit.id === id));
  const older = await Promise.all(missing.map(id => unitOf(database, id)));
  const found = new Map<number, Unit>();
  for (const unit of [...recent, ...older]) {
    const [, number] = /^issue-(\d{1,15})-[0-9a-f]{8}$/.exec(unit?.id ?? '') ?? [];
    if (unit && number !== undefined && unit.parent === null) found.set(Number(number), unit);
  }
  return found;
}

/** What it has done, copied to this machine. */
async function readUnit(
  { database, env }: FleetWorld,
  readings: Map<string, UnitReading>,
  id: string,
): Promise<Problem | undefined> {
  const known = readings.get(id);
  if (known) {
    await known.refresh();
    return undefined;
  }
  const reading = await openReading(database, env, id);
  if (isProblem(reading)) return reading;
  readings.set(id, reading);
  return undefined;
}
