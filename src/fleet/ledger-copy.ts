/**
 * The ledger of a unit in the database. Lines are sent in batches as they come; one that ends a step waits until the work is pushed, and
 * both are recorded together: the database never says that something was done which is nowhere to be found.
 */

import type { RunEvent } from '../domain/run/event.ts';
import { isRefusal } from '../domain/run/remote-answer.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { createTurns } from '../platform/in-turn.ts';
import type { LedgerLine } from '../store/journal.ts';
import type { RunCopy } from '../store/run-store.ts';
import { type Patience, untilDone } from './away.ts';
import type { Progress } from './units.ts';

export interface CopyWorld extends Patience {
  /** The last line that the database has. */
  readonly after: number;
  /** The remote does not take the work, and will not later: the run ends, and nothing more is sent. */
  refused(problem: Problem): void;
  /** Makes the work safe elsewhere, beside what is still needed there; answers the commit. */
  carry(isNeeded: (commit: string) => boolean): Promise<string | Problem>;
  /** False: somebody else holds the unit. Throws when the database is not there. */
  write(progress: Progress): Promise<boolean>;
  figures(): Pick<Progress, 'cost' | 'iterations'>;
  /** Somebody else holds the unit: nothing is written any more. */
  lost(): void;
}

export interface LedgerCopy extends RunCopy {
  /** Sends what has come since, but for what ends a step. Must not throw. */
  flush(): Promise<void>;
}

/** After these the files or the state of the run are not what they were. */
const ENDS_A_STEP: ReadonlySet<RunEvent['type']> = new Set([
  'prepared',
  'turn-ended',
  'judged',
  'scm',
  'iteration-ended',
  'stories-updated',
  'restored',
  'run-ended',
]);

export function copyLedger(world: CopyWorld): LedgerCopy {
  let pending: LedgerLine[] = [];
  let isLost = false;
  /** What the database may name: of a question that failed nobody knows whether it was heard. */
  let named: readonly string[] = [];
  const inTurn = createTurns();
  const send = async (lines: readonly LedgerLine[], commit?: string) => {
    if (isLost || (lines.length === 0 && commit === undefined)) return;
    if (commit !== undefined) named = [...named, commit];
    const isOurs = await world.write({ lines, carry: commit, ...world.figures() });
    if (isOurs) {
      pending = pending.slice(lines.length);
      if (commit !== undefined) named = [commit];
    } else {
      isLost = true;
      world.lost();
    }
  };
  const untilCopied = async () => {
    const hasStep = pending.some(({ type }) => ENDS_A_STEP.has(type));
    const lines = [...pending];
    if (isLost || !hasStep) return send(lines);
    const commit = await world.carry(commit => named.includes(commit));
    if (isRefusal(commit) && commit.answer !== 'wait') return world.refused(commit);
    if (isProblem(commit)) throw new Error(formatProblem(commit));
    await send(lines, commit);
  };
  return {
    line({ seq, type, text }) {
      if (seq > world.after) pending.push({ seq, type, text });
    },
    flushed: () => inTurn(async () => void (await untilDone(untilCopied, world))),
    flush: () =>
      inTurn(async () => {
        const end = pending.findIndex(({ type }) => ENDS_A_STEP.has(type));
        await send(pending.slice(0, end === -1 ? undefined : end)).catch(() => {});
      }),
  };
}
