/** An agent that deletes `.ralph`, by `git clean -fdx` or by name: the run continues, and what was written down is there afterwards. */
import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { story } from '../domain/stories/stories.ts';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const SETTINGS = { protect: ['test/**'] };

function project(): Repo {
  const made = repo({ 'README.md': '# test\n', 'test/a.txt': 'a\n' });
  made.settings(SETTINGS);
  return made;
}

/** An agent that is a shell script; `$P` is the project, and `turn N` is true in its Nth turn. */
function scripted(script: string, { dir }: Repo): string {
  const place = folder('ralph-agent-');
  const turns = `'${place.path('turns')}'`;
  const setUp = `cat > /dev/null; P='${dir}'; echo >> ${turns}; turn() { [ "$(wc -l < ${turns})" -eq "$1" ]; }`;
  return place.script('agent', `${setUp}\n${script}`);
}

const run = (made: Repo, ...args: string[]) => ralph(args, { cwd: made.dir });
const runs = (made: Repo) => readdirSync(made.path('.ralph/runs')).sort();

async function earlierRun(made: Repo): Promise<string> {
  const done = scripted(`echo '<response>DONE</response>'`, made);
  await run(made, 'run', '-p', 'an earlier one', '--agent', done);
  return runs(made)[0] ?? '';
}

/** Every reader finds both runs, and the ledgers are what Ralph wrote. */
async function expectWhole(made: Repo): Promise<void> {
  const told = JSON.parse((await run(made, 'status', '--json')).stdout);
  const ledgers = told.runs.map((each: { ledger: { kind: string } }) => each.ledger.kind);
  expect(ledgers).toEqual(runs(made).map(() => 'intact'));
  for (const id of runs(made))
    for (const command of ['log', 'report', 'explain']) {
      const { code, stdout, stderr } = await run(made, command, id);
      expect([command, code, stderr]).toEqual([command, 0, '']);
      expect(stdout).not.toContain('has been changed');
    }
  expect(JSON.parse(made.read('.ralph/settings.json'))).toEqual(SETTINGS);
}

const TAG = `echo '<promise>COMPLETE</promise>'`;
const SWEEP = { 'git clean': 'git clean -ffdxq', 'rm -rf': 'rm -rf .ralph test' };

describe.each(Object.entries(SWEEP))('%s by the agent', (_, sweep) => {
  test('in `ralph run`: the run continues to its end', async () => {
    const made = project();
    const earlier = await earlierRun(made);
    const agent = scripted(`${sweep}; turn 2 && echo '<response>DONE</response>'; true`, made);
    const { code, stdout } = await run(made, 'run', '-p', 'say it', '--agent', agent, '--json');
    const told = JSON.parse(stdout);
    expect([code, told.stopReason, told.iterations.length]).toEqual([0, 'promise_accepted', 2]);
    expect(told.iterations[0].violations).toEqual(
      expect.arrayContaining([
        `.ralph/runs/${told.runId} was deleted`,
        `the earlier run ${earlier} was deleted`,
      ]),
    );
    await expectWhole(made);
  });

  test('in `ralph loop --protect`: what is protected is put back, and the run can be resumed', async () => {
    const made = project();
    await earlierRun(made);
    const agent = scripted(`${sweep}; echo x > work; turn 1 || ${TAG}`, made);
    const args = ['loop', 'do it', '--agent', agent, '--check', 'test -e work && test -e test/a.txt'];
    const first = await run(made, ...args, '--max-iterations', '1', '--json');
    expect([first.code, JSON.parse(first.stdout).stopReason]).toEqual([1, 'max_iterations']);
    expect(made.read('test/a.txt')).toBe('a\n');
    await expectWhole(made);
    const { code, stdout } = await run(made, 'resume', '--max-iterations', '5', '--json');
    expect([code, JSON.parse(stdout).stopReason]).toEqual([0, 'all_checks_passed']);
    await expectWhole(made);
  });
});

describe('in `ralph loop --worktree`', () => {
  test.each([
    ['a clean of the worktree leaves the run alone', 'git clean -fdxq -e work'],
    ['the worktree is created again as it was last checked', 'rm -rf "$P/.ralph"'],
  ])('%s', async (_, sweep) => {
    const made = project();
    await earlierRun(made);
    const agent = scripted(`turn 1 && echo x > work; turn 2 && { ${sweep}; }; turn 3 && ${TAG}; true`, made);
    const args = ['loop', 'do it', '--agent', agent, '--check', 'test -e work', '--worktree=w', '--json'];
    const { code, stdout } = await run(made, ...args);
    expect([code, JSON.parse(stdout).stopReason]).toEqual([0, 'all_checks_passed']);
    expect(made.read('.ralph/worktrees/w/work')).toBe('x\n');
    await expectWhole(made);
  });
});

test('in `ralph prd run`: the list and the reviews continue', async () => {
  const made = prdRepo(story('US-001', { notes: '' }));
  const sweep = { also: (turn: FakeTurn) => turn.shell('rm -rf .ralph') };
  const agent = await fakeAgent('claude', works(made, handIn(), sweep), works(made, approve(), sweep));
  const { code, result } = await prdRun(made, agent.bin);
  expect([code, result.stopReason]).toEqual([0, 'all_stories_approved']);
  const [id = ''] = runs(made);
  expect((await run(made, 'report', id)).stdout).toContain('US-001');
  expect((await run(made, 'prd', 'status')).code).toBe(0);
});

test('a check that deletes it stops nothing either', { tags: 'promise' }, async () => {
  const made = project();
  const agent = scripted(`echo x > work; ${TAG}`, made);
  const checks = ['--check', 'rm -rf .ralph/runs', '--check', 'true'];
  const { code } = await run(made, 'loop', 'do it', '--agent', agent, ...checks);
  expect(code).toBe(0);
  await expectWhole(made);
});

test('a link in its place leads nowhere', async () => {
  const made = project();
  const elsewhere = folder('ralph-elsewhere-').dir;
  symlinkSync(elsewhere, made.path('trap'));
  const agent = scripted(`rm -rf .ralph; mv trap .ralph; echo '<response>DONE</response>'`, made);
  const { code } = await run(made, 'run', '-p', 'say it', '--agent', agent);
  expect(code).toBe(0);
  expect(readdirSync(elsewhere)).toEqual([]);
  expect(existsSync(made.path('.ralph/runs'))).toBe(true);
});

describe('and Ralph is killed before the turn is over', () => {
  /** The second turn never ends. */
  async function killedAfter(made: Repo, sweep: string, args: readonly string[]): Promise<void> {
    const { open: arrived, opened: turn } = createGate<FakeTurn>();
    const agent = await fakeAgent(
      'agent',
      async each => {
        await each.write('work', 'x\n');
        each.exit();
      },
      arrived,
    );
    const run = startRalph([...args, '--agent', 'agent'], { cwd: made.dir, path: [agent.bin] });
    await (await turn).shell(`cd '${made.dir}' && ${sweep}`);
    run.process.kill('SIGKILL');
    await run.finished;
  }
  const ends = async (made: Repo, ...args: string[]) => {
    const agent = await fakeAgent('agent', async turn => {
      await turn.print('<promise>COMPLETE</promise><response>DONE</response>\n');
      turn.exit();
    });
    return ralph(['resume', ...args, '--json'], { cwd: made.dir, path: [agent.bin] });
  };

  test.each([
    ['rm -rf .ralph', ['run', '-p', 'say it']],
    ['git clean -ffdxq -e work', ['run', '-p', 'say it']],
    ['rm -rf .ralph && ln -s /tmp .ralph', ['run', '-p', 'say it']],
    ['rm -rf .ralph/runs', ['loop', 'do it', '--check', 'test -e work', '--protect', 'test/**']],
    ['rm -rf .ralph', ['loop', 'do it', '--check', 'test -e work', '--worktree=w']],
  ])('%s in `ralph %s`: `ralph resume` finds the run, with its settings', async (sweep, args) => {
    const made = project();
    const earlier = await earlierRun(made);
    await killedAfter(made, sweep, args);
    const { code, stdout, stderr } = await ends(made);
    expect([code, stderr.includes('was put back')]).toEqual([0, true]);
    expect(JSON.parse(stdout).iterations).toHaveLength(2);
    expect(runs(made)).toContain(earlier);
    await expectWhole(made);
  });

  test('every reader finds it all the same, and a later run does not hide it', async () => {
    const made = project();
    await killedAfter(made, 'rm -rf .ralph', ['run', '-p', 'say it']);
    const first = await run(made, 'log');
    const [id = ''] = runs(made);
    expect([first.code, first.stderr]).toEqual([0, `.ralph/runs/${id} was deleted: it was put back.\n`]);
    expect(JSON.parse(made.read('.ralph/settings.json'))).toEqual(SETTINGS);
    rmSync(made.path('.ralph/runs'), { recursive: true });
    const done = scripted(`echo '<response>DONE</response>'`, made);
    await run(made, 'run', '-p', 'a later one', '--agent', done);
    const { code, stdout } = await ends(made);
    expect([code, JSON.parse(stdout).runId]).toEqual([0, id]);
  });
});
