/** Remotes that refuse what a unit gives them: it waits, takes nothing in that nobody checked, or stops with the words of the remote. */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { showBranch } from '../../src/fleet/place.ts';
import { type FleetRig, fleetRig, ownHome } from '../rig/fleet.ts';
import { laneRig, plain } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph, testEnv } from '../rig/ralph.ts';
import { repo, writeScript } from '../rig/repo.ts';
import { CHECKED, untilShown } from './ended.ts';

const CHECK = ['--check', 'test -f README.md'] as const;
const WORK = 'echo 1 > first.txt; echo done > work.txt';

/** Somebody else commits to a branch of the remote. */
function pushAsColleague({ remote }: FleetRig, branch: string): string {
  const commit = remote.git('commit-tree', `${branch}^{tree}`, '-p', branch, '-m', 'A fix of mine').trim();
  remote.git('update-ref', `refs/heads/${branch}`, commit);
  return commit;
}

/** A hook of the remote that decides on names that are pushed, by a pattern of the shell. */
function refuse({ remote }: FleetRig, pattern: string, words: string): void {
  const text = `while read old new ref; do case $ref in ${pattern}) echo "${words}" >&2; exit 1 ;; esac; done`;
  writeScript(join(remote.dir, 'hooks/pre-receive'), text);
}

/** Returns what brings it back. */
function takeAway({ remote }: FleetRig): () => void {
  const [head, away] = [join(remote.dir, 'HEAD'), join(remote.dir, 'HEAD.away')];
  renameSync(head, away);
  return () => renameSync(away, head);
}

async function rowOf(rig: FleetRig, unit: string) {
  const [row] = await rig.sql('select state, stop_reason, detail, waits from ralph.unit where id = $1', unit);
  return row as { state: string; stop_reason: string | null; detail: string | null; waits: number };
}

describeWithPostgres('a list whose branch somebody else', () => {
  const postgres = sharedPostgres();
  /** The first story has landed, the second is in its review. */
  const halfDone = async () => {
    const lanes = laneRig([plain('US-001'), plain('US-002')]);
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const gate = rig.gate('gate');
    lanes.does('US-002', 'review', `touch "$FLEET_AGENT/review"; read x < "${gate.path}"`);
    const unit = await rig.submit(...CHECK);
    rig.worker('one', '--slots', '2');
    await rig.until('the first has landed', async () => {
      const landed = "select 1 from ralph.event where unit = $1 and type = 'landed'";
      return (await rig.sql(landed, unit)).length === 1 && rig.reached('review');
    });
    return { rig, unit, gate, branch: `ralph/${unit}/_int` };
  };

  test('has pushed to halts, names them, and leaves it as it is', async () => {
    const { rig, unit, gate, branch } = await halfDone();
    const landed = rig.remote.git('rev-parse', branch).trim();
    const theirs = pushAsColleague(rig, branch);
    gate.open();
    await rig.untilState(unit, 'stopped');
    expect((await rowOf(rig, unit)).detail).toBe(
      `${branch} was moved to ${theirs} by Test ("A fix of mine"), and not by Ralph: nothing lands on what nobody checked. What has landed is kept; to continue from what is there now, start again from that branch.`,
    );
    expect(rig.remote.git('rev-parse', branch).trim()).toBe(theirs);
    const [{ head_sha } = {}] = await rig.sql('select head_sha from ralph.unit where id = $1', unit);
    expect(head_sha, 'what came of it is what was checked').toBe(landed);
    const lines = await rig.sql('select 1 from ralph.event where unit = $1', unit);
    expect(lines.length).toBeLessThan(100);
  });

  test('has deleted halts and says so', async () => {
    const { rig, unit, gate, branch } = await halfDone();
    rig.remote.git('update-ref', '-d', `refs/heads/${branch}`);
    gate.open();
    await rig.untilState(unit, 'stopped');
    expect((await rowOf(rig, unit)).detail).toContain(`${branch} was deleted, and not by Ralph`);
  });

  test('does not let it begin stops with the words of the remote, and says that nothing was done', async () => {
    const lanes = laneRig([plain('US-001')]);
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK);
    refuse(rig, `refs/heads/ralph/${unit}/_int`, 'Only the release bot makes it');
    rig.worker('one');
    await rig.untilState(unit, 'stopped');
    const [row] = await rig.sql('select stop_reason, detail from ralph.unit where id = $1', unit);
    expect(row).toEqual({
      stop_reason: 'needs_you',
      detail: expect.stringContaining('Only the release bot makes it'),
    });
    const { stdout } = await ralph(['explain', unit], rig.options);
    expect(stdout).toContain('Nothing of it was done');
  });

  test('does not let it move stops with the words of the remote', async () => {
    const { rig, unit, gate, branch } = await halfDone();
    refuse(rig, `refs/heads/${branch}`, 'Only the release bot moves it');
    gate.open();
    await rig.untilState(unit, 'stopped');
    expect((await rowOf(rig, unit)).detail).toMatch(
      /: Only the release bot moves it; ! \[remote rejected\] .* \(pre-receive hook declined\)$/,
    );
  });
});

describeWithPostgres('a unit whose agent', () => {
  const postgres = sharedPostgres();
  const AS = 'git -c user.name=a -c user.email=a@example.invalid';

  test.each([
    ['rewrites the commit that it began with', `${AS} commit -q --amend -m theirs`],
    ['begins another history', `git checkout -q --orphan other; ${AS} commit -q -m orphan`],
  ])('%s ends with its work on that commit', async (_, move) => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(`${WORK}; ${move}`);
    const unit = await rig.submit(...CHECKED);
    await rig.worker('one', '--once').finished;
    expect(await rowOf(rig, unit)).toMatchObject({ state: 'done', detail: null });
    expect(rig.remote.git('rev-list', '--count', `main..ralph/${unit}`)).toBe('1\n');
    expect(rig.remote.git('merge-base', 'main', `ralph/${unit}`)).toBe(rig.remote.git('rev-parse', 'main'));
    expect(rig.remote.git('diff', '--name-only', 'main', `ralph/${unit}`)).toBe('first.txt\nwork.txt\n');
  });
});

describeWithPostgres('a unit whose remote', () => {
  const postgres = sharedPostgres();

  test('does not take its work stops with the words of the remote, and the work is kept', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    refuse(rig, 'refs/ralph/*/carry*', 'Names below refs/ralph are not allowed');
    const unit = await rig.submit(...CHECKED);
    const { machine, homeOf } = ownHome();
    const one = rig.workerOn(machine, 'one', '--once');
    await rig.untilState(unit, 'stopped');
    const { stop_reason, detail } = await rowOf(rig, unit);
    expect(stop_reason).toBe('scm_failed');
    expect(detail).toMatch(
      /: Names below refs\/ralph are not allowed; .*\. The work is on the worker one-\w+, in \S+$/,
    );
    const place = detail?.split(' in ').at(-1) ?? '';
    // Also when its worker has ended, and another one begins there.
    expect((await one.finished).code).toBe(0);
    const two = rig.workerOn({ env: homeOf() }, 'two', '--once');
    expect((await two.finished).stdout).toContain(`${unit}  left`);
    expect(existsSync(join(place, 'README.md'))).toBe(true);
    const there = { ...rig.options, env: { ...rig.env, ...homeOf() } };
    const spared = await ralph(['prune', '--places'], there);
    expect([spared.code, spared.stdout]).toEqual([
      0,
      expect.stringContaining(`kept ${unit}: its work is in ${place} and nowhere else`),
    ]);
    const { stdout } = await ralph(['prune', '--places', '--force', '--json'], there);
    expect([JSON.parse(stdout).removed, existsSync(place)]).toEqual([[unit], false]);
  });

  test('does not take its branch is done, and says where the work is', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    refuse(rig, 'refs/heads/*', 'Branches are made by the release bot');
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one', '--once');
    expect((await one.finished).code).toBe(0);
    const { state, detail } = await rowOf(rig, unit);
    expect(state).toBe('done');
    expect(detail).toMatch(
      new RegExp(
        `^its branch does not have its work: .*Branches are made by the release bot.*To get the work: git fetch ${rig.remote.dir} refs/ralph/${unit}/1/work$`,
      ),
    );
    expect(rig.remote.git('show', `refs/ralph/${unit}/1/work:work.txt`)).toBe('done\n');
    expect(await rig.fleet('status', unit)).toContain('Branches are made by the release bot');
  });

  test('has work of somebody else on its branch keeps that', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    const unit = await rig.submit(...CHECKED);
    const branch = `ralph/${unit}`;
    rig.remote.git('update-ref', `refs/heads/${branch}`, 'main');
    const theirs = pushAsColleague(rig, branch);
    expect((await rig.worker('one', '--once').finished).code).toBe(0);
    const { state, detail } = await rowOf(rig, unit);
    expect([state, rig.remote.git('rev-parse', branch).trim()]).toEqual(['done', theirs]);
    expect(detail).toMatch(
      new RegExp(
        `^its branch does not have its work: .*${branch}.*${theirs.slice(0, 12)}.*To get the work: git fetch ${rig.remote.dir} refs/ralph/${unit}/1/work$`,
      ),
    );
    // Also whoever comes when its worker has died between the record and the branch.
    const [row] = await rig.sql('select head_sha from ralph.unit where id = $1', unit);
    const shown = await showBranch(
      testEnv({}),
      {
        id: unit,
        fence: 1,
        kind: 'loop',
        parent: null,
        repoUrl: rig.remote.dir,
        headSha: `${row?.head_sha}`,
      },
      new AbortController().signal,
    );
    expect([shown, rig.remote.git('rev-parse', branch).trim()]).toMatchObject([{ answer: 'stop' }, theirs]);
  });

  test('has on its branch what an earlier holder of the unit has put there gets the work of the last', async () => {
    const { dir, git } = repo({ 'a.txt': 'a\n' });
    const commit = (message: string) => git('commit-tree', '-m', message, 'main^{tree}').trim();
    const [first, second] = [commit('First'), commit('Second')];
    git('update-ref', 'refs/heads/ralph/u', first);
    git('update-ref', 'refs/ralph/u/1/work', first);
    git('update-ref', 'refs/ralph/u/2/work', second);
    const unit = { id: 'u', fence: 2, kind: 'loop', parent: null, repoUrl: dir, headSha: second } as const;
    expect(await showBranch(testEnv({}), unit, new AbortController().signal)).toBeUndefined();
    expect(git('rev-parse', 'ralph/u').trim()).toBe(second);
  });

  test('is away is waited for, each time longer, and for so long and no longer', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    const unit = await rig.submit(...CHECKED, '--repo', `file://${rig.remote.dir}`);
    takeAway(rig);
    rig.worker('one');
    const seconds = async () => {
      const [row] = await rig.sql(
        'select waits, extract(epoch from ready_at - now())::int as seconds from ralph.unit where id = $1',
        unit,
      );
      return row as { waits: number; seconds: number };
    };
    await rig.untilState(unit, 'parked');
    expect((await seconds()).seconds).toBeLessThanOrEqual(15);
    await rig.sql('update ralph.unit set ready_at = now(), waits = 6 where id = $1', unit);
    await rig.until('another try', async () => (await seconds()).waits === 7);
    expect((await seconds()).seconds).toBeGreaterThan(600);
    await rig.sql('update ralph.unit set ready_at = now(), waits = 49 where id = $1', unit);
    await rig.untilState(unit, 'stopped');
    expect((await rowOf(rig, unit)).detail).toMatch(/^it was tried 50 times: /);
  });

  test('comes back has its work, and the waits are forgotten', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    const unit = await rig.submit(...CHECKED);
    const comeBack = takeAway(rig);
    rig.worker('one');
    await rig.untilState(unit, 'parked');
    comeBack();
    await rig.untilState(unit, 'done');
    await untilShown(rig, unit);
    expect(await rowOf(rig, unit)).toMatchObject({ waits: 0, detail: null });
  });
});
