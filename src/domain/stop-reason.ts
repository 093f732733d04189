/** Every way a run can end. Each has one sentence and one exit code; add one here and the compiler lists the rest. */

export type SuccessReason = 'promise_accepted' | 'all_checks_passed' | 'all_stories_approved';

export type StopReason =
  | SuccessReason
  | 'max_iterations'
  | 'budget_exhausted'
  | 'timeout'
  | 'stuck'
  | 'blocked'
  | 'rate_limited'
  | 'review_cap'
  | 'agent_failed'
  | 'disk_failed'
  | 'cancelled'
  | 'invalid_config'
  | 'interrupted';

export type ExitCode = 0 | 1 | 2 | 130;

interface Ending {
  readonly exitCode: ExitCode;
  readonly sentence: string;
}

const ENDINGS: Record<StopReason, Ending> = {
  promise_accepted: { exitCode: 0, sentence: 'Done: the agent said so and every check agrees.' },
  all_checks_passed: { exitCode: 0, sentence: 'Done: every check passes and the agent says it is complete.' },
  all_stories_approved: { exitCode: 0, sentence: 'Done: every story is implemented and approved.' },
  max_iterations: { exitCode: 1, sentence: 'Stopped: the maximum number of iterations was reached.' },
  budget_exhausted: { exitCode: 1, sentence: 'Stopped: the budget is spent.' },
  timeout: { exitCode: 1, sentence: 'Stopped: the time limit was reached.' },
  stuck: { exitCode: 1, sentence: 'Stopped: the same failure came back with no change to the files.' },
  blocked: { exitCode: 1, sentence: 'Stopped: the agent says that it is blocked.' },
  rate_limited: { exitCode: 1, sentence: "Stopped: the agent's rate limit or quota is used up." },
  review_cap: { exitCode: 1, sentence: 'Stopped: a story reached its review cap.' },
  agent_failed: { exitCode: 1, sentence: 'Stopped: the agent failed.' },
  disk_failed: { exitCode: 1, sentence: 'Stopped: Ralph cannot write its files.' },
  cancelled: { exitCode: 1, sentence: 'Stopped: the run was cancelled.' },
  invalid_config: { exitCode: 2, sentence: 'Stopped: the configuration is invalid.' },
  interrupted: { exitCode: 130, sentence: 'Interrupted.' },
};

export const STOP_REASONS = Object.keys(ENDINGS) as readonly StopReason[];

export function exitCodeOf(reason: StopReason): ExitCode {
  return ENDINGS[reason].exitCode;
}

export function sentenceOf(reason: StopReason): string {
  return ENDINGS[reason].sentence;
}

export function isSuccess(reason: StopReason): boolean {
  return ENDINGS[reason].exitCode === 0;
}
