/**
 * Workers that die, or sleep and wake up, in each phase of a unit. Each waits at a gate that is real: a row that the test has locked, a hook of
 * the remote, an agent or a check that reads from a pipe. One other worker takes everything over.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { admit } from '../../src/fleet/admission.ts';
import { FLEET_VERSION } from '../../src/fleet/migrations.ts';
import { openFleet } from '../../src/fleet/open.ts';
import { type FleetRig, fleetRig, type Machine } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { writeScript } from '../rig/repo.ts';
import { CHECKED, expectEnded, standing } from './ended.ts';

interface Phase {
  readonly name: string;
  /** Who has ended it, by the number of the claim, and how many turns it took. */
  readonly fence: number;
  readonly turns: number;
  /** What it says when it wakes up and finds that another was there. */
  readonly wakes: string;
}

const PHASES: readonly Phase[] = [
  { name: 'in the claim', fence: 1, turns: 1, wakes: 'database' },
  { name: 'after the claim', fence: 2, turns: 1, wakes: '  lost' },
  { name: 'in a turn', fence: 2, turns: 2, wakes: '  lost' },
  { name: 'pushing what the turn has done', fence: 2, turns: 2, wakes: '  lost' },
  // The remote has it, and the database names what was there before.
  { name: 'recording what the turn has done', fence: 2, turns: 2, wakes: '  lost' },
  { name: 'in a check', fence: 2, turns: 1, wakes: '  lost' },
  { name: 'pushing what came of it', fence: 2, turns: 1, wakes: '  lost' },
  { name: 'giving it back', fence: 2, turns: 1, wakes: '  lost' },
  { name: 'showing the branch', fence: 1, turns: 1, wakes: '  done' },
];

const label = ({ name }: Phase) => name.replaceAll(' ', '-');

/** Waits there, the first time that anybody comes to a gate of this name. */
const HOLD =
  'hold() { [ -p "$D/gate-$1" ] && mkdir "$D/reached-$1" 2>/dev/null && read x < "$D/gate-$1"; :; }';
const AGENT = `D=$FLEET_AGENT; ${HOLD}; unit=$(basename "$PWD")
echo 1 > first.txt; hold "in-a-turn-$unit"; touch "$D/turned-$unit"; echo done > work.txt`;
const CHECK = `D=$FLEET_AGENT; ${HOLD}; hold in-a-check`;
const HOOK = `while read old new ref; do
  unit=\${ref#refs/*ralph/}; unit=\${unit%%/*}
  case $ref in
    refs/ralph/*/carry*) [ ! -e "$D/turned-$unit" ] || hold "$1-what-the-turn-has-done-$unit" ;;
    refs/ralph/*/work) hold "pushing-what-came-of-it-$unit" ;;
    refs/heads/*) hold "showing-the-branch-$unit" ;;
  esac
done`;
/** What a worker does meanwhile. */
const HOOKS = [
  ['pre-receive', 'pushing'],
  ['post-receive', 'recording'],
] as const;
const FETCH = 'hold after-the-claim; exec "$@"';

describeWithPostgres('a unit whose worker', () => {
  const postgres = sharedPostgres();

  test.each(['SIGKILL', 'SIGSTOP'] as const)('gets %s in any phase ends once', async signal => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    rig.does(AGENT);
    for (const [hook, word] of HOOKS)
      writeScript(join(rig.remote.dir, 'hooks', hook), `D=${orders}; ${HOLD}; set -- ${word}; ${HOOK}`);
    writeScript(join(orders, 'fetch'), `D=${orders}; ${HOLD}; ${FETCH}`);
    const all = await Promise.all(PHASES.map(phase => begin(rig, phase)));
    for (const each of all) await rig.until(each.phase.name, each.hasArrived);
    const release = await midRelease(rig);
    await all.find(({ phase }) => phase.name === 'giving it back')?.open();
    await rig.until('the release', release.hasArrived);
    for (const { worker } of all) worker.process.kill(signal);
    for (const { open } of [release, ...all.slice(0, 1)]) await open();
    rig.worker('other', '--slots', '8', ...PHASES.flatMap(phase => ['--label', label(phase)]));
    for (const { unit } of all) await rig.untilState(unit, 'done');
    for (const { unit, phase } of all) await expectEnded(rig, unit, phase);
    const before = await Promise.all(all.map(({ unit }) => standing(rig, unit)));
    for (const { phase, open } of all.slice(1)) if (phase.name !== 'giving it back') await open();
    if (signal === 'SIGSTOP')
      for (const { worker, phase } of all) {
        worker.process.kill('SIGCONT');
        await worker.until(phase.wakes);
        worker.process.kill('SIGTERM');
        expect((await worker.finished).code, phase.name).toBe(0);
      }
    expect(await Promise.all(all.map(({ unit }) => standing(rig, unit)))).toEqual(before);
  });
});

describeWithPostgres('a unit that is cancelled', () => {
  const postgres = sharedPostgres();
  const locked = async (rig: FleetRig) => {
    const waiting =
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    return (await rig.sql(waiting)).length;
  };

  test('while a worker claims it ends once, and nothing is done for it', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const unit = await rig.submit(...CHECKED, '--need', 'x');
    const { hasArrived, open } = await behindLock(rig, unit, 'x');
    rig.worker('one', '--label', 'x');
    await rig.until('the claim', hasArrived);
    const cancelled = rig.fleet('cancel', unit);
    await rig.until('both', async () => (await locked(rig)) >= 2);
    await open();
    await cancelled;
    await rig.untilState(unit, 'cancelled');
    expect(rig.turns()).toEqual([]);
    expect((await rig.units())[0]).toMatchObject({ stopReason: 'cancelled', state: 'cancelled' });
  });

  test('while its worker gives it back ends once, and the answer says how', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const gate = rig.gate('gate');
    const hold = `case $ref in refs/ralph/*/work) mkdir "${orders}/pushes" && read x < "${gate.path}" ;; esac`;
    writeScript(
      join(rig.remote.dir, 'hooks/pre-receive'),
      `while read old new ref; do ${hold}; done; exit 0`,
    );
    const unit = await rig.submit(...CHECKED);
    rig.worker('one');
    await rig.until('the push', () => rig.reached('pushes'));
    const row = await lockRow(rig, unit);
    gate.open();
    await rig.until('the release', async () => (await locked(rig)) >= 1);
    const cancelled = ralph(['fleet', 'cancel', unit], rig.options);
    await rig.until('both', async () => (await locked(rig)) >= 2);
    await row.open();
    const { code, stderr } = await cancelled;
    expect([code, stderr]).toEqual([2, expect.stringContaining('it is over: done')]);
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
    const open = await rig.sql('select 1 from ralph.command where done_at is null');
    expect([(await rig.units())[0]?.cancel, open], 'nothing is left open').toEqual([null, []]);
  });
});

/** A unit that only its worker takes, and a gate on its way. */
async function begin(rig: FleetRig, phase: Phase) {
  const own = label(phase);
  const isChecked = own === 'in-a-check';
  const unit = await rig.submit(
    ...CHECKED,
    '--need',
    own,
    ...(isChecked ? ['--check', CHECK, '--containment', 'off'] : []),
  );
  const start = (machine: Machine = {}) => rig.workerOn(machine, own, '--label', own);
  if (own === 'in-the-claim') return { unit, phase, ...(await behindLock(rig, unit, own)), worker: start() };
  // From there the test lets it go on.
  const hold = own === 'giving-it-back' ? 'pushing-what-came-of-it' : own;
  const name = isChecked || own === 'after-the-claim' ? own : `${hold}-${unit}`;
  const gate = rig.gate(`gate-${name}`);
  const furnish = (home: string) => {
    const GIT_CONFIG_GLOBAL = join(home, 'settings-of-git');
    writeFileSync(GIT_CONFIG_GLOBAL, `[uploadpack]\n\tpackObjectsHook = ${rig.env.FLEET_AGENT}/fetch\n`);
    return { GIT_CONFIG_GLOBAL };
  };
  const machine: Machine = own === 'after-the-claim' ? { furnish } : {};
  const hasArrived = () => rig.reached(`reached-${name}`);
  return { unit, phase, hasArrived, open: async () => gate.open(), worker: start(machine) };
}

/** Admitted, and its row is locked: whoever claims it waits. */
async function behindLock(rig: FleetRig, unit: string, own: string) {
  const { RALPH_DATABASE_URL: database = '' } = rig.env;
  const fleet = await openFleet({ database }, {});
  if (isProblem(fleet)) throw new Error(fleet.what);
  expect(await admit(fleet, { free: 1, labels: ['claude', own], version: FLEET_VERSION, repos: [] })).toBe(1);
  await fleet.close();
  const { open } = await lockRow(rig, unit);
  return {
    open,
    hasArrived: async () =>
      (
        await rig.sql(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%for update'",
        )
      ).length > 0,
  };
}

/** The transaction that says that a unit is over has said so, and waits for the table of its files. */
async function midRelease(rig: FleetRig) {
  const { open } = await holding(rig, 'lock table ralph.artifact in share row exclusive mode');
  const waits = "wait_event_type = 'Lock' and query like 'insert into ralph.artifact%'";
  const hasArrived = async () => (await rig.sql(`select 1 from pg_stat_activity where ${waits}`)).length > 0;
  return { open, hasArrived };
}

function lockRow(rig: FleetRig, unit: string) {
  return holding(rig, 'select 1 from ralph.unit where id = $1 for update', unit);
}

async function holding(rig: FleetRig, text: string, ...params: readonly unknown[]) {
  const client = new Client({ connectionString: rig.env.RALPH_DATABASE_URL });
  onTestFinished(() => client.end());
  await client.connect();
  await client.query('begin');
  await client.query(text, [...params]);
  return { open: async () => void (await client.query('commit')) };
}
