/** `ralph pr UNIT`: the work of a unit of a fleet, from a machine that has never worked on it. */
import { expect, test } from 'vitest';
import { ask, dashboardOf } from '../dashboard/serve.ts';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { check, createForge, type Fake, word } from '../rig/forge.ts';
import { laneRig, plain } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

describeWithPostgres('a unit of a fleet', () => {
  const postgres = sharedPostgres();

  async function done(lanes?: Parameters<typeof fleetRig>[1]) {
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const forge = await createForge(rig.project, rig.remote);
    const unit = lanes
      ? await rig.submit('--check', 'test -d work')
      : await rig.submit('Write it', '--check', 'grep -q done work.txt');
    await rig.worker('one', '--once').finished;
    await rig.untilState(unit, 'done');
    return { rig, forge, unit, ...machine(rig, forge) };
  }

  test('becomes a pull request with its proof, once, and its ledger says so everywhere', async () => {
    const { rig, forge, unit, run, other } = await done();
    const branch = `ralph/${unit}`;
    const { code, stdout, stderr } = await run('pr', unit, '--json');
    expect(code, stdout + stderr).toBe(0);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ outcome: 'opened', number: 1, branch, commit: forge.tip(branch) });
    expect(forge.state.pulls[0]?.body).toContain('`grep -q done work.txt` passed');
    const clone = folder('ralph-clone-');
    clone.git('clone', '--quiet', '--branch', branch, forge.bare.dir, '.');
    clone.git('fetch', '--quiet', 'origin', result.proof);
    clone.write('run.proof', clone.git('show', 'FETCH_HEAD:run.proof'));
    const verified = await ralph(['verify', 'run.proof', '--commit', result.commit], { cwd: clone.dir });
    expect(verified.stdout).not.toContain('does not hold');
    const acts = await rig.sql("select type from ralph.event where unit = $1 and type like 'forge%'", unit);
    expect(acts.length).toBeGreaterThan(3);
    for (const words of [
      ['explain', unit],
      ['report', unit],
      ['log', unit, '--only', 'scm'],
      ['fleet', 'status', unit],
    ]) {
      const { stdout: shown } = await other(...words);
      expect(shown, words[0]).toContain(`${forge.url}/octo/demo/pull/1`);
    }
    const port = await dashboardOf(rig.env.RALPH_DATABASE_URL ?? '');
    const page = await ask(port, `/api/0/${unit}`);
    expect(JSON.parse(page.body).view.forge).toMatchObject({ number: 1, pushed: [result.commit] });
    const again = await other('pr', unit, '--json');
    expect([again.code, JSON.parse(again.stdout).outcome, forge.state.pulls.length]).toEqual([
      0,
      'unchanged',
      1,
    ]);
  });

  test('of a list is the branch of all that has landed', async () => {
    const { forge, unit, run } = await done(laneRig([plain('US-001'), plain('US-002')]));
    const { code, stdout, stderr } = await run('pr', unit, '--json');
    expect(code, stdout + stderr).toBe(0);
    const branch = `ralph/${unit}/_int`;
    expect([JSON.parse(stdout).branch, forge.has(branch, 'work/US-002.txt')]).toEqual([branch, true]);
    expect(forge.state.pulls[0]?.body).toContain('US-002 works');
  });

  test('is followed to its merge; a worker does what is asked for, in the same unit', async () => {
    const { rig, forge, unit, run } = await done();
    forge.state.comments.push(word('alice', 'more, please'));
    rig.does('true', 'echo more > more.txt');
    rig.worker('two');
    const follow = (...args: readonly string[]) =>
      run('pr', unit, '--json', '--follow', '--poll', '0.05', ...args);
    const first = await follow();
    expect([first.code, JSON.parse(first.stdout).outcome], first.stderr).toEqual([0, 'pull_request_ready']);
    expect(forge.has(`ralph/${unit}`, 'more.txt')).toBe(true);
    expect(forge.pushes(`ralph/${unit}`)).toHaveLength(2);
    forge.state.checks = () => [check('test', 'success')];
    const second = await follow('--merge');
    expect([second.code, JSON.parse(second.stdout).outcome], second.stderr).toEqual([0, 'merged']);
  });

  test('conflicts with its base: a worker solves it, and no commit with marks is pushed', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const forge = await createForge(rig.project, rig.remote);
    rig.does('echo done > work.txt; echo ours > README.md', 'echo both > README.md');
    const unit = await rig.submit('Write it', '--check', 'grep -q done work.txt');
    const branch = `ralph/${unit}`;
    rig.worker('one');
    await rig.untilState(unit, 'done');
    forge.push('main', { 'README.md': 'theirs\n' });
    forge.conflictsWithBase(branch);
    const { run } = machine(rig, forge);
    const follow = () => run('pr', unit, '--json', '--follow', '--poll', '0.05');
    // A row that names another commit than what the last worker has left: nobody begins with it.
    const [{ carry = '' } = {}] = await rig.sql('select carry from ralph.unit where id = $1', unit);
    for (const forged of ['--all', forge.tip('main')]) {
      await rig.sql('update ralph.unit set carry = $2 where id = $1', unit, forged);
      const { code, stderr } = await follow();
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('does not have what the next worker would'),
      ]);
    }
    await rig.sql('update ralph.unit set carry = $2 where id = $1', unit, carry);
    const { code, stdout, stderr } = await follow();
    expect([code, JSON.parse(stdout).outcome], stderr).toEqual([0, 'pull_request_ready']);
    expect(forge.bare.git('show', `${branch}:README.md`)).toBe('both\n');
    expect(forge.bare.git('log', '--format=%s', branch)).not.toContain('with conflicts to solve');
  });

  test('to whose branch somebody else has pushed is worked on with that', async () => {
    const { rig, forge, unit, run } = await done();
    const branch = `ralph/${unit}`;
    expect((await run('pr', unit)).code).toBe(0);
    forge.push(branch, { 'theirs.txt': 'theirs\n', 'work.txt': 'done\nand theirs\n' });
    rig.does('true', 'test -f theirs.txt && echo seen > seen.txt');
    rig.worker('two');
    const { code, stdout, stderr } = await run('pr', unit, '--json', '--follow', '--poll', '0.05');
    expect([code, JSON.parse(stdout).outcome], stderr).toEqual([0, 'pull_request_ready']);
    expect(['theirs.txt', 'seen.txt'].map(file => forge.has(branch, file))).toEqual([true, true]);
    expect(forge.bare.git('show', `${branch}:work.txt`)).toBe('done\nand theirs\n');
  });

  test('of a list: what asks for more work needs you', async () => {
    const { forge, unit, run } = await done(laneRig([plain('US-001')]));
    forge.state.comments.push(word('alice', 'more, please'));
    const { code, stdout, stderr } = await run('pr', unit, '--json', '--follow', '--poll', '0.05');
    expect([code, JSON.parse(stdout)], stderr).toMatchObject([
      1,
      { outcome: 'needs_you', detail: expect.stringContaining(`begins with ralph/${unit}`) },
    ]);
  });

  test.each([
    ['what was not proven', 'update ralph.unit set head_sha = base where id = $1', 'is not what was proven'],
    ['a commit that is none', "update ralph.unit set head_sha = '--all' where id = $1", 'does not have what'],
  ])('%s gets none', async (_, change, said) => {
    const { rig, forge, unit, run } = await done();
    await rig.sql(change, unit);
    const { code, stderr } = await run('pr', unit);
    expect([code, stderr, forge.state.pulls]).toEqual([2, expect.stringContaining(said), []]);
  });

  test('whose branch somebody else has moved gets none', async () => {
    const { forge, unit, run } = await done();
    forge.push(`ralph/${unit}`, { 'theirs.txt': 'theirs\n' });
    const { code, stderr } = await run('pr', unit);
    expect([code, stderr, forge.state.pulls]).toEqual([
      2,
      expect.stringContaining('somebody else has pushed'),
      [],
    ]);
  });

  test('for which another machine does something at the same time: one of them stops, and nothing is opened twice', async () => {
    const { rig, forge, unit, run, other } = await done();
    forge.state.arrives = async (_, what) => {
      if (!/^POST .*\/pulls$/.test(what)) return;
      await rig.sql(
        `insert into ralph.event (unit, seq, fence, type, line)
         select unit, max(seq) + 1, max(fence), 'notice', '{}' from ralph.event where unit = $1 group by unit`,
        unit,
      );
    };
    const { code, stderr } = await run('pr', unit);
    expect([code, stderr]).toEqual([130, expect.stringContaining('works on this unit: this one stops')]);
    forge.state.arrives = () => {};
    await rig.sql("delete from ralph.event where unit = $1 and line = '{}'", unit);
    const again = await other('pr', unit, '--json');
    expect([again.code, forge.state.pulls.length], again.stderr).toEqual([0, 1]);
  });

  test('that is not over gets none', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const forge = await createForge(rig.project, rig.remote);
    const unit = await rig.submit('Write it', '--check', 'true');
    const { code, stderr } = await machine(rig, forge).run('pr', unit);
    expect([code, stderr]).toEqual([2, expect.stringContaining('it has no ledger yet')]);
  });
});

/** Two that have no run of their own. */
function machine(rig: FleetRig, forge: Fake) {
  const at = () => {
    const state = folder('ralph-elsewhere-').dir;
    const env = { ...rig.env, ...forge.env, XDG_STATE_HOME: state };
    return (...args: readonly string[]) => ralph(args, { ...rig.options, env });
  };
  return { run: at(), other: at() };
}
