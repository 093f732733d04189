/** What the runs, worktrees, branches and kept commits of a parallel run are called. */
import type { Board, Lane } from '../domain/lanes/board.ts';

/** Letters that a branch and a folder may have, and no two lanes the same. */
export function worktreeName(run: string, { id }: Pick<Lane, 'id'>, { lanes }: Pick<Board, 'lanes'>): string {
  return `${run}/${namesOf(lanes.map(lane => lane.id)).get(id) ?? plain(id)}`;
}

/** Beside them are the tip of the integration branch and the candidates. */
const TAKEN = ['int', 'queue'];

/** Each name is taken once, also where a file system does not tell capitals from small letters. An id that is a name keeps it. */
function namesOf(ids: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(TAKEN);
  const names = new Map<string, string>();
  const isPlain = (id: string) => plain(id) === id;
  for (const id of [...ids.filter(isPlain), ...ids.filter(each => !isPlain(each))]) {
    let name = plain(id);
    for (let number = ids.indexOf(id) + 1; taken.has(name.toLowerCase()); number++)
      name = `${plain(id)}-${number}`;
    taken.add(name.toLowerCase());
    names.set(id, name);
  }
  return names;
}

function plain(id: string): string {
  const letters = id.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[-_]+|-+$/g, '');
  return letters.slice(0, 40) || 'work';
}

/** `20261115-015913-k3f9.US-001`, and `.2` behind it when it was sent back once. */
export function childId(worktree: string, { runs }: Lane): string {
  const name = worktree.replace('/', '.');
  return runs.length === 0 ? name : `${name}.${runs.length + 1}`;
}

/** Where the work of a run is kept: `US-001/2`. */
export function pinName(child: string): string {
  return `${laneName(child)}/${child.split('.').at(-1)}`;
}

/** All that is kept of its lane. */
export function laneName(child: string): string {
  return child.split('.')[1] ?? child;
}
