/** Dependency cycles among stories, in a list of any length. */

/** By story, the ids that it waits for. */
export type Needs = ReadonlyMap<string, readonly string[]>;

/** By story, a cycle that it is part of. */
export function findCycles(needs: Needs): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const id of findBlocked(needs)) {
    if (found.has(id)) continue;
    const cycle = findCycleFrom(id, needs) ?? [];
    for (const member of cycle) if (!found.has(member)) found.set(member, cycle);
  }
  return found;
}

/** Takes out, as long as there is one, a story that waits for none of those left: in a sound list none is left. */
function findBlocked(needs: Needs): readonly string[] {
  const waiting = new Map([...needs].map(([id, ids]) => [id, ids.filter(each => needs.has(each)).length]));
  const neededBy = new Map<string, string[]>([...needs.keys()].map(id => [id, []]));
  for (const [id, ids] of needs) for (const each of ids) neededBy.get(each)?.push(id);
  const free = [...waiting].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    waiting.delete(id);
    for (const other of neededBy.get(id) ?? []) {
      const left = (waiting.get(other) ?? 0) - 1;
      waiting.set(other, left);
      if (left === 0) free.push(other);
    }
  }
  return [...waiting.keys()];
}

/** The shortest way from a story back to itself, without its end. */
function findCycleFrom(start: string, needs: Needs): readonly string[] | undefined {
  const reachedFrom = new Map<string, string>();
  const waiting = [start];
  for (let at = 0; at < waiting.length; at++) {
    const id = waiting[at] as string;
    for (const next of needs.get(id) ?? []) {
      if (next === start) return pathTo(id, start, reachedFrom);
      if (reachedFrom.has(next)) continue;
      reachedFrom.set(next, id);
      waiting.push(next);
    }
  }
  return undefined;
}

function pathTo(end: string, start: string, reachedFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [end];
  for (let id = end; id !== start; way.push(id)) id = reachedFrom.get(id) as string;
  return way.reverse();
}

/** Nobody follows a longer one. */
const SHOWN = 8;

/** `A → B → A`, from the story on. */
export function formatCycle(cycle: readonly string[], id: string): string {
  const from = cycle.indexOf(id);
  const way = Array.from(
    { length: Math.min(cycle.length, SHOWN) },
    (_, at) => cycle[(from + at) % cycle.length],
  );
  return [...way, ...(cycle.length > SHOWN ? [`${cycle.length - SHOWN} more`] : []), id].join(' → ');
}
