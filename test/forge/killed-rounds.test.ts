/** Ralph is killed at each request while the base conflicts and somebody else has pushed: nothing is lost, and nothing is done twice. */
import { expect, test } from 'vitest';
import { loopEnded } from '../rig/ended-run.ts';
import { fleetRig } from '../rig/fleet.ts';
import { createForge, type Fake } from '../rig/forge.ts';
import { type Kill, killedAt } from '../rig/killed.ts';
import { laneRig, plain } from '../rig/lanes.ts';
import { runsOf } from '../rig/ledger.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { type RalphOptions, ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { killPlaces } from '../rig/thorough.ts';

const TIME = { timeout: 240_000 };
const SOLVE = 'if grep -q "<<<<" README.md; then echo both > README.md; fi';

/** Has a pull request; others have changed its base and its branch. */
async function killedRounds(forge: Fake, branch: string, run: string, kill: Kill, options: RalphOptions) {
  const opened = await ralph(['pr', run], options);
  expect(opened.code, opened.stderr).toBe(0);
  forge.push(branch, { 'theirs.txt': 'theirs\n' });
  forge.push('main', { 'README.md': 'theirs\n', 'later.txt': 'later\n' });
  forge.conflictsWithBase(branch);
  const args = ['pr', run, '--json', '--follow', '--ready', '--poll', '0.05'];
  const { code, stdout, stderr } = await killedAt(forge, kill, args, options);
  const files = ['theirs.txt', 'later.txt', 'README.md'];
  const now = files.map(file => forge.has(branch, file) && forge.bare.git('show', `${branch}:${file}`));
  expect([code, now], stdout + stderr).toEqual([0, ['theirs\n', 'later\n', 'both\n']]);
  const statuses = forge.state.comments.filter(({ body }) => body.includes('status-'));
  const { pulls } = forge.once(branch);
  // Ralph's first, theirs, and one for each round.
  const pushes = forge.pushes(branch).length;
  return { pulls, pushes, hasMarks: forge.hasMarks(branch), comments: statuses.length };
}

const ONCE = { pulls: [false], pushes: 4, hasMarks: false, comments: 1 };

test.each(killPlaces(31, 1))('a loop: at request %i, %s it is done', TIME, async (...kill: Kill) => {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  await loopEnded(work, { script: `test -f new.txt || echo ours > README.md; echo new > new.txt; ${SOLVE}` });
  const [id = ''] = runsOf(work);
  const options = { cwd: work.dir, env: forge.env };
  // What others have pushed is taken in without a push.
  expect(await killedRounds(forge, 'ralph/login', id, kill, options)).toEqual({ ...ONCE, pushes: 3 });
});

test.each(killPlaces(44, 2))('a parallel run: at request %i, %s it is done', TIME, async (...kill: Kill) => {
  const rig = laneRig([plain('US-001'), plain('US-002')]);
  const forge = await createForge(rig.project);
  const options = { ...rig.options, env: { ...rig.options.env, ...forge.env } };
  rig.does('US-001', 'implement', 'mkdir -p work; echo new > work/US-001.txt; echo ours > README.md');
  for (const round of [1, 2, 3]) rig.does(`round-${round}`, 'task', SOLVE);
  const args = ['prd', 'run', '--agent', 'claude', '--parallel', '2', '--check', 'test -d work'];
  const { code, stdout, stderr } = await ralph([...args, '--max-iterations', '6'], options);
  expect(code, stdout + stderr).toBe(0);
  const [id = ''] = runsOf(rig.project);
  expect(await killedRounds(forge, `ralph/${id}/_int`, id, kill, options)).toEqual(ONCE);
});

describeWithPostgres('a unit of a fleet', () => {
  const postgres = sharedPostgres();

  test.each(killPlaces(48, 2))('at request %i, %s it is done', TIME, async (...kill: Kill) => {
    const rig = fleetRig(await postgres().createDatabase());
    const forge = await createForge(rig.project, rig.remote);
    rig.does('echo done > work.txt; echo ours > README.md', SOLVE);
    const unit = await rig.submit('Write it', '--check', 'grep -q done work.txt');
    rig.worker('one');
    await rig.untilState(unit, 'done');
    const env = { ...rig.env, ...forge.env, XDG_STATE_HOME: folder('ralph-elsewhere-').dir };
    expect(await killedRounds(forge, `ralph/${unit}`, unit, kill, { ...rig.options, env })).toEqual(ONCE);
  });
});
