/** The run that a user wants to steer: by its id, by part of it, or by the name of what a parallel run works on. */
import { type Lane, parentOf } from '../domain/board.ts';
import type { Problem } from '../domain/problem.ts';
import { readPast } from './checkpoint.ts';

import type { ProjectPaths } from './paths.ts';
import { findRun, type LiveRun, listRuns, liveRun } from './run-file.ts';

/** Something that a running parallel run works on, and nobody does right now. */
export interface IdleLane {
  readonly run: string;
  readonly lane: Lane;
}

export type FoundRun = LiveRun | { readonly ended: string } | { readonly idle: IdleLane } | Problem;

/** The one that is named, or the only one that is running. A run that has ended is known by its id alone. */
export function findLiveRun(project: ProjectPaths, wanted?: string): FoundRun {
  const live = listRuns(project).flatMap(id => liveRun(project, id) ?? []);
  const exact = live.find(({ id }) => id === wanted);
  if (exact) return exact;
  const whole = live.filter(({ id }) => parentOf(id) === undefined);
  const fits = whole.filter(({ id }) => id.includes(wanted ?? ''));
  if (fits.length > 0) return onlyOne(fits, wanted);
  const lanes = wanted === undefined ? [] : whole.flatMap(run => laneNamed(run, wanted));
  const [first] = lanes;
  if (first && lanes.length === 1)
    return live.find(({ id }) => id === first.lane.runs.at(-1)) ?? { idle: first };
  if (first) {
    const what = `${lanes.length} running runs work on it: ${lanes.map(({ run }) => run).join(', ')}`;
    return { where: wanted ?? '', what, fix: `name the run: ${first.run}.${wanted}` };
  }
  const parts = live.filter(({ id }) => id.includes(wanted ?? ''));
  if (parts.length > 0) return onlyOne(parts, wanted);
  const id = findRun(project, wanted);
  return typeof id === 'string' ? { ended: id } : id;
}

function onlyOne(fits: readonly LiveRun[], wanted: string | undefined): LiveRun | Problem {
  const [only] = fits;
  if (only && fits.length === 1) return only;
  const what = `${fits.length} are running: ${fits.map(({ id }) => id).join(', ')}`;
  return { where: wanted ?? 'run', what };
}

function laneNamed({ id: run, paths, file }: LiveRun, wanted: string): readonly IdleLane[] {
  if (file.given?.crew === undefined) return [];
  const lane = laneIn(paths, wanted);
  return lane ? [{ run, lane }] : [];
}

/** By its name; the case of letters does not matter. */
export function laneIn(paths: LiveRun['paths'], wanted: string): Lane | undefined {
  const name = wanted.toLowerCase();
  return readPast(paths).past.board?.lanes.find(({ id }) => id.toLowerCase() === name);
}

/** Those of its runs that somebody drives. */
export function liveChildren(project: ProjectPaths, parent: string): readonly LiveRun[] {
  return listRuns(project)
    .filter(id => parentOf(id) === parent)
    .flatMap(id => liveRun(project, id) ?? []);
}
