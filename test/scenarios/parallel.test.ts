/** `ralph prd run --parallel N`: what lands was checked as it lands, and nothing is lost. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { landedFiles, laneRig, plain, runParallel } from '../rig/lanes.ts';
import { ralph } from '../rig/ralph.ts';

const CHECK = ['--check', 'test -f README.md'];

describe('stories side by side', () => {
  it('land one by one on the branch of the list, each checked as it lands', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002'), plain('US-003', { dependsOn: ['US-001'] })]);
    const { code, result } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect(result).toMatchObject({ stopReason: 'all_stories_approved', success: true });
    expect(code).toBe(0);
    expect(result.lanes.map(({ state }) => state)).toEqual(['landed', 'landed', 'landed']);
    expect(result.proof).toMatchObject({
      level: 'clean',
      commit: rig.project.git('rev-parse', 'ralph/demo').trim(),
    });
    const files = landedFiles(rig, 'ralph/demo');
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining(['work/US-001.txt', 'work/US-002.txt', 'work/US-003.txt']),
    );
    const list = JSON.parse(files['ralph/tasks.json'] ?? '');
    expect(list.userStories.map((each: { reviewStatus: string }) => each.reviewStatus)).toEqual([
      'approved',
      'approved',
      'approved',
    ]);
    for (const id of ['US-001', 'US-002', 'US-003'])
      expect(files['ralph/progress.txt']?.split(`## ${id} implement`)).toHaveLength(2);
    // Nobody touched the user's own tree.
    expect(rig.project.git('status', '--porcelain')).toBe('');
    expect(rig.project.git('symbolic-ref', '--short', 'HEAD').trim()).toBe('main');
  });

  it('begins a story on what it depends on', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002', { dependsOn: ['US-001'] })]);
    rig.does('US-002', 'implement', 'cp work/US-001.txt work/copy.txt');
    const { result } = await runParallel(rig, '--parallel', '4', ...CHECK);
    expect(result.stopReason).toBe('all_stories_approved');
    expect(landedFiles(rig, 'ralph/demo')['work/copy.txt']).toBe('US-001\n');
  });

  it('leaves no worktree and no branch behind of what has landed', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    const { result } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect(rig.project.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    const folder = rig.project.path(`.ralph/worktrees/${result.runId}`);
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
    const branches = rig.project.git('for-each-ref', '--format=%(refname:short)').trim().split('\n');
    expect(branches.sort()).toEqual(['main', `ralph/${result.runId}/_int`, 'ralph/demo'].sort());
  });
});

describe('stories that do not fit together', () => {
  it('are green alone and red together: the second is sent back with the evidence, and lands repaired', {
    tags: ['promise', 'P-parallel'],
  }, async () => {
    const rig = laneRig([plain('US-001', { priority: 1 }), plain('US-002', { priority: 1 })]);
    rig.does('US-001', 'implement', 'mkdir -p work; echo 1 > work/one');
    rig.does('US-002', 'implement', 'mkdir -p work; echo 1 > work/two');
    rig.does('US-001', 'merge-fix', 'mv work/one work/uno');
    rig.does('US-002', 'merge-fix', 'mv work/two work/due');
    const { result, stderr } = await runParallel(
      rig,
      '--parallel',
      '2',
      '--check',
      '! { test -f work/one && test -f work/two; }',
    );
    expect(result.stopReason, stderr).toBe('all_stories_approved');
    const fixes = rig.turns().filter(({ mode }) => mode === 'merge-fix');
    expect(fixes).toHaveLength(1);
    const files = Object.keys(landedFiles(rig, 'ralph/demo')).filter(name => name.startsWith('work/'));
    expect(files).toHaveLength(2);
  });

  it('conflict in a file: the second gets the merge with its marks, and lands solved', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    const write = (words: string) => `echo ${words} > shared.txt`;
    for (const id of ['US-001', 'US-002']) {
      rig.does(id, 'implement', write(id));
      rig.does(id, 'merge-fix', `grep -q '<<<<<<<' shared.txt && printf 'US-001\\nUS-002\\n' > shared.txt`);
    }
    const { result } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect(result.stopReason).toBe('all_stories_approved');
    expect(landedFiles(rig, 'ralph/demo')['shared.txt']).toBe('US-001\nUS-002\n');
    expect(rig.turns().filter(({ mode }) => mode === 'merge-fix')).toHaveLength(1);
  });

  it('and whose conflict is left unsolved: the marks never land', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    for (const id of ['US-001', 'US-002']) {
      rig.does(id, 'implement', `echo ${id} > shared.txt`);
      rig.does(id, 'merge-fix', 'true');
    }
    const { code, result } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect([code, result.stopReason]).toEqual([1, 'needs_you']);
    expect(result.lanes.map(({ state }) => state).sort()).toEqual(['landed', 'needs_you']);
    expect(landedFiles(rig, 'ralph/demo')['shared.txt']).toMatch(/^US-00[12]\n$/);
  });

  it('and cannot be made to: after three times the user is needed, and the others land', async () => {
    const rig = laneRig([
      plain('US-001', { priority: 1 }),
      plain('US-002', { priority: 2 }),
      plain('US-003', { priority: 3 }),
    ]);
    rig.does('US-001', 'implement', 'mkdir -p work; touch work/one');
    // Never fits what has landed; the checks of its own lane do not see it.
    rig.does('US-002', 'implement', 'mkdir -p work; touch work/two');
    const check = 'test ! -f work/two || test -e .git';
    const { code, result } = await runParallel(rig, '--parallel', '2', '--check', check);
    expect(code).toBe(1);
    expect(result.stopReason).toBe('needs_you');
    const of = (id: string) => result.lanes.find(lane => lane.id === id);
    expect(of('US-002')).toMatchObject({ state: 'needs_you', returns: 3 });
    expect(of('US-001')?.state).toBe('landed');
    expect(of('US-003')?.state).toBe('landed');
    expect(Object.keys(landedFiles(rig, 'ralph/demo'))).not.toContain('work/two');
    // Its work is still there.
    expect(rig.project.git('ls-tree', '-r', '--name-only', `ralph/${result.runId}/US-002`)).toContain(
      'work/two',
    );
  });
});

describe('a review', () => {
  it('holds for the change that was reviewed: a merge that changes what is around it is reviewed again', async () => {
    const rig = laneRig([plain('US-001'), plain('US-002')]);
    rig.project.write('f.txt', 'one\ntwo\nthree\nfour\nfive\n');
    rig.project.git('add', '-A');
    rig.project.git('commit', '--quiet', '-m', 'f');
    const begun = `${rig.orders}/begun`;
    const landed = `git for-each-ref --format='%(contents:subject)' | grep -q '^US-001:'`;
    // The second is being reviewed when the first lands.
    rig.does('US-001', 'implement', `sed -i s/one/ONE/ f.txt; until test -e ${begun}; do sleep 0.05; done`);
    rig.does('US-002', 'implement', 'sed -i s/four/FOUR/ f.txt');
    rig.does('US-002', 'review', `touch ${begun}; until ${landed}; do sleep 0.05; done`);
    const { result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
    expect(result.stopReason, stderr).toBe('all_stories_approved');
    expect(result.lanes[1]).toMatchObject({ id: 'US-002', returns: 1 });
    expect(stderr.replace(/\s+/g, ' ')).toContain(
      'US-002 Title of US-002: sent back, because the merge changed what was reviewed',
    );
    const turns = rig.turns().map(({ story, mode }) => `${story} ${mode}`);
    expect(turns.filter(turn => turn === 'US-002 review')).toHaveLength(2);
    expect(turns).not.toContain('US-002 merge-fix');
    expect(landedFiles(rig, 'ralph/demo')['f.txt']).toBe('ONE\ntwo\nthree\nFOUR\nfive\n');
  });
});

it('moves the branch that is checked out with its files, and changes nothing of the user before that', async () => {
  const rig = laneRig([plain('US-001')]);
  rig.project.write('.gitignore', '.ralph/\n');
  rig.project.git('commit', '--quiet', '-am', 'an older .gitignore');
  rig.project.git('switch', '--quiet', '--create', 'ralph/demo');
  const { result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  expect(rig.project.git('rev-parse', 'HEAD').trim()).toBe(result.proof.commit);
  expect(rig.project.git('status', '--porcelain')).toBe('');
  expect(rig.project.read('work/US-001.txt')).toBe('US-001\n');
});

it('lands the files of the list byte for byte, UTF-8 or not', async () => {
  const rig = laneRig([plain('US-001')]);
  const files = ['.gitignore', 'ralph/prd.md'];
  for (const path of files)
    writeFileSync(rig.project.path(path), Buffer.from('# caf\xe9\n.ralph/\n', 'latin1'));
  rig.project.git('commit', '--quiet', '-am', 'in Latin-1');
  const { result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  const changed = rig.project.git('diff', '--stat', 'HEAD', 'ralph/demo', '--', ...files);
  expect(changed).not.toContain('prd.md');
  expect(rig.project.git('diff', '--text', 'HEAD', 'ralph/demo', '--', '.gitignore')).not.toMatch(/^-[^-]/m);
});

it('keeps a list that git ignores out of what lands', async () => {
  const rig = laneRig([plain('US-001'), plain('US-002')]);
  rig.project.git('rm', '--quiet', '--cached', '-r', 'ralph');
  rig.project.write('.gitignore', '.ralph/\n.ralph-active\nralph/\n');
  rig.project.git('commit', '--quiet', '-am', 'keep the list to myself');
  const { result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  const files = Object.keys(landedFiles(rig, 'ralph/demo'));
  expect(files).toEqual(expect.arrayContaining(['work/US-001.txt', 'work/US-002.txt']));
  expect(files.filter(name => name.startsWith('ralph/'))).toEqual([]);
});

it('has a bundle that anybody with a clone can verify: the commit that landed, and the checks on it', async () => {
  const rig = laneRig([plain('US-001'), plain('US-002')]);
  const { result } = await runParallel(rig, '--parallel', '2', ...CHECK);
  const bundle = rig.project.path('.ralph/run.proof');
  const written = await ralph(['report', result.runId, '--bundle', bundle], rig.options);
  expect(written.code, written.stderr).toBe(0);
  const { code, stdout } = await ralph(['verify', bundle, '--rerun', '--commit', 'ralph/demo'], rig.options);
  expect(stdout).toContain('holds          proof: the checks passed in a clean checkout');
  expect(stdout).toContain(`holds          commit: ${result.proof.commit?.slice(0, 7)}`);
  expect(code, stdout).toBe(0);
});
