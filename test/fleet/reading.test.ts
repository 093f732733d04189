/** Units as they are seen from a machine that has never worked on them: by the same commands as runs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

const SECRET = 'a-secret-of-the-worker-4711';

describeWithPostgres('a unit of the fleet', () => {
  const postgres = sharedPostgres();

  test('is explained, reported and logged on any machine that reaches the database', async () => {
    const rig = fleetRig(await postgres().createDatabase(), undefined, { WORKER_API_KEY: SECRET });
    const elsewhere = machine(rig);
    rig.does('echo no > work.txt', 'echo done > work.txt');
    const check = 'echo looked at "$WORKER_API_KEY"; grep -q done work.txt';
    const unit = await rig.submit('Write it', '--check', check);
    const unbegun = await elsewhere.run('log', unit);
    expect([unbegun.code, unbegun.stderr]).toEqual([
      2,
      expect.stringContaining('it has no ledger yet: it is ready'),
    ]);
    await rig.worker('one', '--once').finished;
    await rig.sql(
      "insert into ralph.artifact values ($1, '../../../../stranger', 'x', 'x'), ($1, '/stranger', 'x', 'x')",
      unit,
    );

    const lines = await rig.sql('select line from ralph.event where unit = $1 order by seq', unit);
    const log = await elsewhere.run('log', unit.slice(0, -1), '--json');
    expect(log).toEqual({
      code: 0,
      signal: null,
      stderr: '',
      stdout: lines.map(({ line }) => `${line}\n`).join(''),
    });
    expect((await elsewhere.run('fleet', 'logs', '--json')).stdout).toBe(log.stdout);
    const { stdout: shown } = await elsewhere.run('fleet', 'logs', unit);
    expect(shown).toContain(`Next: What came of it is on the branch ralph/${unit} of ${rig.remote.dir}`);
    expect(shown, 'nothing that no command does here').not.toMatch(/`ralph (show|resume|report)/);

    const { outcome, ledger, next } = JSON.parse((await elsewhere.run('explain', unit, '--json')).stdout);
    expect([outcome, ledger]).toEqual([expect.stringContaining('all_checks_passed'), { kind: 'intact' }]);
    expect(next[0]).toContain(`on the branch ralph/${unit} of ${rig.remote.dir}`);

    const page = (await elsewhere.run('report', unit, '--format', 'html')).stdout;
    expect(page).toContain('looked at');
    expect(page).toContain('+done');
    expect(page).not.toContain(SECRET);
    const kept = await rig.sql(
      "select name, convert_from(content, 'UTF8') as text from ralph.artifact where sha256 <> 'x'",
    );
    expect(kept.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['run.json', 'task.md', 'iterations/0002/changes.diff']),
    );
    expect(kept.map(({ name }) => name)).not.toContain('iterations/0002/agent.jsonl');
    expect(JSON.stringify(kept)).not.toContain(SECRET);
    expect(existsSync(join(elsewhere.state, 'ralph/fleet/stranger'))).toBe(false);

    expect(await elsewhere.run('report', unit, '--bundle', 'unit.proof')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await elsewhere.run('replay', unit)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('raw streams'),
    });
    // Its log names the command that resumes a run.
    expect(await ralph(['resume', unit], rig.options)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/it is a unit of the fleet, and over: done.*--base origin\/ralph\//),
    });
    expect(await elsewhere.run('log', 'nothing-like-it')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no such unit'),
    });
  });

  test('is followed from before its first worker to its end, over a worker that gives it back', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const elsewhere = machine(rig);
    const gate = rig.gate('gate');
    rig.does(
      `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; echo no > work.txt`,
      'echo done > work.txt',
    );
    const unit = await rig.submit('Write it', '--check', 'grep -q done work.txt');
    const following = elsewhere.start('fleet', 'logs', unit, '--follow', '--json');
    const one = rig.worker('one');
    await following.until('"type":"agent-started"');
    expect(JSON.parse((await elsewhere.run('explain', unit, '--json')).stdout).outcome).toContain(
      'Still running',
    );
    await rig.until('the turn', () => rig.reached('turn'));
    one.process.kill('SIGTERM');
    await one.until('draining');
    gate.open();
    expect((await one.finished).code).toBe(0);
    rig.worker('two', '--once');
    const { code, stdout, stderr } = await following.finished;
    expect([code, stderr]).toEqual([0, '']);
    const lines = await rig.sql('select line from ralph.event where unit = $1 order by seq', unit);
    expect(stdout).toBe(lines.map(({ line }) => `${line}\n`).join(''));
    expect(stdout.match(/"type":"run-ended"/g)?.length).toBe(2);
  });
});

/** One that has nothing but the address of the database. */
function machine(rig: FleetRig) {
  const { dir: cwd } = folder('ralph-elsewhere-');
  const state = join(cwd, 'state');
  const env = { RALPH_DATABASE_URL: rig.env.RALPH_DATABASE_URL ?? '', HOME: cwd, XDG_STATE_HOME: state };
  return {
    state,
    run: (...args: readonly string[]) => ralph(args, { cwd, env }),
    start: (...args: readonly string[]) => startRalph(args, { cwd, env }),
  };
}
