/** A unit and another one on the same worker: what docs/reference/parallel.md says of lanes and each other. */
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { untilShown } from './ended.ts';

const DONE = 'echo done > work.txt';
const UNTIL = (name: string) => `until test -e "$FLEET_AGENT/${name}"; do sleep 0.05; done`;
/** The unit whose turn comes first says where it is. */
const FIRST = 'mkdir "$FLEET_AGENT/first" 2>/dev/null';
const PLACE = '"$(cat "$FLEET_AGENT/place")"';

describeWithPostgres('a unit whose worker has another one', () => {
  const postgres = sharedPostgres();

  async function both(rig: FleetRig, check: string, ...flags: readonly string[]) {
    const units: string[] = [];
    for (const task of ['One', 'Other'])
      units.push(await rig.submit(task, '--check', 'grep -q done work.txt', '--check', check, ...flags));
    rig.worker('one', '--slots', '2');
    for (const unit of units) await untilShown(rig, unit);
    const place = rig.turns()[0]?.cwd ?? '';
    const own = units.find(unit => place.includes(unit)) ?? '';
    const files = rig.remote.git('ls-tree', '-r', '--name-only', `ralph/${own}`).trim().split('\n');
    const lines = await rig.sql("select line from ralph.event where unit = $1 and type = 'notice'", own);
    return { files, said: lines.map(({ line }) => JSON.parse(String(line)).text).join('\n') };
  }

  test('is out of its reach where turns are contained', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const reach = `touch ${PLACE}/others; rm -f ${PLACE}/README.md`;
    rig.does(
      `if ${FIRST}; then pwd > "$FLEET_AGENT/place"; ${UNTIL('tried')}; ${DONE}; else ${UNTIL('place')}; (${reach}); touch "$FLEET_AGENT/tried"; ${DONE}; fi; true`,
    );
    const { files, said } = await both(rig, 'test -f README.md');
    expect(files).toEqual(['README.md', 'work.txt']);
    expect(said).not.toContain('others');
  });

  test('without containment has what it wrote during the checks, and says which files', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const reach = `touch ${PLACE}/others; rm ${PLACE}/README.md`;
    const isPlace = `test "$PWD" = ${PLACE}`;
    rig.does(
      `if ${FIRST}; then pwd > "$FLEET_AGENT/place"; ${DONE}; else ${UNTIL('checked')}; ${reach}; touch "$FLEET_AGENT/tried"; ${DONE}; fi`,
    );
    const check = `if ${isPlace}; then touch "$FLEET_AGENT/checked"; ${UNTIL('tried')}; fi`;
    const { files, said } = await both(rig, check, '--containment', 'off');
    expect(files).toEqual(['others', 'work.txt']);
    for (const name of ['README.md', 'others']) expect(said).toContain(name);
  });

  test.each<[what: string, kind: string, config: object, said: RegExp]>([
    [
      'settings',
      'loop',
      { flags: { checks: [[['x']]], agent: { name: 1 } }, task: 'Do it' },
      /forged: agent\.name: unknown setting/,
    ],
    [
      'a list',
      'story',
      { flags: {}, story: { lane: 'US-001', tip: '', list: 'no' } },
      /forged: there is no story/,
    ],
    ['no fields at all', 'loop', [], /^it was not submitted with `ralph fleet submit`/],
  ])(
    'that nobody can have submitted, by %s, is stopped in a sentence, and the other is worked on',
    async (_, kind, config, said) => {
      const rig = fleetRig(await postgres().createDatabase());
      rig.does(DONE);
      const unit = await rig.submit('Do it', '--check', 'test -f work.txt');
      const [{ base = '' } = {}] = await rig.sql('select base from ralph.unit');
      const text = JSON.stringify(config).replace('"tip":""', `"tip":"${base}"`);
      await rig.sql(
        `insert into ralph.unit (id, kind, title, owner, repo_url, base, config, needs, account, min_version, state)
       select 'forged', $1, title, owner, repo_url, base, $2, needs, account, min_version, 'ready' from ralph.unit`,
        ...[kind, text],
      );
      const { code } = await rig.worker('one', '--once').finished;
      expect(code).toBe(0);
      expect(await rig.sql('select id, state, detail from ralph.unit order by number')).toEqual([
        { id: unit, state: 'done', detail: null },
        { id: 'forged', state: 'stopped', detail: expect.stringMatching(said) },
      ]);
    },
  );
});
