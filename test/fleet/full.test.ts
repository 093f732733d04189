/** A server whose disk is full, really: nothing is lost, nothing is done twice, and everybody says so and what to do. */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, startPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { CHECKED, expectEnded } from './ended.ts';

const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;

/** As much as a new server needs, and a little more. */
const SIZE = '140m';

/** A disk of its own, and what fills it. */
function createDisk() {
  const { dir } = folder('ralph-disk-');
  execFileSync('sh', ['-c', `mount -t tmpfs -o size=${SIZE},mode=777 none '${dir}'`]);
  onTestFinished(() => void spawnSync('sh', ['-c', `umount -l '${dir}'`]));
  const ballast = join(dir, 'ballast');
  return {
    dir,
    fill() {
      // As much as there is.
      spawnSync('sh', ['-c', `cat /dev/zero > '${ballast}' 2>/dev/null`]);
    },
    free: () => rmSync(ballast),
  };
}

describeWithPostgres('a server', () => {
  /** Where there is no room for its log it ends, and somebody has to start it again. */
  describe.skipIf(!canMount).each(['tables', 'log'] as const)('whose disk is full for its %s', which => {
    test('is waited for, and whoever asks it is told so', async () => {
      const disk = createDisk();
      const postgres = await startPostgres({ where: disk.dir });
      const rig = fleetRig(await postgres.createDatabase());
      const gate = rig.gate('gate');
      const waits = `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`;
      rig.does(`echo 1 > first.txt; ${waits}; echo done > work.txt`);
      const unit = await rig.submit(...CHECKED);
      const one = rig.worker('one');
      await rig.until('the turn', () => rig.reached('turn'));
      disk.fill();
      if (which === 'log')
        await rig.until('its end', async () => {
          // With 16 megabytes for each there is soon no room for another one.
          const write = "select pg_logical_emit_message(false, 'x', repeat('x', 4000000))";
          await postgres.sql(write).catch(() => {});
          return postgres.pid() === undefined;
        });
      gate.open();
      const said =
        which === 'tables'
          ? /waits.*disk is full.*free some space/
          : /server cannot be reached.*check the host/;
      await one.until(said);
      const words = randomBytes(60_000).toString('hex');
      const submit = ['fleet', 'submit', 'loop', words, '--check', 'true', '--agent', 'claude'];
      const { code, stderr } = await ralph(submit, rig.options);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(which === 'tables' ? /disk is full.*free some space/ : /cannot be reached/),
      ]);
      disk.free();
      if (which === 'log') await postgres.start();
      await rig.untilState(unit, 'done');
      await expectEnded(rig, unit, { fence: 1, turns: 1 });
    });
  });
});
