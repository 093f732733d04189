/** What the runs, worktrees and branches of a parallel run are called. */
import type { Board, Lane } from '../domain/board.ts';

/** Letters that a branch and a folder may have, and no two lanes the same. */
export function worktreeName(run: string, lane: Pick<Lane, 'id'>, { lanes }: Pick<Board, 'lanes'>): string {
  return `${run}/${slugOf(
    lane.id,
    lanes.map(({ id }) => id),
  )}`;
}

function slugOf(id: string, all: readonly string[]): string {
  const plain = (each: string) =>
    each
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[-_]+|-+$/g, '')
      .slice(0, 40) || 'work';
  const own = plain(id);
  const isTaken =
    own === '_int' || all.some(each => each !== id && plain(each).toLowerCase() === own.toLowerCase());
  return isTaken ? `${own}-${all.indexOf(id) + 1}` : own;
}

/** `20261115-015913-k3f9.US-001`, and `.2` behind it when it was sent back once. */
export function childId(worktree: string, { runs }: Lane): string {
  const name = worktree.replace('/', '.');
  return runs.length === 0 ? name : `${name}.${runs.length + 1}`;
}
