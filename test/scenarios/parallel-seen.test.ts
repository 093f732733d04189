/** What users see of a parallel run on a terminal, and how they reach one story of it. */
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LaneRig, laneRig, plain, runParallel } from '../rig/lanes.ts';
import { ralph, startRalph } from '../rig/ralph.ts';

const CHECK = ['--check', 'test -f README.md'];

/** The agent waits in this step until it is ended. */
function holds(rig: LaneRig, story: string, mode: string): void {
  const gate = join(rig.orders, `${story}.${mode}.gate`);
  execFileSync('mkfifo', [gate]);
  rig.does(story, mode, `cat "${gate}"`);
}

async function say(rig: LaneRig, ...args: string[]) {
  const { code, stdout, stderr } = await ralph(args, rig.options);
  return { code, text: `${stdout}${stderr}` };
}

function start(rig: LaneRig, ...args: string[]) {
  const running = startRalph(
    ['prd', 'run', '--agent', 'claude', '--parallel', '2', ...CHECK, ...args],
    rig.options,
  );
  onTestFinished(() => void running.process.kill('SIGKILL'));
  return running;
}

const runsOf = ({ project }: LaneRig) => readdirSync(project.path('.ralph/runs')).sort();

describe('a parallel run that is running', () => {
  it('is one row and a board, and each story of it can be reached', async () => {
    const rig = laneRig([plain('US-001', { title: 'The cart' }), plain('US-002', { dependsOn: ['US-001'] })]);
    holds(rig, 'US-001', 'implement');
    const running = start(rig);
    await running.until('US-001 The cart: iteration 1, implement');
    const [id = '', child = ''] = runsOf(rig);
    expect(child).toBe(`${id}.US-001`);

    const list = await say(rig, 'status');
    expect(list.text).toMatch(new RegExp(`^Run .*\n${id}  running  prd 0/2 landed`));
    expect(list.text).not.toContain(`\n${child}`);
    expect(list.text).toContain('Building (1)\n  US-001  The cart\n          iteration 1, implement');
    expect(list.text).toContain('waits for US-001');
    const { runs } = JSON.parse((await say(rig, 'status', '--json')).text);
    expect(runs).toHaveLength(1);
    expect(runs[0].lanes.map((lane: { state: string }) => lane.state)).toEqual(['building', 'waiting']);

    expect((await say(rig, 'prd', 'status')).text).toContain(`${id}: running`);
    expect(JSON.parse((await say(rig, 'prd', 'status', '--json')).text).parallel.id).toBe(id);
    expect((await say(rig, 'explain')).text).toContain('Still running, 0 of 2 landed.');

    expect(await say(rig, 'tell', 'us-001', 'Use UTC')).toEqual({
      code: 0,
      text: `Queued for the next iteration of ${child}.\n`,
    });
    expect((await say(rig, 'tell', 'Be brief')).text).toBe(
      `Queued for the next iteration of US-001 in ${id}.\n`,
    );
    expect(await say(rig, 'tell', 'US-002', 'Use UTC')).toEqual({
      code: 1,
      text: `US-002 in ${id} has not begun: it depends on US-001.\n`,
    });
    expect((await say(rig, 'answer', 'US-001', 'ISO')).text).toBe('US-001 has no open question.\n');
    expect((await say(rig, 'answer', 'US-002', 'ISO')).text).toBe('US-002 has no open question.\n');
    expect((await say(rig, 'pause', 'US-001')).text).toContain(`${child} will pause after this turn.`);
    expect((await say(rig, 'continue')).text).toBe(
      `${id} is not paused. ${child} is paused: ralph continue ${child}\n`,
    );
    expect((await say(rig, 'continue', 'US-001')).text).toBe(`${child} continues.\n`);
    expect(await say(rig, 'cancel', '--remove', id)).toMatchObject({
      code: 2,
      text: expect.stringContaining('it is running'),
    });
    expect((await say(rig, 'cancel', 'US-009')).text).toContain('no such run');

    expect((await say(rig, 'cancel', 'US-001')).text).toBe(`${child} stops now. Its work is kept.\n`);
    const { code, stdout, stderr } = await running.finished;
    expect(code).toBe(1);
    const end = `${stdout}${stderr}`;
    expect(end).not.toContain('Iterations: 0');
    expect(end).toContain('  Landed: 0 of 2');
    expect(end).toContain('US-001 The cart: needs you');
    expect(end).toContain(`Look: \`ralph log ${child}\``);

    const board = await say(rig, 'status', id);
    expect(board.text).toContain('Needs you (1)\n  US-001  The cart');
    expect(board.text).toContain('\n  US-001');
    expect((await say(rig, 'explain')).text).toContain('US-001 The cart: cancelled');
    expect((await say(rig, 'log', 'US-001')).text).toContain(`Run: ${child}`);
    expect((await say(rig, 'log')).text).toContain('US-001 The cart: iteration 1, implement');
    expect((await say(rig, 'tell', 'US-001', 'x')).text).toBe(`${child} is not running.\n`);

    expect((await say(rig, 'prune', '--keep', '0', '--force')).text).toContain('Removed 1 run');
    expect(runsOf(rig)).toEqual([]);
  });

  it('shows what a story asks, and gives it the answer', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    writeFileSync(join(rig.orders, 'US-001.asks'), 'Which dates?');
    const running = start(rig);
    await running.until('Which dates?');
    await running.until('US-002 Title of US-002: landed');
    const list = await say(rig, 'status');
    expect(list.text).toContain('US-001 asks: Which dates?');
    expect(list.text).toContain('ralph answer US-001');
    expect(await say(rig, 'answer', 'US-001', 'ISO')).toMatchObject({
      code: 0,
      text: expect.stringContaining('The answer for US-001 is with'),
    });
    expect((await running.finished).code).toBe(0);
  });
});

describe('a parallel run that has ended', () => {
  it('says what landed, what was sent back, and where it is; and leaves nothing when it is removed', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    for (const id of ['US-001', 'US-002']) {
      rig.does(id, 'implement', `echo ${id} > shared.txt`);
      rig.does(id, 'merge-fix', `printf 'US-001\\nUS-002\\n' > shared.txt`);
    }
    const running = start(rig);
    const { code, stdout, stderr } = await running.finished;
    expect(code).toBe(0);
    const end = `${stdout}${stderr}`;
    const [id = ''] = runsOf(rig);
    expect(end).toContain('  Landed: 2 of 2');
    expect(end).toMatch(/US-00\d .*: [0-9a-f]{12}, \$0\.04\d*, sent back once/);
    expect(end).toMatch(/ {2}Branch: ralph\/demo is at [0-9a-f]{12}, with all that has landed/);
    const list = await say(rig, 'status');
    expect(list.text).toMatch(new RegExp(`^Run .*\n${id}  done +prd 2/2 landed`));
    expect(list.text).toContain(`Proof of ${id}: the checks passed in a clean checkout`);
    expect((await say(rig, 'explain')).text).toMatch(
      /landed as [0-9a-f]{12}, after it was sent back once: 1 check passed on\n? *that commit/,
    );
    const markdown = (await say(rig, 'report')).text;
    expect(markdown).toContain('| lane | state | commit | iterations | sent back | cost |');
    expect(await say(rig, 'cancel', '--remove', id)).toMatchObject({ code: 0 });
    const refs = rig.project.git('for-each-ref', '--format=%(refname)').trim().split('\n');
    expect(refs.sort()).toEqual(['refs/heads/main', 'refs/heads/ralph/demo']);
  });

  it('keeps what is not merged when it is removed, unless it is forced: then its commits have a name', async () => {
    const rig = laneRig([plain('US-001')]);
    rig.does('US-001', 'implement', 'mkdir -p work; touch work/one');
    const { result } = await runParallel(
      rig,
      '--parallel',
      '2',
      '--check',
      'test ! -f work/one || test -e .git',
    );
    const id = result.runId;
    const branch = `ralph/${id}/US-001`;
    const head = rig.project.git('rev-parse', branch).trim();
    writeFileSync(rig.project.path(`.ralph/worktrees/${id}/US-001/more.txt`), 'not committed\n');
    const refused = await say(rig, 'cancel', '--remove', id);
    expect(refused).toMatchObject({
      code: 2,
      text: expect.stringContaining('holds changes that are not committed'),
    });
    expect(rig.project.git('rev-parse', branch).trim()).toBe(head);

    const forced = await say(rig, 'cancel', '--remove', id, '--force');
    expect(forced.code).toBe(0);
    const kept = `refs/ralph/kept/${id}/US-001/removed`;
    expect(forced.text).toContain(`git log ${kept}`);
    expect(rig.project.git('show', `${kept}:more.txt`)).toBe('not committed\n');
    expect(rig.project.git('merge-base', '--is-ancestor', head, kept)).toBe('');
    expect(rig.project.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(rig.project.git('branch', '--list', 'ralph/*').trim()).toBe('');
  });
});
