/**
 * The ledger of a unit in the database. Lines are sent in batches as they come; one that ends a step waits until the work is pushed, and
 * both are recorded together: the database never says that something was done which is nowhere to be found.
 */

import type { RunEvent } from '../domain/run/event.ts';
import { isRefusal } from '../domain/run/remote-answer.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { pause } from '../engine/wait.ts';
import { createTurns } from '../platform/in-turn.ts';
import type { LedgerLine } from '../store/journal.ts';
import type { RunCopy } from '../store/run-store.ts';
import type { Progress } from './units.ts';

export interface CopyWorld {
  /** The last line that the database has. */
  readonly after: number;
  /** The remote does not take the work, and will not later: the run ends, and nothing more is sent. */
  refused(problem: Problem): void;
  /** Makes the work safe elsewhere; answers the commit. */
  carry(): Promise<string | Problem>;
  /** False: somebody else holds the unit. Throws when the database is not there. */
  write(progress: Progress): Promise<boolean>;
  figures(): Pick<Progress, 'cost' | 'iterations'>;
  /** Somebody else holds the unit: nothing is written any more. */
  lost(): void;
  /** Why it waits; undefined: it does not any more. */
  troubled(why: string | undefined): void;
  readonly abort: AbortSignal;
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
  'stories-settled',
  'restored',
  'run-ended',
]);

/** Milliseconds between two tries, growing. */
const FIRST_WAIT = 250;
const LONGEST_WAIT = 5_000;

export function copyLedger(world: CopyWorld): LedgerCopy {
  let pending: LedgerLine[] = [];
  let isLost = false;
  const inTurn = createTurns();
  const send = async (lines: readonly LedgerLine[], commit?: string) => {
    if (isLost || (lines.length === 0 && commit === undefined)) return;
    const isOurs = await world.write({ lines, carry: commit, ...world.figures() });
    if (isOurs) pending = pending.slice(lines.length);
    else {
      isLost = true;
      world.lost();
    }
  };
  const settle = async () => {
    const hasStep = pending.some(({ type }) => ENDS_A_STEP.has(type));
    const lines = [...pending];
    if (isLost || !hasStep) return send(lines);
    const commit = await world.carry();
    if (isRefusal(commit) && commit.answer !== 'wait') return world.refused(commit);
    if (isProblem(commit)) throw new Error(`${commit.where}: ${commit.what}`);
    await send(lines, commit);
  };
  return {
    line({ seq, type, text }) {
      if (seq > world.after) pending.push({ seq, type, text });
    },
    settled: () => inTurn(() => untilDone(world, settle, () => isLost)),
    flush: () =>
      inTurn(async () => {
        const end = pending.findIndex(({ type }) => ENDS_A_STEP.has(type));
        await send(pending.slice(0, end === -1 ? undefined : end)).catch(() => {});
      }),
  };
}

/** A database or a remote that is away comes back: until then the run stands still between two steps. */
async function untilDone(
  { troubled, abort }: CopyWorld,
  action: () => Promise<void>,
  isLost: () => boolean,
): Promise<void> {
  for (let wait = FIRST_WAIT; !isLost(); wait = Math.min(LONGEST_WAIT, wait * 2)) {
    try {
      await action();
      return troubled(undefined);
    } catch (error) {
      troubled(error instanceof Error ? error.message : String(error));
      if (abort.aborted) return;
      await pause(wait, abort);
    }
  }
}
