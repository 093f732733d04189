/** The account of a unit's agents, shared with all others through the database: after a limit one unit tries alone, and the others follow when it works. */

import { pause } from '../engine/wait.ts';
import type { Accounts } from '../turns/budget.ts';
import type { Querying } from './database.ts';
import type { Unit } from './unit.ts';

/** Milliseconds between two looks at the account. */
const LOOK_EVERY = 500;
/** Seconds after which a unit that tries first and says nothing no longer holds up the others. */
const LONGEST_PROBE = 120;

export function accountsOf(
  { query }: Querying,
  { id, account }: Pick<Unit, 'id' | 'account'>,
  now: () => number,
): Accounts {
  let until = 0;
  const may = async () => {
    const { rows } = await query(
      `update ralph.account set probe = $2, probe_since = now() where id = $1 and limited_until <= now()
         and (probe is null or probe = $2 or probe_since < now() - $3 * interval '1 second') returning id`,
      [account, id, LONGEST_PROBE],
    );
    if (rows.length > 0) return true;
    // By the clock of the database: that of another machine may be an hour off.
    const { rows: found } = await query(
      'select extract(epoch from limited_until - now()) * 1000 as ms from ralph.account where id = $1',
      [account],
    );
    const left = found[0]?.ms ?? null;
    until = left === null ? 0 : now() + Number(left);
    return left === null;
  };
  const clear = (limit: string) =>
    void query(`update ralph.account set probe = null${limit} where id = $1 and probe = $2`, [
      account,
      id,
    ]).catch(() => {});
  return {
    until: () => until,
    limited(_agent, when) {
      until = Math.max(until, when);
      void query(
        "update ralph.account set limited_until = greatest(limited_until, now() + $2 * interval '1 millisecond'), probe = null where id = $1",
        [account, Math.max(0, when - now())],
      ).catch(() => {});
    },
    async enter(_agent, stopping, longest) {
      const latest = now() + longest;
      while (!stopping.aborted && now() < latest && !(await may().catch(() => false)))
        await pause(LOOK_EVERY, stopping);
      return { works: () => clear(', limited_until = null'), leave: () => clear('') };
    },
  };
}
