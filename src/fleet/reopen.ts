/** A unit that is over is worked on again by whichever worker is free: with an answer, or with what its pull request asks for. */
import { userInfo } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { isCommit } from '../domain/text/commit.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { Message } from '../store/inbox.ts';
import type { Database } from './database.ts';
import { openQueues } from './lease.ts';
import { FLEET_VERSION } from './migrations.ts';
import { OVER, type Unit } from './unit.ts';
import { unitOf } from './units.ts';

/** Looks at a unit whose branch is still being shown: for half a minute. */
const MOST_LOOKS = 60;
const LOOK_EVERY = 500;

/** `messages`: what its agent hears. Returns why not; one that somebody else has reopened meanwhile is left alone. */
export async function reopenUnit(
  database: Database,
  id: string,
  messages: readonly Message[],
): Promise<Problem | undefined> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const unit = await unitOf(database, id);
    if (!unit) return { where: id, what: 'there is no such unit any more' };
    if (!OVER.includes(unit.state) || (await tryToReopen(database, unit, messages))) return undefined;
    if (unit.kind !== 'loop') return { where: id, what: 'a list that is over is not worked on again' };
    if (unit.stopReason === 'scm_failed')
      return { where: id, what: `its work is on its worker alone: ${unit.detail ?? ''}` };
    await setTimeout(LOOK_EVERY);
  }
  return { where: id, what: 'its branch is not shown yet' };
}

/** A job that is left, to show its branch, would be taken for that of the next holder. */
async function tryToReopen(database: Database, unit: Unit, messages: readonly Message[]): Promise<boolean> {
  const { id, fence } = unit;
  const carry = messages
    .flatMap(each => (each.kind === 'tell' && isCommit(each.carry) ? [each.carry] : []))
    .at(-1);
  await openQueues(database, { ...unit, minVersion: FLEET_VERSION });
  return database.transaction(async tx => {
    const { rowCount } = await tx.query(
      `update ralph.unit set state = 'ready', fence = fence + 1, reopened = true, worker = null, min_version = greatest(min_version, $4),
         cancel = null, cancelled_by = null, stop_reason = null, detail = null, ready_at = null, ended_at = null, takeovers = 0, waits = 0,
         carry = coalesce($5, carry), carry_fence = case when $5::text is null then carry_fence else fence + 1 end
       where id = $1 and fence = $2 and state = any($3) and job is null and kind = 'loop' and stop_reason is distinct from 'scm_failed'`,
      [id, fence, [...OVER], FLEET_VERSION, carry ?? null],
    );
    if (rowCount !== 1) return false;
    // What it was sent before and has not heard is old by now.
    await tx.query('update ralph.command set done_at = now() where unit = $1 and done_at is null', [id]);
    for (const body of messages)
      await tx.query('insert into ralph.command (unit, body, given_by) values ($1, $2, $3)', [
        id,
        JSON.stringify(body),
        userInfo().username,
      ]);
    return true;
  });
}
