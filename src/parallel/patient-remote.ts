/** A remote that is waited for while it is away or full: until it answers, or the work is stopped. */
import { isRefusal, type RemoteProblem } from '../domain/run/remote-answer.ts';
import { pause } from '../run/wait.ts';
import type { Remote } from '../workspace/remote.ts';

export interface Patience {
  readonly stopping: AbortSignal;
  /** Milliseconds of waiting, at most; without it as long as it takes. */
  readonly longest?: number;
  /** What to do where it stays refused. */
  readonly fix?: string;
  /** Called once each time it begins to wait. */
  waits(problem: RemoteProblem): void;
}

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 300_000;

export function patientRemote(remote: Remote, patience: Patience): Remote {
  const { stopping, waits, longest = Number.POSITIVE_INFINITY, fix } = patience;
  const untilAnswered = async <Value>(
    action: () => Promise<Value | RemoteProblem>,
  ): Promise<Value | RemoteProblem> => {
    let waited = 0;
    for (let wait = FIRST_WAIT; ; wait = Math.min(LONGEST_WAIT, wait * 2)) {
      const got = await action();
      if (!isRefusal(got)) return got;
      if (got.answer !== 'wait' || stopping.aborted || waited > longest)
        return { ...(fix !== undefined && { fix }), ...got };
      if (wait === FIRST_WAIT) waits(got);
      waited += wait;
      await pause(wait, stopping);
    }
  };
  return {
    put: (commit, ref) => untilAnswered(() => remote.put(commit, ref)),
    swap: (ref, from, to) => untilAnswered(() => remote.swap(ref, from, to)),
    advance: (ref, to) => untilAnswered(() => remote.advance(ref, to)),
    show: branch => untilAnswered(() => remote.show(branch)),
    tip: ref => untilAnswered(() => remote.tip(ref)),
    bring: refs => untilAnswered(() => remote.bring(refs)),
  };
}
