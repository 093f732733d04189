/** Every way a run can end, with all its traits in one row: a new stop reason is a name in the type and a row here. */

export type SuccessReason = 'promise_accepted' | 'all_checks_passed' | 'all_stories_approved';

/** Why a run has ended. */
export type StopReason =
  | SuccessReason
  | 'max_iterations'
  | 'budget_exhausted'
  | 'timeout'
  | 'stuck'
  | 'blocked'
  | 'rate_limited'
  | 'permission_denied'
  | 'review_cap'
  | 'agent_failed'
  | 'disk_failed'
  | 'scm_failed'
  | 'needs_you'
  | 'cancelled'
  | 'invalid_config'
  | 'interrupted';

/** How a command ends: 0 done, 1 stopped, 2 the user can fix it, 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 130;

/** A flag of `ralph resume` that raises a limit, without its dashes. */
export type LimitFlag = 'max-iterations' | 'max-cost' | 'max-tokens' | 'max-time';

export interface Ending {
  readonly exitCode: ExitCode;
  readonly sentence: string;
  /** The same for a table, in a few words. */
  readonly short: string;
  /** Instead of it, where not every check has passed; what there is of them follows. */
  readonly unchecked?: string;
  /** Instead of it, where a story was not reviewed, or not approved; which one follows. */
  readonly unreviewed?: string;
  /** A limit of the user's was reached: with more of it the run can continue. */
  readonly isLimit: boolean;
  /** Raises the limit; the first one that was set and reached counts. */
  readonly raise: readonly LimitFlag[];
  /** What to do before the run is resumed, or after it is done; '': nothing. */
  readonly todo: string;
  readonly canResume: boolean;
  /** What to resume it with, as words of the command line; absent: nothing. */
  readonly resumeWith?: string;
}

const CLAIMED = 'Done: the agent says so.';
const SCM_FAILED = 'Stopped: source control failed.';
const DONE = {
  exitCode: 0,
  short: 'done',
  isLimit: false,
  raise: [],
  todo: 'Review the changes',
  canResume: false,
} as const;
const STOPPED = { exitCode: 1, isLimit: false, raise: [], canResume: true } as const;
const LIMIT = { exitCode: 1, isLimit: true, todo: '', canResume: true } as const;

const ENDINGS: Readonly<Record<StopReason, Ending>> = {
  promise_accepted: {
    ...DONE,
    sentence: 'Done: the agent says so and every check passes.',
    unchecked: CLAIMED,
  },
  all_checks_passed: {
    ...DONE,
    sentence: 'Done: every check passes and the agent says it is complete.',
    unchecked: CLAIMED,
  },
  all_stories_approved: {
    ...DONE,
    sentence: 'Done: every story is implemented and approved.',
    unreviewed: 'Done: every story is implemented.',
    todo: 'Review the changes, then `ralph prd archive`',
  },
  max_iterations: {
    ...LIMIT,
    short: 'out of iterations',
    sentence: 'Stopped: the maximum number of iterations was reached.',
    raise: ['max-iterations'],
  },
  budget_exhausted: {
    ...LIMIT,
    short: 'out of budget',
    sentence: 'Stopped: the budget is spent.',
    raise: ['max-cost', 'max-tokens'],
  },
  timeout: {
    ...LIMIT,
    short: 'out of time',
    sentence: 'Stopped: the time limit was reached.',
    raise: ['max-time'],
  },
  stuck: {
    ...STOPPED,
    short: 'stuck',
    sentence: 'Stopped: the same failure came back with no change to the files.',
    todo: 'Read the failure, and fix its cause or put a hint into the files',
  },
  blocked: {
    ...STOPPED,
    short: 'blocked',
    sentence: 'Stopped: the agent says that it is blocked.',
    todo: 'Provide what the agent needs',
  },
  rate_limited: {
    ...STOPPED,
    short: 'rate limit reached',
    sentence: "Stopped: the agent's rate limit or quota is exhausted.",
    todo: 'Wait for the limit to reset, or name another agent with `--fallback` when you start a run',
  },
  permission_denied: {
    ...STOPPED,
    short: 'not permitted',
    sentence: 'Stopped: the agent is not permitted to do its work.',
    todo: 'Let the agent do everything without asking, or allow the tools in its own settings',
    resumeWith: '--permissions skip',
  },
  review_cap: {
    ...STOPPED,
    short: 'review cap reached',
    sentence: 'Stopped: a story reached its review cap.',
    todo: 'Read the review, and decide the story by hand or raise `--review-cap`',
  },
  agent_failed: {
    ...STOPPED,
    short: 'agent failed',
    sentence: 'Stopped: the agent failed.',
    todo: 'Read the error, and run the agent by hand once',
  },
  disk_failed: {
    ...STOPPED,
    short: 'cannot write files',
    sentence: 'Stopped: Ralph cannot write its files.',
    todo: 'Free some disk space, make the folder writable, or allow more open files',
  },
  scm_failed: {
    ...STOPPED,
    short: 'source control failed',
    sentence: 'Stopped: the work is proven, but source control failed.',
    unchecked: SCM_FAILED,
    unreviewed: SCM_FAILED,
    todo: 'Fix what source control reports: the work is kept, and resuming does the rest',
  },
  needs_you: {
    ...STOPPED,
    short: 'needs you',
    sentence: 'Stopped: not everything has landed, and the rest needs you.',
    todo: 'Look at what is said of each, and help or change what was asked for',
  },
  cancelled: { ...STOPPED, short: 'cancelled', sentence: 'Stopped: the run was cancelled.', todo: '' },
  invalid_config: {
    ...STOPPED,
    exitCode: 2,
    short: 'invalid settings',
    sentence: 'Stopped: the configuration is invalid.',
    todo: 'Fix the configuration',
  },
  interrupted: { ...STOPPED, exitCode: 130, short: 'interrupted', sentence: 'Interrupted.', todo: '' },
};

/** All stop reasons. */
export const STOP_REASONS = Object.keys(ENDINGS) as readonly StopReason[];

/** A ledger may hold a reason of a later version: that is an ending too, of which nothing more is known. */
export function endingOf(reason: string): Ending {
  if (Object.hasOwn(ENDINGS, reason)) return ENDINGS[reason as StopReason];
  return {
    ...STOPPED,
    short: reason,
    sentence: `Stopped: ${reason} (this version does not know this reason).`,
    todo: '',
  };
}

/** The exit code of a command whose run ended so. */
export function exitCodeOf(reason: StopReason): ExitCode {
  return endingOf(reason).exitCode;
}

/** The sentence for people, by the reason alone; a run that ended so may have less to show. */
export function sentenceOf(reason: StopReason): string {
  return endingOf(reason).sentence;
}

/** Whether it is one of those by which a run is done. */
export function isSuccess(reason: StopReason): reason is SuccessReason {
  return endingOf(reason).exitCode === 0;
}

/** Whether the work is proven, whatever became of it then. */
export function isProven(reason: string): boolean {
  return endingOf(reason).exitCode === 0 || reason === 'scm_failed';
}
