/** What every unit shows when it is over, whatever happened to its workers. */
import { expect } from 'vitest';
import type { FleetRig } from '../rig/fleet.ts';

export const CHECKED = [
  'Write it',
  '--check',
  'grep -q done work.txt',
  '--check',
  'test -e first.txt',
] as const;

/** And nobody has anything more to do for it. */
export function untilShown(rig: FleetRig, unit: string): Promise<void> {
  return rig.until('the branch', async () => {
    const [row] = await rig.sql('select job from ralph.unit where id = $1', unit);
    return row?.job === null && rig.remote.git('for-each-ref').includes(`refs/heads/ralph/${unit}\n`);
  });
}

/** All that others believe of a unit. */
export async function standing(rig: FleetRig, unit: string) {
  return {
    events: await rig.sql('select seq, fence, line from ralph.event where unit = $1 order by seq', unit),
    unit: await rig.sql('select * from ralph.unit where id = $1', unit),
    artifacts: await rig.sql('select name, sha256 from ralph.artifact where unit = $1 order by name', unit),
    branches: rig.remote.git('for-each-ref', 'refs/heads'),
  };
}

/** Once, with the work of one undisturbed machine. */
export async function expectEnded(
  rig: FleetRig,
  unit: string,
  { fence, turns, name }: { readonly fence?: number; readonly turns: number; readonly name?: string },
): Promise<void> {
  await untilShown(rig, unit);
  const [row] = await rig.sql(
    'select fence::int as fence, stop_reason, head_sha, worker from ralph.unit where id = $1',
    unit,
  );
  expect(row, name).toMatchObject({
    stop_reason: 'all_checks_passed',
    ...(fence !== undefined && { fence }),
  });
  expect(
    rig.turns().filter(({ cwd }) => cwd.includes(unit)),
    name,
  ).toHaveLength(turns);
  expect(rig.remote.git('rev-parse', `ralph/${unit}`).trim()).toBe(row?.head_sha);
  const files = rig.remote.git('ls-tree', '-r', '--name-only', `ralph/${unit}`).trim().split('\n');
  expect(files).toEqual(['README.md', 'first.txt', 'work.txt']);
  expect(rig.remote.git('show', `ralph/${unit}:work.txt`)).toBe('done\n');
  const events = await rig.sql(
    'select seq::int as seq, type from ralph.event where unit = $1 order by seq',
    unit,
  );
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  expect(events.filter(({ type }) => type === 'run-ended').length).toBeGreaterThan(0);
}
