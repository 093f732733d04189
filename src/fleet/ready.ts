/** The place of a unit, ready for its run: made anew from what the holder before has left, or as this worker has left it. */
import { existsSync } from 'node:fs';
import { isProblem, type Problem } from '../domain/problem.ts';
import { type LedgerLine, openJournal } from '../store/journal.ts';
import { projectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { unpack } from './carry.ts';
import { beginningOf, makePlace, openPlace, type Place, placeFolder } from './place.ts';
import type { Unit } from './unit.ts';
import { allLines, type Claim } from './units.ts';
import type { UnitWorld } from './work-unit.ts';

export function pathsOf(
  { folder, env }: Pick<UnitWorld, 'folder' | 'env'>,
  { id }: Pick<Unit, 'id'>,
): RunPaths {
  return runPaths(projectPaths(placeFolder(folder, id), env), id);
}

export interface Ready {
  readonly place: Place;
  readonly paths: RunPaths;
  readonly isBegun: boolean;
  readonly isFresh: boolean;
  /** The last line that the database has. */
  readonly after: number;
  /** Lines that are here and not there: of a unit that this worker has had before. */
  readonly unsent: readonly LedgerLine[];
}

export async function getReady({ unit, before }: Claim, world: UnitWorld): Promise<Ready | Problem> {
  const { database, folder, env, worker } = world;
  const paths = pathsOf(world, unit);
  const lines = await allLines(database, unit.id);
  const after = lines.at(-1)?.seq ?? 0;
  if (before === worker && existsSync(paths.run) && unit.carry !== null) {
    const place = await openPlace(placeFolder(folder, unit.id), env);
    return isProblem(place)
      ? place
      : { place, paths, after, isBegun: true, isFresh: false, unsent: unsentLines(paths, after) };
  }
  const beginning = beginningOf(unit);
  const place = await makePlace(folder, env, beginning);
  if (isProblem(place)) return place;
  const isBegun = beginning.carry
    ? await unpack(place.own, paths, beginning.carry.commit, lines, place.root)
    : false;
  return isProblem(isBegun) ? isBegun : { place, paths, after, isBegun, isFresh: true, unsent: [] };
}

function unsentLines(paths: RunPaths, after: number): Ready['unsent'] {
  const journal = openJournal(paths.events);
  try {
    return [...journal.each()]
      .filter(({ seq }) => seq > after)
      .map(entry => ({ seq: entry.seq, type: entry.type, text: JSON.stringify(entry) }));
  } finally {
    journal.close();
  }
}
