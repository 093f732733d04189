/** A list of stories over several workers: each story is a unit, and so is the merge queue. */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { beginWithSubmodule, DECIDED, expectBoth, KINDS, LANDED, OWN } from '../rig/conflicts.ts';
import { fleetRig, remoteFiles, timeless } from '../rig/fleet.ts';
import { type LaneRig, landedFiles, laneRig, plain, rigFor, runParallel } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { repo, writeScript } from '../rig/repo.ts';

const CHECK = ['--check', 'test -f README.md'] as const;
const three = () => laneRig([plain('US-001'), plain('US-002'), plain('US-003', { dependsOn: ['US-001'] })]);

describeWithPostgres('a list of stories in a fleet', () => {
  const postgres = sharedPostgres();

  test('lands the same tree as on one machine', async () => {
    const lanes = three();
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK);
    rig.worker('one', '--slots', '1');
    rig.worker('two', '--slots', '1');
    await rig.untilState(unit, 'done');
    const alone = three();
    await runParallel(alone, '--parallel', '2', ...CHECK);
    expect(remoteFiles(rig, unit)).toEqual(timeless(landedFiles(alone, 'ralph/demo')));
    const [list] = await rig.sql('select fence::int as fence from ralph.unit where id = $1', unit);
    expect(list, 'nobody gave it back').toEqual({ fence: 1 });
    // The clone of a worker has branches of its own, and nobody gets what is on them.
    expect(await rig.sql("select 1 from ralph.event where type = 'integrated'")).toEqual([]);
    expect(await rig.fleet('status', unit)).toMatch(new RegExp(`${unit} +done +\\S+ +6 `));
    const units = await rig.sql("select id, state, kind from ralph.unit where kind = 'story' order by id");
    expect(units).toEqual(
      ['US-001', 'US-002', 'US-003'].map(id => ({ id: `${unit}.${id}`, state: 'done', kind: 'story' })),
    );
    expectOnce(lanes);
  });

  test('is one unit, however often it is submitted, unless it is asked for once more', async () => {
    const rig = fleetRig(await postgres().createDatabase(), laneRig([plain('US-001')]));
    const unit = await rig.submit(...CHECK);
    expect(await rig.submit(...CHECK)).toBe(unit);
    expect(await rig.fleet('submit', 'prd', ...CHECK, '--agent', 'claude')).toBe(
      `${unit}\nThis list was submitted already, and is ready: see it with \`ralph fleet status ${unit}\`. --again submits it once more.\n`,
    );
    const again = await rig.submit(...CHECK, '--again');
    expect(again).not.toBe(unit);
    expect(await rig.submit(...CHECK, '--check', 'true'), 'other checks').not.toBe(unit);
    await rig.fleet('cancel', unit);
    expect(await rig.submit(...CHECK), 'one that came to nothing').not.toBe(unit);
  });

  test('sends a story back that does not fit, wherever it was done', async () => {
    const lanes = laneRig([plain('US-001'), plain('US-002')]);
    lanes.does('US-001', 'implement', 'mkdir -p work; echo one > work/same');
    lanes.does('US-002', 'implement', 'mkdir -p work; echo two > work/same');
    for (const id of ['US-001', 'US-002']) lanes.does(id, 'merge-fix', 'printf "one\\ntwo\\n" > work/same');
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK);
    rig.worker('one', '--slots', '2');
    await rig.untilState(unit, 'done');
    expect(remoteFiles(rig, unit)['work/same']).toBe('one\ntwo\n');
  });

  test('shows a reviewer all that would land, also where an agent has moved the branch of the list', async () => {
    const lanes = laneRig([plain('US-001')]);
    const int = "$(git ls-remote origin 'refs/heads/ralph/*/_int' | cut -f2)";
    const push = (commit: string) => `git push -qf origin "${commit}:$(cat $LANE_AGENT/int)"`;
    const git = 'git -c user.name=a -c user.email=a@example.invalid';
    lanes.does(
      'US-001',
      'implement',
      `echo "${int}" > $LANE_AGENT/int; test -s $LANE_AGENT/int || exit 1; git fetch -q origin "$(cat $LANE_AGENT/int)"
git rev-parse FETCH_HEAD > $LANE_AGENT/before; echo hidden > hidden.txt; git add hidden.txt
evil=$(${git} commit-tree -m evil -p FETCH_HEAD "$(git write-tree)"); git rm -qf hidden.txt; ${push('$evil')}; echo shown > shown.txt`,
    );
    lanes.does(
      'US-001',
      'review',
      `ls > $LANE_AGENT/files; git diff --stat "$(cat $LANE_AGENT/before)" > $LANE_AGENT/stat; ${push('$(cat $LANE_AGENT/before)')}`,
    );
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK);
    rig.worker('one', '--slots', '1');
    await rig.untilState(unit, 'done');
    expect(remoteFiles(rig, unit)['shown.txt']).toBe('shown\n');
    expect(remoteFiles(rig, unit)['hidden.txt']).toBeUndefined();
  });

  test('lands a story when every conflict is decided, and not before', async () => {
    const lanes = laneRig(['US-001', 'US-002', 'US-003'].map(id => plain(id)));
    beginWithSubmodule(lanes.project);
    const fetch = "git fetch -q origin '+refs/heads/ralph/*:refs/seen/*'";
    const isLanded = "git for-each-ref --format='%(refname) %(contents:subject)' | grep -q '_int US-001:'";
    lanes.does('US-001', 'implement', LANDED);
    // Of one nothing is ever decided.
    for (const id of ['US-002', 'US-003'])
      lanes.does(id, 'implement', `until ${fetch} && ${isLanded}; do sleep 0.05; done\n${OWN}`);
    lanes.does(
      'US-002',
      'merge-fix',
      `if test -e $LANE_AGENT/again; then ${DECIDED}\nelse touch $LANE_AGENT/again; fi`,
    );
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK, '--max-iterations', '30');
    rig.worker('one', '--slots', '3');
    await rig.untilState(unit, 'stopped');
    const backs = await rig.sql("select line from ralph.event where type = 'sent-back'");
    const { conflicts } = backs
      .map(({ line }) => JSON.parse(String(line)))
      .find(({ story }) => story === 'US-002');
    expect(conflicts.map(({ kind }: { kind: string }) => kind).sort()).toEqual(KINDS);
    expectBoth(rig.remote, `ralph/${unit}/_int`);
    const stories = (await rig.units()).filter(({ state }) => state !== 'done');
    expect(stories).toMatchObject([{ stopReason: 'needs_you' }]);
    expect(JSON.stringify(stories)).toContain('US-003');
  });

  test.each([
    // One turn at a time may have what is left, and ends there.
    ['--max-cost', '0.25', '3', /^\$0\.30 of \$0\.25 spent\.$/],
    ['--max-tokens', '300', '3', /^\d+ of 300 tokens used\.$/],
    // A story that waits for its turn when all is used is told so, too.
    ['--max-iterations', '3', '1', /^3 of 3 iterations used\.$/],
  ] as const)(
    'spends no more than its limit, whoever works on its stories: %s',
    async (flag, cap, slots, words) => {
      const lanes = laneRig(
        ['US-001', 'US-002', 'US-003'].map(id => plain(id)),
        { LANE_COST: '0.1' },
      );
      const rig = fleetRig(await postgres().createDatabase(), lanes);
      const unit = await rig.submit(...CHECK, flag, cap);
      rig.worker('one', '--slots', slots);
      await rig.untilState(unit, 'stopped');
      const [list] = await rig.sql('select stop_reason, detail from ralph.unit where id = $1', unit);
      expect(list).toEqual({
        stop_reason: flag === '--max-iterations' ? 'max_iterations' : 'budget_exhausted',
        detail: expect.stringMatching(words),
      });
      expect(lanes.turns().length).toBe(3);
      const stories = await rig.sql(
        "select state, detail from ralph.unit where kind = 'story' and state <> 'done'",
      );
      expect(stories).not.toEqual([]);
      for (const { detail } of stories)
        expect(detail).toMatch(/by the whole list\.$|^The turn was ended by --max-/);
    },
  );

  test('one turn goes first while nobody knows what a turn costs', async () => {
    const lanes = laneRig(
      ['US-001', 'US-002', 'US-003', 'US-004'].map(id => plain(id)),
      { LANE_COST: '3' },
    );
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK, '--max-cost', '2');
    rig.worker('one', '--slots', '2');
    rig.worker('two', '--slots', '2');
    await rig.untilState(unit, 'stopped');
    expect(lanes.turns()).toHaveLength(1);
    const [list] = await rig.sql('select detail from ralph.unit where id = $1', unit);
    expect(list).toEqual({ detail: '$3.00 of $2.00 spent.' });
  });

  test('lands the tasks of a list, each a unit of its own, and ticks them', async () => {
    const tasks = '# Tasks\n\n- [ ] Add one\n- [x] Done before\n- [ ] Add two\n  - with care\n';
    const lanes = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': tasks, '.gitignore': '.ralph/\n' }));
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const said = await rig.fleet(
      'submit',
      'loop',
      '--tasks',
      'tasks.md',
      ...CHECK,
      '--agent',
      'claude',
      '--json',
    );
    const { unit } = JSON.parse(said);
    const gate = rig.gate('gate');
    // Both change the same line: whoever comes second is sent back, with the merge in its files.
    for (const id of ['T1', 'T2']) {
      const waits = id === 'T1' ? `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; ` : '';
      lanes.does(`${unit}.${id}`, 'task', `${waits}mkdir -p work; printf '${id}\\n' > work/same`);
      lanes.does(`${unit}.${id}.2`, 'task', "printf 'T1\\nT2\\n' > work/same");
    }
    const one = rig.worker('one', '--slots', '2');
    await rig.until('a turn', () => rig.reached('turn'));
    // Another one continues with the list and with the task, wherever they are.
    one.process.kill('SIGTERM');
    await one.until('draining');
    gate.open();
    rig.worker('two', '--slots', '2');
    await rig.untilState(unit, 'done');
    const files = remoteFiles(rig, unit);
    expect(files['tasks.md']).toBe(tasks.replaceAll('[ ]', '[x]'));
    expect(files['work/same']).toBe('T1\nT2\n');
    const units = await rig.sql(
      "select id, state, stop_reason from ralph.unit where kind = 'story' order by id",
    );
    expect(units).toHaveLength(3);
    expect(new Set(units.map(({ state, stop_reason }) => `${state} ${stop_reason}`))).toEqual(
      new Set(['done all_checks_passed']),
    );
    const report = await ralph(['log', `${unit}.T2`], rig.options);
    expect(report.stdout).toContain('Add two');
  });

  test('pushes nothing of a story by itself, as on one machine, whatever the settings say of source control', async () => {
    const lanes = laneRig([plain('US-001')]);
    lanes.project.settings({ scm: { command: 'git', tasks: ['commit', 'push'] } });
    lanes.project.git('add', '-A', '-f', '.ralph/settings.json');
    lanes.project.git('commit', '--quiet', '-m', 'settings');
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK);
    rig.worker('one', '--slots', '2');
    await rig.untilState(unit, 'done');
    const tasks = await rig.sql(
      "select line from ralph.event where unit like $1 and type like 'scm%'",
      `${unit}%`,
    );
    const shown = tasks
      .map(({ line }) => JSON.parse(String(line)))
      .map(({ task, type }) => `${type} ${task}`);
    expect(shown.filter(each => each.includes('push'))).toEqual([]);
  });

  test('waits for a remote that is away when the work of a story is to be had', async () => {
    const lanes = laneRig([plain('US-001')]);
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const unit = await rig.submit(...CHECK);
    const [head, away] = ['HEAD', 'HEAD.away'].map(name => join(rig.remote.dir, name)) as [string, string];
    // It is gone as soon as the work of the story has arrived there.
    const hook = join(rig.remote.dir, 'hooks/post-update');
    writeScript(hook, `case "$*" in *${unit}.US-001/*/work*) mv "${head}" "${away}" ;; esac`);
    rig.worker('one', '--slots', '2');
    await rig.until('a look at where it was', async () => {
      const seen = "select 1 from ralph.event where unit = $1 and line like '%does not appear to be a git%'";
      return (await rig.sql(seen, unit)).length > 0;
    });
    rmSync(hook);
    renameSync(away, head);
    await rig.untilState(unit, 'done');
    expect(remoteFiles(rig, unit)['work/US-001.txt']).toBe('US-001\n');
  });

  test('outlives the worker that holds the queue', async () => {
    const lanes = three();
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const gate = rig.gate('gate');
    lanes.does('US-002', 'review', `touch "$FLEET_AGENT/review"; read x < "${gate.path}"`);
    // What a story began with is on record elsewhere only where its worker has put it there.
    const unit = await rig.submit(...CHECK, '--strict');
    const one = rig.worker('one', '--slots', '2');
    await rig.until('a review', () => rig.reached('review'));
    lanes.does('US-002', 'review', ':');
    one.process.kill('SIGKILL');
    rig.worker('two', '--slots', '2');
    await rig.untilState(unit, 'done');
    const alone = three();
    await runParallel(alone, '--parallel', '2', ...CHECK);
    expect(remoteFiles(rig, unit)).toEqual(timeless(landedFiles(alone, 'ralph/demo')));
    const landed = await rig.sql("select line from ralph.event where unit = $1 and type = 'landed'", unit);
    expect(landed).toHaveLength(3);
    expect(await rig.sql("select unit from ralph.event where line like '%inputsChanged%'")).toEqual([]);
  });
});

function expectOnce(lanes: LaneRig): void {
  const built = lanes
    .turns()
    .filter(({ mode }) => mode === 'implement')
    .map(({ story }) => story);
  expect(built.sort()).toEqual([...new Set(built)].sort());
}
