/** Lanes have a name, a number and ports of their own; what `laneSetup` makes for one is taken away, also after a kill. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type LaneRig, resultIn, rigFor } from '../rig/lanes.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const FLAGS = ['--agent', 'claude', '--json', '--tasks', 'tasks.md', '--parallel', '2'];
const NOTE = (what: string, at: string) =>
  `echo "$RALPH_LANE $RALPH_LANE_INDEX $RALPH_PORT" >> "${at}/${what}"`;

function rigWith(tasks: string) {
  const notes = folder().dir;
  const rig = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': tasks, '.gitignore': '.ralph/\n' }));
  const [laneSetup, laneTeardown] = [NOTE('up', notes), NOTE('down', notes)];
  // Contained, a clean proof would write its notes into a folder of its own.
  rig.project.settings({ laneSetup, laneTeardown, containment: 'off' });
  for (const lane of ['T1', 'T2'])
    rig.does(lane, 'task', `${NOTE(`agent-${lane}`, notes)}; mkdir -p work; echo ${lane} > work/${lane}`);
  const lines = (what: string) => readFileSync(join(notes, what), 'utf8').trim().split('\n').sort();
  return { rig, notes, lines, check: NOTE('check', notes) };
}

const states = ({ project }: LaneRig, run: string) =>
  readFileSync(project.path(`.ralph/runs/${run}/events.jsonl`), 'utf8')
    .split('\n')
    .flatMap(line => /"type":"lane-place".*?"state":"(\w+)"/.exec(line)?.[1] ?? []);

it('agent, checks and candidates of a lane have what is its own, made once and taken away', {
  tags: ['promise', 'P-lanes'],
}, async () => {
  const { rig, lines, check } = rigWith('- [ ] Add one\n- [ ] Add two\n');
  const { stdout, stderr } = await ralph(['loop', ...FLAGS, '--check', check], rig.options);
  const result = resultIn(stdout);
  expect(result.success, stderr).toBe(true);
  const up = lines('up');
  expect(up).toHaveLength(2);
  expect(up[0]).toMatch(/^r[a-z0-9]+n0t1 0 [23]\d{3}0$/);
  expect(up[1]).toMatch(/^r[a-z0-9]+n1t2 1 [23]\d{3}0$/);
  expect(lines('down')).toEqual(up);
  expect([...lines('agent-T1'), ...lines('agent-T2')]).toEqual(up);
  // In the lane, and on the candidate.
  expect(lines('check').filter(line => line === up[0]).length).toBeGreaterThanOrEqual(2);
  expect(new Set(lines('check'))).toEqual(new Set(up));
});

/** Killed while the agent works. */
async function rigKilled() {
  const made = rigWith('- [ ] Add one\n');
  const { rig, notes, check } = made;
  const begun = join(notes, 'begun');
  rig.does(
    'T1',
    'task',
    `test -e "${begun}" || { touch "${begun}"; sleep 600; }; ${NOTE('agent', notes)}; mkdir -p work; echo 1 > work/one`,
  );
  const { process: child, finished } = startRalph(['loop', ...FLAGS, '--check', check], rig.options);
  await expect.poll(() => existsSync(begun)).toBe(true);
  child.kill('SIGKILL');
  await finished;
  expect(readdirSync(notes)).not.toContain('down');
  return made;
}

it('after a kill it is not made again, and it is taken away at the end', async () => {
  const { rig, lines } = await rigKilled();
  const { stdout, stderr } = await ralph(['resume', '--json'], rig.options);
  const result = resultIn(stdout);
  expect(result.success, stderr).toBe(true);
  const name = (what: string) => lines(what).map(line => line.split(' ')[0]);
  expect([name('up'), name('down')]).toEqual([[expect.any(String)], name('up')]);
  expect(states(rig, result.runId)).toEqual(['begun', 'ready', 'gone']);
});

it('after a kill a lane has the same ports, where what was made for it listens', async () => {
  const { rig, lines } = await rigKilled();
  const [up = ''] = lines('up');
  const server = createServer();
  await new Promise<void>(resolve => server.listen(Number(up.split(' ')[2]), resolve));
  const { code, stderr } = await ralph(['resume', '--json'], rig.options);
  server.close();
  expect(code, stderr).toBe(0);
  expect([lines('agent'), lines('down')]).toEqual([[up], [up]]);
});

it.each([
  ['discarded', ['discard']],
  ['removed', ['prune', '--keep', '0', '--force']],
])('of a run that was killed and is %s it is taken away', async (_, words) => {
  const { rig, lines } = await rigKilled();
  const { code, stderr } = await ralph(words, rig.options);
  expect(code, stderr).toBe(0);
  expect(lines('down')).toEqual(lines('up'));
});

it('a laneTeardown that hangs ends when the user asks once more, and is run again with the run', async () => {
  const { rig, notes, lines, check } = rigWith('- [ ] Add one\n');
  const hangs = join(notes, 'hangs');
  const down = NOTE('down', notes);
  const laneTeardown = `test -e "${hangs}" && ${down} || { touch "${hangs}"; sleep 600; }`;
  rig.project.settings({ laneSetup: NOTE('up', notes), laneTeardown, containment: 'off' });
  const running = startRalph(['loop', ...FLAGS, '--check', check], rig.options);
  await expect.poll(() => existsSync(hangs)).toBe(true);
  running.process.kill('SIGINT');
  await running.until('Press Ctrl-C again');
  running.process.kill('SIGINT');
  const again = setInterval(() => running.process.kill('SIGINT'), 100);
  const { code, stdout, stderr } = await running.finished;
  clearInterval(again);
  expect([code, stderr]).toEqual([130, expect.stringContaining('had for itself is left')]);
  expect(states(rig, resultIn(stdout).runId)).toEqual(['begun', 'ready']);
  expect((await ralph(['resume', '--json'], rig.options)).code).toBe(0);
  expect(lines('down')).toEqual(lines('up'));
});

it('a lane whose place cannot be made needs the user, who is told why', async () => {
  const { rig, check } = rigWith('- [ ] Add one\n');
  rig.project.settings({ laneSetup: 'echo no such server; exit 3' });
  const { code, stdout } = await ralph(['loop', ...FLAGS, '--check', check], rig.options);
  const result = resultIn(stdout);
  expect([code, result.stopReason]).toEqual([1, 'needs_you']);
  expect(result.detail).toMatch(/laneSetup .*no such server/);
});
