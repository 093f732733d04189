/** The unit that a user means: its whole id, a part of it that fits no other, or nothing for the latest one. */
import type { Problem } from '../domain/problem.ts';
import type { Unit } from './unit.ts';
import { findUnits, type Querying } from './units.ts';

export async function findUnit(database: Querying, words: string | undefined): Promise<Unit | Problem> {
  const found = await findUnits(database, words);
  const whole = found.filter(({ parent }) => parent === null);
  const fits = words === undefined ? whole.slice(-1) : found.filter(({ id }) => id === words);
  // Part of the id of a list of stories is in those of all its stories.
  const [only, ...more] = fits.length > 0 ? fits : whole.length > 0 ? whole : found;
  const where = words ?? 'unit';
  if (!only) return { where, what: 'there is no such unit', fix: '`ralph fleet status --all` lists them' };
  if (more.length === 0) return only;
  const some = [only, ...more].slice(0, 5).map(({ id }) => id);
  return { where, what: `fits ${more.length + 1} units: ${some.join(', ')}` };
}
