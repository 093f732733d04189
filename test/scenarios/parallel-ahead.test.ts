/** Checks that are slower than the work: a candidate is checked before the one that it stands on has landed. */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type LaneRig, landedFiles, laneRig, plain, runParallel } from '../rig/lanes.ts';

const STORIES = ['US-001', 'US-002', 'US-003'];
const RED_TOGETHER = 'if test -e work/US-001.txt && test -e work/US-002.txt; then exit 1; fi';

it('checks the next candidate meanwhile, and lands both in order', async () => {
  const rig = slowRig('exit 0');
  const { result, stderr } = await runAhead(rig);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  expect(rig.hasMet('checked-together')).toBe(true);
  expect(landingOrder(rig.lanes)).toEqual(STORIES);
  expect(rig.lanes.turns().filter(({ mode }) => mode === 'merge-fix')).toEqual([]);
});

it('throws away what stands on a candidate that fails, and blames nobody else for it', async () => {
  const rig = slowRig(RED_TOGETHER);
  rig.lanes.does('US-002', 'merge-fix', 'mv work/US-002.txt work/US-002.repaired.txt');
  const { result, stderr } = await runAhead(rig);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  expect(rig.hasMet('checked-together')).toBe(true);
  const returns = result.lanes.map(lane => [lane.id, lane.returns]);
  expect(returns).toEqual([
    ['US-001', 0],
    ['US-002', 1],
    ['US-003', 0],
  ]);
  expect(landingOrder(rig.lanes)).toEqual(['US-001', 'US-003', 'US-002']);
  expect(Object.keys(landedFiles(rig.lanes, 'ralph/demo'))).toContain('work/US-002.repaired.txt');
});

/** The checks wait for each other through files outside, which a clean check that is contained would have to itself. */
function runAhead({ lanes, check }: ReturnType<typeof slowRig>) {
  return runParallel(lanes, '--parallel', '8', '--check', check, '--containment', 'off');
}

/**
 * Three stories that are queued one after the other, and a slow check. The candidate with two of them is not done before the one with
 * three has begun: it takes both at once to land any of them. `rule`: what the check says of a candidate, behind that.
 */
function slowRig(rule: string) {
  const lanes = laneRig(STORIES.map(id => plain(id)));
  const pipe = (name: string) => {
    const path = join(lanes.orders, name);
    spawnSync('mkfifo', [path]);
    return path;
  };
  const [second, third, together] = [pipe('second'), pipe('third'), pipe('together')];
  const build = 'mkdir -p work; echo "$STORY" > "work/$STORY.txt"';
  lanes.does('US-002', 'implement', `read x < ${second}; ${build}`);
  lanes.does('US-003', 'implement', `read x < ${third}; ${build}`);
  const once = (name: string) => `mkdir ${join(lanes.orders, name)} 2>/dev/null`;
  const check = join(lanes.orders, 'check.sh');
  writeFileSync(
    check,
    `test -e .git && exit 0 # in a lane
case $(ls work | wc -l) in
1) ${once('one')} && { sleep 1; echo > ${second}; } ;;
2) ${once('two')} && { echo > ${third}; read x < ${together}; } ;;
3) ${once('checked-together')} && echo > ${together} ;;
esac
${rule}
`,
  );
  return { lanes, check: `sh ${check}`, hasMet: (name: string) => existsSync(join(lanes.orders, name)) };
}

function landingOrder({ project }: LaneRig): readonly string[] {
  const added = project.git(
    'log',
    '--first-parent',
    '--reverse',
    '--name-only',
    '--format=',
    'main..ralph/demo',
  );
  return [...added.matchAll(/^work\/(US-\d+)/gm)].map(([, id = '']) => id);
}
