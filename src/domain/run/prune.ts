/** Which runs may be removed. */
import { parseDuration } from '../text/duration.ts';

export interface PruneRule {
  /** So many of the latest stay. */
  readonly keep?: number;
  /** Milliseconds since 1970: what began after it stays. */
  readonly before?: number;
  /** Also runs that could still be resumed. */
  readonly force: boolean;
}

export interface Prunable {
  readonly id: string;
  readonly state: string;
  readonly resumable: boolean;
  readonly startedAt: number;
}

export interface Choice<Run> {
  readonly go: readonly Run[];
  /** They match the rule, but must not be removed. */
  readonly spared: readonly { readonly run: Run; readonly why: string }[];
}

const CAN_RESUME = 'it can still be resumed; --force removes it all the same';

const ALIVE: ReadonlySet<string> = new Set(['running', 'waiting', 'paused']);

/** Somebody drives it, whether it works right now or not. */
export function isDriven({ state }: Pick<Prunable, 'state'>): boolean {
  return ALIVE.has(state);
}

/** `runs` are oldest first. A run is removed when every rule that is given allows it. */
export function choosePruned<Run extends Prunable>(runs: readonly Run[], rule: PruneRule): Choice<Run> {
  const { keep = 0, before = Number.POSITIVE_INFINITY, force } = rule;
  const beyond = runs.slice(0, Math.max(0, runs.length - keep));
  const old = beyond.filter(run => run.startedAt < before);
  const why = (run: Run) => {
    if (isDriven(run)) return 'it is running';
    return (run.resumable || run.state === 'closed') && !force ? CAN_RESUME : undefined;
  };
  return {
    go: old.filter(run => why(run) === undefined),
    spared: old.flatMap(run => {
      const reason = why(run);
      return reason === undefined ? [] : [{ run, why: reason }];
    }),
  };
}

/** `30d`, `12h`, `2w`: in milliseconds; undefined when it is none of these. A number alone could be meant as days: what it removes is gone. */
export function parseAge(text: string): number | undefined {
  const seconds = /[a-z]/.test(text) ? parseDuration(text) : undefined;
  return seconds === undefined ? undefined : seconds * 1000;
}
