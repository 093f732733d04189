/** A job of pg-boss is a lease on a unit. Its holder shows that it is there; else another gets the job. */
import type { Database, Querying } from './database.ts';
import { type Queued, queueOf, type Unit } from './unit.ts';
import { executing } from './units.ts';

const LEASE = {
  /** Seconds without a sign of life after which a worker counts as dead. */
  heartbeatSeconds: 10,
  /** The longest that one worker holds a unit. */
  expireInSeconds: 24 * 60 * 60,
  /** Who gives up on a unit is the unit itself, by its takeovers. */
  retryLimit: 1_000,
  retryDelay: 0,
} as const;

/** Milliseconds. */
export const LEASE_TIME = LEASE.heartbeatSeconds * 1_000;

export interface Job {
  readonly queue: string;
  readonly id: string;
  /** Grows with each worker that gets it: whoever had it before neither prolongs nor ends it. */
  readonly retryCount: number;
}

/** Queues must be there before something is sent to them. */
export async function openQueues({ boss }: Database, unit: Omit<Queued, 'kind'>): Promise<void> {
  for (const name of [queueOf({ ...unit, kind: 'loop' }), queueOf({ ...unit, kind: 'prd' })])
    if ((await boss.getQueue(name)) === null) await boss.createQueue(name, { ...LEASE });
}

export function sendJob(
  { boss }: Database,
  tx: Querying,
  unit: Queued & Pick<Unit, 'id' | 'priority'>,
): Promise<string | null> {
  const { id, priority } = unit;
  return boss.send(queueOf(unit), { unit: id }, { priority, db: executing(tx), ...LEASE });
}

/** Milliseconds between two signs of life, and after one that did not arrive. */
const BEAT = 3_000;
const AGAIN = 500;

/** A job that was claimed by somebody else meanwhile is not touched: its unit says so by its fence. */
export function keepBeating(
  { boss, ask }: Database,
  jobs: () => readonly Job[],
  /** undefined: it did arrive. */
  troubled: (error: unknown) => void,
): { end(): void } {
  let timer: NodeJS.Timeout;
  let hasEnded = false;
  const beat = async () => {
    const all = jobs();
    for (const queue of new Set(all.map(job => job.queue))) {
      const own = all.filter(job => job.queue === queue).map(({ id, retryCount }) => ({ id, retryCount }));
      await boss.touch(queue, own, { db: executing({ query: ask }) });
    }
  };
  const next = (wait: number) => {
    if (!hasEnded)
      timer = setTimeout(
        () =>
          void beat().then(
            () => {
              troubled(undefined);
              next(BEAT);
            },
            error => {
              troubled(error);
              next(AGAIN);
            },
          ),
        wait,
      );
  };
  next(BEAT);
  return {
    end() {
      hasEnded = true;
      clearTimeout(timer);
    },
  };
}

/** Of whoever has it now: who had it before changes nothing. */
export async function completeJob(
  { boss }: Database,
  tx: Querying,
  { queue, id, retryCount }: Job,
): Promise<void> {
  await boss.complete(queue, { id, retryCount }, null, { db: executing(tx) });
  await tx.query(
    `update ralph.unit set job = null where job = $1 and not exists
       (select from ralph_jobs.job where name = $2 and id = $1 and state in ('created', 'retry', 'active'))`,
    [id, queue],
  );
}
