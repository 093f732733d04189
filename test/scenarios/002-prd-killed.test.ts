/** `ralph prd run`, killed in the middle of an iteration: what its agent left is not trusted by the next run. */
import { appendFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { STATES, story } from '../domain/stories/stories.ts';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo } from '../rig/repo.ts';
import {
  approve,
  change,
  handIn,
  modesOf,
  prdRepo,
  prdRun,
  reject,
  storyOf,
  tasks,
  UNCHANGED,
  works,
} from '../rig/stories.ts';

/** Runs until the agent has left something, and is then killed. */
async function killed(project: Repo, leave: () => void): Promise<string> {
  const { open: arrived, opened: turn } = createGate<FakeTurn>();
  const agent = await fakeAgent('claude', each => arrived(each));
  const run = startRalph(['prd', 'run', '--agent', 'claude'], { cwd: project.dir, path: [agent.bin] });
  await turn;
  leave();
  run.process.kill('SIGKILL');
  await run.finished;
  return JSON.parse(project.read('.ralph-active')).runId;
}

const left = (project: Repo, edit: (list: ReturnType<typeof tasks>) => unknown) => () =>
  project.write('ralph/tasks.json', JSON.stringify(edit(tasks(project))));
const trial = (project: Repo) => fakeAgent('claude', works(project, UNCHANGED));

test('an approval that nobody has looked at is undone, said, and set aside', async () => {
  const project = prdRepo();
  const id = await killed(
    project,
    left(project, change('US-001', { ...STATES.approved, notes: 'trust me' })),
  );
  expect(existsSync(project.path('.ralph-active'))).toBe(true);
  const agent = await trial(project);
  const { code, result, stderr } = await prdRun(project, agent.bin, '-n', '1');
  expect([code, result.stories.done]).toEqual([1, 0]);
  expect(storyOf(project)).toMatchObject({ passes: false, reviewStatus: null, notes: 'trust me' });
  expect(stderr).toContain(`Run ${id} was killed in an iteration (implement)`);
  expect(stderr).toContain('cannot set passes=true');
  expect(stderr).toContain('that no longer runs');
  expect(project.read(`.ralph/runs/${id}/aside/cut-off/ralph/tasks.json.changed`)).toContain('"approved"');
});

test('half a file is whole again', async () => {
  const project = prdRepo();
  await killed(project, () => project.write('ralph/tasks.json', '{"userStories": ['));
  const agent = await trial(project);
  const { code } = await prdRun(project, agent.bin, '-n', '1');
  expect([code, storyOf(project).id]).toEqual([1, 'US-001']);
});

test('what the iteration may do is kept', async () => {
  const project = prdRepo();
  await killed(project, left(project, handIn()));
  const agent = await trial(project);
  const { result } = await prdRun(project, agent.bin, '-n', '1');
  expect(result.iterations).toMatchObject([{ mode: 'review', story: 'US-001' }]);
});

test('--trust-tasks takes the file as it is', async () => {
  const project = prdRepo();
  await killed(project, left(project, change('US-001', { ...STATES.approved, notes: 'I did it by hand' })));
  const agent = await trial(project);
  const { code, result } = await prdRun(project, agent.bin, '--trust-tasks');
  expect([code, result.stopReason, agent.calls.length]).toEqual([0, 'all_stories_approved', 0]);
});

test.each(['copy', 'ledger'])('records that were changed (%s) vouch for nothing', async what => {
  const project = prdRepo(story('US-001'));
  const id = await killed(project, left(project, change('US-001', { ...STATES.approved, notes: 'x' })));
  const paths = runPaths(projectPaths(project.dir), id);
  const [copy = ''] = readdirSync(dirname(paths.stories('')));
  const changed = what === 'copy' ? join(paths.state.kept, copy.replace('.json', '')) : paths.events;
  appendFileSync(changed, '{"seq":1,"prev":"","type":"notice"}\n');
  const agent = await trial(project);
  const { code, stderr } = await prdRun(project, agent.bin);
  expect([code, agent.calls.length]).toEqual([2, 0]);
  expect(stderr).toContain(`run ${id} was killed, and its own records have been changed`);
  expect(stderr).toContain('--trust-tasks');
  expect((await prdRun(project, agent.bin, '--trust-tasks')).code).toBe(0);
});

test('a run that came to its end leaves nothing to look at: the list is the user’s', async () => {
  const project = prdRepo();
  const agent = await trial(project);
  await prdRun(project, agent.bin, '-n', '1');
  left(project, change('US-001', { ...STATES.approved, notes: 'I did it by hand' }))();
  const { code, result } = await prdRun(project, agent.bin, '--trust-tasks');
  expect([code, result.iterations]).toEqual([0, []]);
});

describe('ralph resume', () => {
  const resume = (project: Repo, bin: string) =>
    ralph(['resume', '--json'], { cwd: project.dir, path: [bin], env: { IS_SANDBOX: '1' } });

  test('goes on in the iteration that was cut off, in its mode, with its number', async () => {
    const project = prdRepo();
    await killed(project, left(project, handIn()));
    const agent = await fakeAgent('claude', works(project, UNCHANGED), works(project, approve()));
    const { code, stdout } = await resume(project, agent.bin);
    const told = JSON.parse(stdout);
    expect([code, told.stopReason]).toEqual([0, 'all_stories_approved']);
    expect(modesOf(told)).toEqual(['implement US-001', 'review US-001']);
    expect(existsSync(project.path('.ralph-active'))).toBe(false);
  });

  test('shows the reviewer what the story changed, also where another process built it', async () => {
    const project = prdRepo();
    const { open: arrived, opened: turn } = createGate<FakeTurn>();
    const also = () => project.write('work.txt', 'built before the kill\n');
    const agent = await fakeAgent('claude', works(project, handIn(), { also }), each => arrived(each));
    const run = startRalph(['prd', 'run', '--agent', 'claude'], { cwd: project.dir, path: [agent.bin] });
    await turn;
    run.process.kill('SIGKILL');
    await run.finished;
    const reviewer = await fakeAgent('claude', works(project, approve()));
    expect((await resume(project, reviewer.bin)).code).toBe(0);
    expect(reviewer.calls[0]?.input).toContain('+built before the kill');
  });

  test('reviews again what a check writes after the approval, when it was killed between the two', async () => {
    const project = prdRepo();
    const { dir } = folder('ralph-killed-');
    const check = `grep -q '"approved"' ralph/tasks.json || exit 0
if [ -e ${dir}/killed ]; then touch backdoor.js; else touch ${dir}/killed; kill -9 $(cat ${dir}/pid); fi`;
    const agent = await fakeAgent('claude', works(project, handIn()), works(project, approve()));
    const run = startRalph(
      [...['prd', 'run', '--agent', 'claude', '--containment', 'off'], '-n', '2', '--check', check],
      { cwd: project.dir, path: [agent.bin] },
    );
    writeFileSync(join(dir, 'pid'), String(run.process.pid));
    expect((await run.finished).signal).toBe('SIGKILL');
    const { code, stdout, stderr } = await resume(project, agent.bin);
    expect(stderr).toContain('not approved: files changed after its review (backdoor.js)');
    expect([code, JSON.parse(stdout).stopReason]).toEqual([1, 'max_iterations']);
  });

  test('does not trust what the agent left, with or without a word of it', async () => {
    const project = prdRepo();
    await killed(project, left(project, change('US-001', { ...STATES.approved, notes: 'trust me' })));
    const agent = await fakeAgent(
      'claude',
      works(project, UNCHANGED),
      works(project, handIn()),
      works(project, approve()),
    );
    const { code, stdout } = await resume(project, agent.bin);
    const told = JSON.parse(stdout);
    expect([code, modesOf(told)]).toEqual([0, ['implement US-001', 'implement US-001', 'review US-001']]);
    expect(told.iterations[0].violations.join()).toContain('cannot set passes=true');
  });

  test('a run that was stopped in good order: with more iterations it goes on with its list', async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, handIn()),
      works(project, reject()),
      works(project, handIn()),
      works(project, approve()),
    );
    await prdRun(project, agent.bin, '-n', '2', '--ralph-dir', './ralph');
    const { code, stdout } = await ralph(['resume', '--max-iterations', '9', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const told = JSON.parse(stdout);
    expect([code, told.iterations.length, told.stories.reviews]).toEqual([0, 4, 2]);
  });

  test('what the user does to the list after a run has stopped is his', async () => {
    const project = prdRepo();
    const agent = await fakeAgent('claude', works(project, handIn()), works(project, handIn()));
    await prdRun(project, agent.bin, '-n', '1');
    const { userStories, ...list } = tasks(project);
    const mine = userStories.map(each => ({ ...each, ...STATES.rejected, notes: 'I looked at it myself' }));
    const edited = { ...list, userStories: [...mine, story('US-002')] };
    project.write('ralph/tasks.json', JSON.stringify(edited));
    const { stdout } = await ralph(['resume', '--max-iterations', '2', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const told = JSON.parse(stdout);
    expect(modesOf(told)).toEqual(['implement US-001', 'review-fix US-001']);
    expect(told.iterations[1].violations).toEqual([]);
    expect(told.stories.total).toBe(2);
  });
});
