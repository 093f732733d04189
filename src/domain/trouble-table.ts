/** The table of trouble: how each class is recognised, what Ralph does about it, whether the iteration counts. */
import type { Trouble, TroubleClass } from './trouble.ts';

/**
 * `stop`: the run ends. `wait`: until the limit has passed, or use the next agent. `back-off`: retry, later each time.
 * `again`: retry at once. `count`: the turn counts as it is, and `judge` decides.
 */
export type TroubleResponse = 'stop' | 'wait' | 'back-off' | 'again' | 'count';

export interface TroubleRow {
  readonly response: TroubleResponse;
  /** How it is recognised: structured fields first, the text of the agent's own error last. */
  readonly recognised: string;
  readonly happens: string;
  readonly counted: string;
  /** What the user can do when the run has ended over it. */
  readonly advice: string;
}

export const TROUBLES: Readonly<Record<TroubleClass, TroubleRow>> = {
  auth: {
    response: 'stop',
    recognised:
      'HTTP 401, 403; OpenCode `ProviderAuthError`; Copilot `authentication`, `authorization`; an error text about a key or a login',
    happens: 'The run stops at once as `agent_failed` and says what to do.',
    counted: 'ends the run',
    advice: 'log in with the agent itself, or set its API key, then start again',
  },
  config: {
    response: 'stop',
    recognised:
      'HTTP 400, 404, 422; an unknown model or flag in the error; the command cannot be started; root refused',
    happens: 'The run stops at once as `agent_failed` and says what to do.',
    counted: 'ends the run',
    advice: 'check the model name and the agent flags, then start again',
  },
  'rate-limit': {
    response: 'wait',
    recognised:
      'HTTP 429; Claude Code `rate_limit_event` that is rejected; Codex "usage limit … try again at"; Gemini "retry in"; OpenCode `retry-after`; Copilot `rate_limit`',
    happens:
      'The next agent of `--fallback` takes over, else Ralph waits for the time that the agent states (none stated: a minute, then twice as long each time), 6 hours at most (`--max-wait`). Then the same iteration again. A limit that lasts longer ends the run as `rate_limited`.',
    counted: 'no',
    advice:
      'wait for the limit to reset, then start again; or raise --max-wait; or name another agent with --fallback',
  },
  quota: {
    response: 'wait',
    recognised: 'HTTP 402; Copilot `quota`; an error text about a quota, a plan, credit or billing',
    happens:
      'As a rate limit where the agent states when it ends. Else the next agent of `--fallback` takes over, and without one the run stops as `rate_limited`.',
    counted: 'no',
    advice: 'add credit to the account, or name another agent with --fallback',
  },
  transient: {
    response: 'back-off',
    recognised:
      'HTTP 5xx and 529; a connection that broke; a stream that was cut; an error text about overload',
    happens:
      'The same iteration again, after 2 s, then twice as long each time, a minute at most, with random jitter; 5 times (`maxRetries`). Then the turn counts as failed.',
    counted: 'no, until no retries are left',
    advice: 'start again; if it stays, look at the status page of the model provider',
  },
  'context-overflow': {
    response: 'count',
    recognised:
      'HTTP 413; OpenCode `ContextOverflowError`; Copilot `context_limit`; an error text about the context or the length of the prompt',
    happens:
      'The next iteration starts with a fresh context and asks the agent to work in smaller steps. 3 failed turns in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'make the task smaller, or the prompt shorter',
  },
  'empty-reply': {
    response: 'again',
    recognised:
      'a turn that ends without an error, a word or a tool call; Copilot "No response was returned"',
    happens: 'The same iteration again, at once, 5 times (`maxRetries`). Then the turn counts as failed.',
    counted: 'no, until no retries are left',
    advice: 'run the agent by hand with the same prompt to see why it says nothing',
  },
  hang: {
    response: 'count',
    recognised: 'nothing printed for `--idle-timeout` (30 minutes)',
    happens:
      'The agent and everything it started are ended; its work is kept; the next prompt says why. 3 in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'raise --idle-timeout if the agent needed longer, or find out by hand what it waits for',
  },
  crash: {
    response: 'count',
    recognised:
      'an exit code or a signal without a result, a stream that ends without one, any other error of the agent',
    happens: 'The next prompt says so. 3 failed turns in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'run the agent by hand to see why it fails',
  },
};

export function adviseOn(trouble: Trouble): string {
  return TROUBLES[trouble.class].advice;
}

/** Trouble that another try cannot fix. */
export function isFatal(trouble: Trouble): boolean {
  return TROUBLES[trouble.class].response === 'stop';
}

/** Trouble that passes by itself at some time. */
export function isLimit(trouble: Trouble): boolean {
  return TROUBLES[trouble.class].response === 'wait';
}
