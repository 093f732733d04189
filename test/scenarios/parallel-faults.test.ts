/** What may go wrong with a parallel run: bad input, limits, signals, and agents that reach for the queue. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { storyList } from '../domain/stories/stories.ts';
import { landedFiles, laneRig, plain, resultIn, rigFor, runParallel, startParallel } from '../rig/lanes.ts';
import { LATER_FORMAT, otherRalph } from '../rig/other-ralph.ts';
import { BIN, ralph, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const CHECK = ['--check', 'test -f README.md'] as const;
const flat = (text: string) => text.replace(/\s+/g, ' ');

describe('bad input is refused with a sentence, and nothing is made', () => {
  const list = `${JSON.stringify(storyList(plain('US-001')), null, 2)}\n`;
  const bare = { 'ralph/tasks.json': list, 'ralph/prd.md': '# Demo\n' };

  it('without a repository', async () => {
    const project = folder();
    for (const [name, text] of Object.entries(bare)) project.write(name, text);
    const { code, stderr, stdout } = await ralph(
      ['prd', 'run', '--agent', 'claude', '--parallel', '2', ...CHECK],
      rigFor(project).options,
    );
    expect(code).toBe(2);
    expect(flat(stdout + stderr)).toMatch(/not in a git repository.*git init/);
  });

  it('without a commit', async () => {
    const project = folder();
    project.git('init', '--quiet');
    for (const [name, text] of Object.entries(bare)) project.write(name, text);
    const { code, stderr, stdout } = await ralph(
      ['prd', 'run', '--agent', 'claude', '--parallel', '2', ...CHECK],
      rigFor(project).options,
    );
    expect(code).toBe(2);
    expect(flat(stdout + stderr)).toContain('there is no commit yet that parallel work could start from');
  });

  it('with changes that are not committed', async () => {
    const rig = laneRig([plain('US-001')]);
    rig.project.write('README.md', 'mine\n');
    const { code, stderr, stdout } = await ralph(
      ['prd', 'run', '--agent', 'claude', '--parallel', '2', ...CHECK],
      rig.options,
    );
    expect(code).toBe(2);
    expect(flat(stdout + stderr)).toContain('README.md has changes that are not committed');
    expect(rig.project.read('README.md')).toBe('mine\n');
  });

  it('without any check, unless that is asked for', async () => {
    const rig = laneRig([plain('US-001')]);
    const refused = await ralph(['prd', 'run', '--agent', 'claude', '--parallel', '2'], rig.options);
    expect(refused.code).toBe(2);
    expect(flat(refused.stdout + refused.stderr)).toContain('--unchecked if you accept that');
    const { code, result } = await runParallel(rig, '--parallel', '2', '--unchecked');
    expect(code).toBe(0);
    expect(result.proof.level).toBe('claimed');
  });
});

describe('what happens meanwhile', () => {
  it('more lanes than stories, and a folder of worktrees that cannot be made', async () => {
    const rig = laneRig([plain('US-001')]);
    rig.project.write('.ralph/worktrees', 'in the way\n');
    const { code, result } = await runParallel(rig, '--parallel', '64', ...CHECK);
    expect(code).toBe(1);
    expect(result).toMatchObject({ stopReason: 'needs_you', lanes: [{ state: 'needs_you' }] });
    expect(result.lanes[0]?.why).toContain('worktree');
    expect(rig.project.read('.ralph/worktrees')).toBe('in the way\n');
  });

  it('the checks fail on what everything stands on: the queue halts and says so', async () => {
    const rig = laneRig([plain('US-001')]);
    // Green in a worktree, red in every clean checkout.
    const { code, result } = await runParallel(rig, '--parallel', '2', '--check', 'test -e .git');
    expect(code).toBe(1);
    expect(result.stopReason).toBe('needs_you');
    expect(result.detail).toContain('The checks fail on the commit that the run began with');
    expect(rig.turns().filter(({ mode }) => mode === 'merge-fix')).toEqual([]);
  });

  it('the branch of the list is moved by the user: it is left alone', async () => {
    const rig = laneRig([plain('US-001')]);
    rig.does(
      'US-001',
      'review',
      `git -C "${rig.project.dir}" branch ralph/demo HEAD && git -C "${rig.project.dir}" branch -f ralph/demo "$(git -C "${rig.project.dir}" commit-tree HEAD^{tree} -m mine)"`,
    );
    const { code, result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect([code, result.stopReason]).toEqual([1, 'scm_failed']);
    expect(flat(stderr)).toContain('it has moved since the run began, so it is left alone');
    expect(rig.project.git('log', '-1', '--format=%s', 'ralph/demo').trim()).toBe('mine');
  });

  it('money: no more turns are begun than the cap has room for', async () => {
    const rig = laneRig(
      ['1', '2', '3', '4', '5', '6'].map(id => plain(`US-00${id}`)),
      { LANE_COST: '0.1' },
    );
    const { code, result } = await runParallel(rig, '--parallel', '3', ...CHECK, '--max-cost', '0.55');
    expect(code).toBe(1);
    expect(result.stopReason).toBe('budget_exhausted');
    expect(result.totalCost).toBeLessThanOrEqual(0.61);
    expect(rig.turns().length).toBe(Math.round((result.totalCost ?? 0) / 0.1));
  });

  it('money: while no turn has shown what one costs, one goes first, also after a resumption', async () => {
    const rig = laneRig(
      ['1', '2', '3', '4'].map(id => plain(`US-00${id}`)),
      { LANE_COST: '1' },
    );
    const { result } = await runParallel(rig, '--parallel', '4', ...CHECK, '--max-cost', '1');
    expect(rig.turns()).toHaveLength(1);
    expect(result).toMatchObject({ stopReason: 'budget_exhausted', totalCost: 1 });
    const resumed = await ralph(['resume', '--json', '--max-cost', '2.5'], rig.options);
    expect(resultIn(resumed.stdout)).toMatchObject({ stopReason: 'budget_exhausted', totalCost: 3 });
    expect(rig.turns()).toHaveLength(3);
  });

  it('iterations and money that were used before count when it is resumed', async () => {
    const rig = laneRig(
      ['1', '2', '3', '4', '5', '6'].map(id => plain(`US-00${id}`)),
      { LANE_COST: '0.1' },
    );
    const { result } = await runParallel(rig, '--parallel', '2', ...CHECK, '-n', '4');
    expect(result.stopReason).toBe('max_iterations');
    const resumed = await ralph(['resume', '--json', '--max-iterations', '6'], rig.options);
    expect(resultIn(resumed.stdout).stopReason).toBe('max_iterations');
    expect(rig.turns()).toHaveLength(6);
  });

  it('a rate limit: nothing new is begun on the account, and then one tries before the others', async () => {
    const rig = laneRig(['1', '2', '3', '4'].map(id => plain(`US-00${id}`)));
    writeFileSync(join(rig.orders, 'limit'), JSON.stringify({ seconds: 6 }));
    const { code, result, stderr } = await runParallel(rig, '--parallel', '4', ...CHECK, '--max-wait', '60');
    expect(code, stderr).toBe(0);
    const events = readFileSync(rig.project.path(`.ralph/runs/${result.runId}/events.jsonl`), 'utf8');
    expect(events).toContain('"type":"account-limited"');
    const first = rig.turns().map(({ at }) => at);
    const until = Number(readFileSync(join(rig.orders, 'limited-until'), 'utf8'));
    expect(Math.min(...first)).toBeGreaterThanOrEqual(until);
    // None of those who waited met the limit a second time.
    const met = readFileSync(join(rig.orders, 'limited.log'), 'utf8').trim().split('\n');
    expect(met.length).toBeLessThanOrEqual(4);
  });

  it('Ctrl-C: the turns that run are finished, and the whole is resumed', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002'), plain('US-003')], { LANE_SECONDS: '1' });
    const running = startParallel(rig, '--parallel', '2', ...CHECK);
    await running.until('US-001 Title of US-001: iteration 1');
    running.process.kill('SIGINT');
    const { code, stdout } = await running.finished;
    expect(code).toBe(130);
    expect(resultIn(stdout).stopReason).toBe('interrupted');
    const resumed = await ralph(['resume', '--json'], rig.options);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(resumed.stderr).toContain('US-003 Title of US-003: landed');
    expect(resultIn(resumed.stdout).lanes.map(({ state }) => state)).toEqual(['landed', 'landed', 'landed']);
    // No turn was taken twice.
    const turns = rig.turns().map(({ story, mode }) => `${story} ${mode}`);
    expect(new Set(turns).size).toBe(turns.length);
  });

  it('a kill while the first worktree is made, before any agent was asked: the whole is resumed, and nothing stays', async () => {
    const rig = laneRig([plain('US-001')]);
    const flags = ['--agent', 'claude', '--parallel', '2', ...CHECK, '--events', '-'];
    const running = startRalph(['prd', 'run', ...flags], rig.options);
    await running.until('"type":"board-set"');
    running.process.kill('SIGKILL');
    await running.finished;
    expect((await ralph(['status'], rig.options)).stdout).toContain('ralph resume');
    const resumed = await ralph(['resume', '--json'], rig.options);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(rig.project.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });
});

describe('an agent that reaches for the queue', () => {
  it('moves the integration branch: what lands is what was checked all the same, and it is said', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002', { dependsOn: ['US-001'] })]);
    rig.does(
      'US-002',
      'implement',
      'mkdir -p work; touch work/US-002.txt; echo evil > evil; git add -A; git commit -qm evil; for ref in $(git for-each-ref --format="%(refname)" | grep _int$); do git update-ref "$ref" HEAD; done; rm evil; git add -A; git commit -qm good',
    );
    const { result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect(result.stopReason).toBe('all_stories_approved');
    const [, moved, kept = ''] =
      /was moved to (\w+), and not by Ralph.*? is kept: `git log (\S+)`/.exec(flat(stderr)) ?? [];
    expect(rig.project.git('rev-parse', kept).trim()).toBe(moved);
    const chain = rig.project
      .git('rev-list', '--first-parent', `main..ralph/${result.runId}/_int`)
      .trim()
      .split('\n');
    expect(chain.length).toBe(2);
    expect(Object.keys(landedFiles(rig, 'ralph/demo'))).not.toContain('evil');
  });

  it('leaves hooks and merge drivers: none of them runs outside', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    const trap = join(rig.orders, 'trapped');
    const hook = `#!/bin/sh\\ntest -d /proc/1 && readlink /proc/1/exe >> ${trap}\\n`;
    for (const id of ['US-001', 'US-002']) {
      rig.does(
        id,
        'implement',
        `hooks=$(git rev-parse --git-common-dir)/hooks; mkdir -p $hooks; for h in reference-transaction post-checkout post-merge post-index-change; do printf '${hook}' > $hooks/$h; chmod +x $hooks/$h; done; git config merge.x.driver 'touch ${trap}.driver'; echo '* merge=x' > .gitattributes; echo ${id} >> shared.txt; mkdir -p work; touch work/${id}`,
      );
      rig.does(
        id,
        'merge-fix',
        `sed -i '/^[<=>]/d' shared.txt .gitattributes; sort -u -o .gitattributes .gitattributes`,
      );
    }
    const { result } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect(result.lanes.filter(({ state }) => state === 'landed').length).toBe(2);
    expect(existsSync(`${trap}.driver`)).toBe(false);
  });
});

it('a worktree that disappears is noticed at once: the turn is ended, and taken again', async () => {
  const rig = rigFor(
    repo({ 'README.md': '# test\n', 'tasks.md': '- [ ] Add one\n', '.gitignore': '.ralph/\n' }),
  );
  const once = join(rig.orders, 'once');
  // Who waited for the end of the turn would wait for ten minutes.
  const vanish = `test -e "${once}" || { touch "${once}"; rm -rf "$PWD"; sleep 600; }`;
  rig.does('T1', 'task', `${vanish}; mkdir -p work; echo 1 > work/one`);
  const flags = ['--agent', 'claude', '--json', '--tasks', 'tasks.md', '--parallel', '2', ...CHECK];
  const { stdout, stderr } = await ralph(['loop', ...flags], rig.options);
  const result = resultIn(stdout);
  expect(result.stopReason, stderr).toBe('all_checks_passed');
  expect(flat(stderr)).toContain('T1: Its worktree has disappeared.');
  expect(landedFiles(rig, 'main')['work/one']).toBe('1\n');
});

it('a ledger of one lane in a later format: nothing is done by a Ralph that does not read it', async () => {
  const rig = laneRig([plain('US-001'), plain('US-002', { dependsOn: ['US-001'] })]);
  const wait = 'touch $LANE_AGENT/in-$STORY; while test -e $LANE_AGENT/hold; do sleep 0.05; done';
  for (const id of ['US-001', 'US-002'])
    rig.does(id, 'implement', `${wait}; mkdir -p work; echo 1 > work/${id}`);
  const hold = join(rig.orders, 'hold');
  writeFileSync(hold, '');
  const killIn = async (story: string, args: readonly string[], bin = BIN) => {
    const running = startRalph(args, { ...rig.options, bin });
    await vi.waitFor(() => expect(existsSync(join(rig.orders, `in-${story}`))).toBe(true), 60_000);
    running.process.kill('SIGKILL');
    await running.finished;
  };
  await killIn('US-001', ['prd', 'run', '--agent', 'claude', '--parallel', '2', ...CHECK]);
  rmSync(hold);
  rig.does('US-002', 'implement', `touch $LANE_AGENT/hold; ${wait}; mkdir -p work; echo 1 > work/US-002`);
  const later = otherRalph(...LATER_FORMAT);
  await killIn('US-002', ['resume'], later);
  rmSync(hold);
  const [turns, refs] = [rig.turns().length, rig.project.git('for-each-ref')];
  const { code, stdout, stderr } = await ralph(['resume'], rig.options);
  expect([code, stdout, flat(stderr)]).toEqual([
    2,
    '',
    expect.stringMatching(/US-002: .*version 2.*update Ralph/),
  ]);
  expect([rig.turns().length, rig.project.git('for-each-ref')]).toEqual([turns, refs]);
  rig.does('US-002', 'implement', 'mkdir -p work; echo 1 > work/US-002');
  const ended = await ralph(['resume', '--json'], { ...rig.options, bin: later });
  expect([ended.code, ended.stderr]).toEqual([0, expect.anything()]);
  expect(Object.keys(landedFiles(rig, 'ralph/demo'))).toEqual(
    expect.arrayContaining(['work/US-001', 'work/US-002']),
  );
});
