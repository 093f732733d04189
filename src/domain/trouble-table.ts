/** THE table of trouble: how each class is recognised, what Ralph does about it, whether the iteration counts. */
import type { Trouble, TroubleClass } from './trouble.ts';

/**
 * `stop`: the run ends. `wait`: until the limit has passed, or on with the next agent. `back-off`: again, later each time.
 * `again`: again at once. `count`: the turn stands as it is, and `judge` weighs it.
 */
export type Answer = 'stop' | 'wait' | 'back-off' | 'again' | 'count';

export interface TroubleRow {
  readonly answer: Answer;
  /** How it is recognised: structured fields first, the text of the agent's own error last. */
  readonly recognised: string;
  readonly happens: string;
  readonly counted: string;
  /** What the user can do when the run has ended over it. */
  readonly advice: string;
}

export const TROUBLES: Readonly<Record<TroubleClass, TroubleRow>> = {
  auth: {
    answer: 'stop',
    recognised:
      'HTTP 401, 403; OpenCode `ProviderAuthError`; Copilot `authentication`, `authorization`; words of a key or a login in the error',
    happens: 'The run stops at once as `agent_failed` and says what to do.',
    counted: 'ends the run',
    advice: 'log in with the agent itself, or set its API key, then start again',
  },
  config: {
    answer: 'stop',
    recognised:
      'HTTP 400, 404, 422; an unknown model or flag in the error; the command cannot be started; root refused',
    happens: 'The run stops at once as `agent_failed` and says what to do.',
    counted: 'ends the run',
    advice: 'check the model name and the agent flags, then start again',
  },
  'rate-limit': {
    answer: 'wait',
    recognised:
      'HTTP 429; Claude Code `rate_limit_event` that is rejected; Codex "usage limit … try again at"; Gemini "retry in"; OpenCode `retry-after`; Copilot `rate_limit`',
    happens:
      'On with the next agent of `--fallback`, else a wait for the time that the agent states (none stated: a minute, then twice as long each time), 6 hours at most (`--max-wait`). Then the same iteration again. A limit that lasts longer ends the run as `rate_limited`.',
    counted: 'no',
    advice:
      'wait for the limit to reset, then start again; or raise --max-wait; or name another agent with --fallback',
  },
  quota: {
    answer: 'wait',
    recognised: 'HTTP 402; Copilot `quota`; words of a quota, a plan, credit or billing in the error',
    happens:
      'As a rate limit where the agent states when it ends. Else on with the next agent of `--fallback`, and without one the run stops as `rate_limited`.',
    counted: 'no',
    advice: 'top up the account, or name another agent with --fallback',
  },
  transient: {
    answer: 'back-off',
    recognised:
      'HTTP 5xx and 529; a connection that broke; a stream that was cut; words of overload in the error',
    happens:
      'The same iteration again, after 2 s, then twice as long each time, a minute at most, with some chance in it; 5 times (`maxRetries`). Then the turn stands as failed.',
    counted: 'no, until the retries are used up',
    advice: 'start again; if it stays, look at the status page of the model provider',
  },
  'context-overflow': {
    answer: 'count',
    recognised:
      'HTTP 413; OpenCode `ContextOverflowError`; Copilot `context_limit`; words of the context or the length of the prompt in the error',
    happens:
      'The next iteration begins afresh and the agent is told to work in smaller steps. 3 failed turns in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'make the task smaller, or the prompt shorter',
  },
  'empty-reply': {
    answer: 'again',
    recognised: 'a turn that ends well with no word and no tool call; Copilot "No response was returned"',
    happens: 'The same iteration again, at once, 5 times (`maxRetries`). Then the turn stands as failed.',
    counted: 'no, until the retries are used up',
    advice: 'run the agent by hand with the same prompt to see why it says nothing',
  },
  hang: {
    answer: 'count',
    recognised: 'nothing printed for `--idle-timeout` (30 minutes)',
    happens:
      'The agent and everything it started are ended; what it did is kept; the next iteration tells it why. 3 in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'raise --idle-timeout if the agent needed longer, or find out by hand what it waits for',
  },
  crash: {
    answer: 'count',
    recognised:
      'an exit code or a signal without a result, a stream that ends without one, any other error of the agent',
    happens: 'The next iteration tells the agent. 3 failed turns in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'run the agent by hand to see why it fails',
  },
};

export function adviceFor(trouble: Trouble): string {
  return TROUBLES[trouble.class].advice;
}

/** Trouble that another try cannot fix. */
export function isFatal(trouble: Trouble): boolean {
  return TROUBLES[trouble.class].answer === 'stop';
}

/** Trouble that passes by itself at some time. */
export function isLimit(trouble: Trouble): boolean {
  return TROUBLES[trouble.class].answer === 'wait';
}
