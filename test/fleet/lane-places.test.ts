/** The stories of a list have what lanes have, wherever they are worked on: a name, a number, ports, and what `laneSetup` makes. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { namesIn, readIfThere } from '../../src/platform/files.ts';
import { fleetRig, ownHome } from '../rig/fleet.ts';
import { rigFor } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { folder, repo } from '../rig/repo.ts';
import { CHECKED } from './ended.ts';

describeWithPostgres('a lane of a fleet', () => {
  const postgres = sharedPostgres();

  test('has its own name and ports, and what was made for it is taken away, also after a kill', async () => {
    const notes = folder().dir;
    const note = (what: string) =>
      `echo "${what} $RALPH_LANE $RALPH_LANE_INDEX $RALPH_PORT" >> "${notes}/notes"`;
    const lanes = rigFor(
      repo({
        'README.md': '# test\n',
        'tasks.md': '- [ ] Add one\n- [ ] Add two\n',
        '.gitignore': '.ralph/\n',
      }),
    );
    // Contained, a clean proof would write its notes into a folder of its own.
    lanes.project.settings({ laneSetup: note('up'), laneTeardown: note('down'), containment: 'off' });
    lanes.project.git('add', '-f', '.ralph/settings.json');
    lanes.project.git('commit', '--quiet', '-m', 'settings');
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const gate = rig.gate('gate');
    const args = ['loop', '--tasks', 'tasks.md', '--check', note('check'), '--agent', 'claude', '--json'];
    const { unit } = JSON.parse(await rig.fleet('submit', ...args));
    for (const id of ['T1', 'T2']) {
      const first = `if ! test -e "${notes}/${id}"; then touch "${notes}/${id}"; read x < "${gate.path}"; fi`;
      lanes.does(
        `${unit}.${id}`,
        'task',
        `${note('agent')}; ${first}; mkdir -p work; echo ${id} > work/${id}`,
      );
    }
    const { machine, homeOf } = ownHome();
    const one = rig.workerOn(machine, 'one', '--slots', '2');
    await rig.until('both turns', () => ['T1', 'T2'].every(id => existsSync(join(notes, id))));
    one.process.kill('SIGKILL');
    await one.finished;
    const read = () =>
      readFileSync(join(notes, 'notes'), 'utf8')
        .trim()
        .split('\n')
        .map(line => line.split(' '));
    const before = read();
    expect(before.map(([what]) => what).sort()).toEqual(['agent', 'agent', 'up', 'up']);
    rig.worker('two', '--slots', '2');
    await rig.untilState(unit, 'done');
    const all = read();
    const names = [...new Set(all.map(([, name = '']) => name))].sort();
    expect(names).toEqual([
      expect.stringMatching(/^r[a-z0-9]+n0t1$/),
      expect.stringMatching(/^r[a-z0-9]+n1t2$/),
    ]);
    for (const [at, name] of names.entries()) {
      const own = all.filter(([, each]) => each === name);
      expect(new Set(own.map(([, , index]) => index))).toEqual(new Set([String(at)]));
      for (const [, , , port] of own) expect(Number(port) % 10).toBe(0);
      // Whoever works on it sets it up first; the last thing that happens is that it is taken away.
      const steps = own.map(([what]) => what);
      expect(steps.slice(0, 2)).toEqual(['up', 'agent']);
      expect(steps).toContain('check');
      expect(steps.at(-1)).toBe('down');
    }
    const ports = before.filter(([what]) => what === 'up').map(([, , , port]) => port);
    expect(new Set(ports).size, 'side by side they have different ones').toBe(2);
    // What the one that was killed had made on its machine goes with the next worker there.
    const three = rig.workerOn({ env: homeOf() }, 'three', '--once');
    expect((await three.finished).code).toBe(0);
    const after = read().slice(all.length);
    expect(after.map(([what, name]) => [what, name]).sort()).toEqual(names.map(name => ['down', name]));
    expect(after.map(([, , , port]) => port).sort()).toEqual(ports.sort());
    expect(namesIn(join(homeOf().XDG_CACHE_HOME, 'ralph/workers'))).toEqual([]);
  });

  test('whose teardown hangs keeps no worker that is told to end: the next one on the machine runs it', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    const gate = rig.gate('gate');
    const laneTeardown = `echo begun >> "${orders}/torn"; read x < "${gate.path}"`;
    rig.project.settings({ laneTeardown, containment: 'off' });
    rig.project.write('tasks.md', '- [ ] Add one\n');
    rig.project.git('add', '--force', 'tasks.md', '.ralph/settings.json');
    rig.project.git('commit', '--quiet', '-m', 'settings');
    rig.project.git('push', '--quiet', 'origin', 'main');
    rig.does('echo 1 > first.txt; echo done > work.txt');
    await rig.fleet('submit', 'loop', '--tasks', 'tasks.md', ...CHECKED.slice(1), '--agent', 'claude');
    const begun = (count: number) =>
      rig.until('the teardown', () => readIfThere(join(orders, 'torn'))?.trim().split('\n').length === count);
    const { machine, homeOf } = ownHome();
    const one = rig.workerOn(machine, 'one');
    await begun(1);
    one.process.kill('SIGTERM');
    expect((await one.finished).code, 'nobody lets it end').toBe(0);
    expect(await rig.sql("select state from ralph.unit where kind = 'story'")).toEqual([{ state: 'done' }]);
    const two = rig.workerOn({ env: homeOf() }, 'two');
    await begun(2);
    two.process.kill('SIGTERM');
    expect((await two.finished).code).toBe(0);
    gate.open();
    gate.open();
    const three = rig.workerOn({ env: homeOf() }, 'three', '--once');
    expect((await three.finished).code).toBe(0);
    expect(namesIn(join(homeOf().XDG_CACHE_HOME, 'ralph/workers'))).toEqual([]);
  });
});
