/** What can go wrong with an agent's turn, as classes that the loop answers differently. */

export type TroubleClass =
  /** The key is missing or refused. Nothing but the user can fix it. */
  | 'auth'
  /** The call itself is wrong: unknown model, unknown flag, bad request. */
  | 'config'
  | 'rate-limit'
  /** The money or the plan is exhausted. */
  | 'quota'
  /** Overload, 5xx, a cut stream: the same call may work the next time. */
  | 'transient'
  | 'context-overflow'
  /** Its own permissions did not allow what it tried. */
  | 'permission-denied'
  /** The agent ended well and said nothing. */
  | 'empty-reply'
  /** We ended it: it was silent or it ran too long. */
  | 'hang'
  | 'crash';

/** What went wrong with an agent's turn. */
export interface Trouble {
  readonly class: TroubleClass;
  readonly message: string;
  /** The HTTP status behind it, where the agent reports it. */
  readonly status?: number;
  /** When a limit ends, in milliseconds since 1970, where the agent reports it. */
  readonly resetAt?: number;
  /** What the user can do, where the agent's own needs say more than the class. */
  readonly fix?: string;
}

/** An agent that refuses to skip its permissions for root says this. */
export const ROOT_REFUSED = /root\/sudo privileges/i;

/** The class behind an HTTP status that an agent reports. */
export function classifyStatus(status: number): TroubleClass {
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'quota';
  if (status === 413) return 'context-overflow';
  if (status === 429) return 'rate-limit';
  if (status === 400 || status === 404 || status === 422) return 'config';
  return 'transient';
}

/** A status, and not just any number: it begins the text, stands in brackets, or is called one. */
const STATUS_IN_TEXT =
  /(?:^|\(|(?:status(?:\s*code)?|code|http(?:\/\d(?:\.\d)?)?|error)["']?[\s:=(]{0,4})([45]\d\d)\b/i;

/** The first that fits counts: what only the user can fix comes before what a wait may cure. */
const WORDS: readonly (readonly [RegExp, TroubleClass])[] = [
  [
    /(invalid|incorrect).{0,12}api.?key|api.?key.{0,8}(not valid|invalid|expired)|unauthorized|not logged in|authentication|please (run|log).{0,12}login|\boauth\b.{0,20}\b(expired|revoked|invalid)|invalid oauth|refresh.?token.{0,24}(used|expired|revoked|invalid|reused)|token could not be refreshed|\b(sign|log) in again/i,
    'auth',
  ],
  [
    /self.?signed cert|certificate (has expired|is not yet valid|verify failed)|issuer certificate|verify the first certificate|invalid peer certificate|\b(CERT_HAS_EXPIRED|ERR_TLS_CERT_ALTNAME_INVALID|UNABLE_TO_(VERIFY|GET)_\w+|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*)\b/i,
    'config',
  ],
  [/(input|prompt) token count.{0,24}exceeds|exceeds the maximum number of tokens/i, 'context-overflow'],
  [
    /rate.?limit|too many requests|resource(_| has been | )exhausted|(?:hit|reached) your (?:(?!usage)[\w-]+ ){0,3}limit|(?<!usage )\blimit reached\b/i,
    'rate-limit',
  ],
  [/quota|credit balance|billing|usage limit/i, 'quota'],
  [/context (length|window)|prompt is too long|too many tokens/i, 'context-overflow'],
  [/\bat capacity\b/i, 'transient'],
  [
    /model.{0,40}(not.?found|does not exist|not supported)|selected model.{0,80}may not exist|unexpected argument|unknown option|root\/sudo privileges/i,
    'config',
  ],
];

/** Said when there was no answer that could have had a status. "terminated" is all that Node's fetch has to say of a broken one. */
const CONNECTION_WORDS =
  /connect|socket|network|fetch failed|timed?.?out|overloaded|high demand|temporar|\b(?:internal|server) (?:server )?error\b|bad gateway|service unavailable|\bE(?:CONN|AI_|PIPE|TIMEDOUT|NOTFOUND|HOST|NET)|^(?:\[?API Error: )?terminated\]?$/i;

/**
 * Classifies the text of an agent's OWN error channel: an error record or stderr of a failed call.
 * Never give it the agent's words, a tool's output or a file.
 */
export function classifyError(message: string): Trouble {
  const found = STATUS_IN_TEXT.exec(message)?.[1];
  const status = found === undefined ? undefined : Number(found);
  const byConnection = CONNECTION_WORDS.test(message) ? 'transient' : 'crash';
  const byWords = WORDS.find(([words]) => words.test(message))?.[1];
  const cls = byWords ?? (status === undefined ? byConnection : classifyStatus(status));
  return { class: cls, message, ...(status !== undefined && { status }) };
}

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
      'HTTP 401, 403; OpenCode `ProviderAuthError`; Copilot `authentication`, `authorization`; an error text about a key or a login: "API key not valid", an OAuth token that has expired, a refresh token that was already used',
    happens: 'The run stops at once as `agent_failed` and says what to do.',
    counted: 'ends the run',
    advice: 'log in with the agent itself, or set its API key',
  },
  config: {
    response: 'stop',
    recognised:
      'HTTP 400, 404, 422; an unknown model or flag in the error; a certificate that is not trusted; the command cannot be started; root refused',
    happens: 'The run stops at once as `agent_failed` and says what to do.',
    counted: 'ends the run',
    advice: 'run the agent by hand with the same flags to see what it refuses',
  },
  'rate-limit': {
    response: 'wait',
    recognised:
      'HTTP 429; Claude Code `rate_limit_event` that is rejected; Codex "usage limit … try again at"; Gemini "Resource exhausted", "retry in"; OpenCode `retry-after`; Copilot `rate_limit`',
    happens:
      'The next agent of `--fallback` takes over, else Ralph waits for the time that the agent states (none stated: a minute, then twice as long each time), 6 hours at most (`--max-wait`). Then the same iteration again. A limit that lasts longer ends the run as `rate_limited`.',
    counted: 'no',
    advice: 'wait for the limit to reset, raise --max-wait, or name another agent with --fallback',
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
      'HTTP 5xx and 529; a connection that broke or a name that was not found; a stream that was cut; an error text about a server error or overload, or a model "at capacity"',
    happens:
      'The same iteration again, after 2 s, then twice as long each time, a minute at most, with random jitter; 5 times (`maxRetries`). Then the turn counts as failed.',
    counted: 'no, until no retries are left',
    advice: 'try again later; if it stays, look at the status page of the model provider',
  },
  'context-overflow': {
    response: 'count',
    recognised:
      'HTTP 413; OpenCode `ContextOverflowError`; Copilot `context_limit`; an error text about the context or the length of the prompt, also with HTTP 400',
    happens:
      'The next iteration starts with a fresh context and asks the agent to work in smaller steps. 3 failed turns in a row (`maxFailures`) end the run.',
    counted: 'yes',
    advice: 'make the task smaller, or the prompt shorter',
  },
  'permission-denied': {
    response: 'count',
    recognised:
      'Claude Code `permission_denied` and `permission_denials`; Qwen Code `permission_denials`; Gemini CLI `policy_violation`; Copilot `denied`; Codex `declined`; what an agent over ACP asks and Ralph does not allow. OpenCode, Amp and pi have no such field, nor has Codex for what its sandbox stops: there the rules for no progress have to do. What the guard refuses does not count',
    happens:
      'The turn ends as it ends. If it changed no file, the next prompt says so; after a second such turn in a row, or where no iteration is left, the run stops as `permission_denied`.',
    counted: 'yes',
    advice:
      'give --permissions skip, or allow these tools in the settings of the agent itself, in its permissions and its hooks',
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

export function adviseOn({ class: cls, message, fix }: Trouble): string {
  const known = cls === 'config' ? CONFIG_ADVICE.find(([words]) => words.test(message))?.[1] : undefined;
  return fix ?? known ?? TROUBLES[cls].advice;
}

/** What is wrong with a call, by the words of its error: advice on the others would lead away from it. */
const CONFIG_ADVICE: readonly (readonly [RegExp, string])[] = [
  [ROOT_REFUSED, 'run as another user than root, or give --permissions host'],
  [
    /certificate|\b(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED)/i,
    'make the agent trust the certificate of the server',
  ],
  [/\bmodel\b/i, 'name another model with --model'],
  [/unexpected argument|unknown option/i, 'check the flags of the agent in the settings'],
  [
    /cannot be started/i,
    'install the agent, or name another one with --agent: `ralph doctor` shows which there are',
  ],
];

/** Trouble that another try cannot fix. */
export function isFatal(trouble: Trouble): boolean {
  return TROUBLES[trouble.class].response === 'stop';
}

/** Trouble that passes by itself at some time. */
export function isLimit(trouble: Trouble): boolean {
  return TROUBLES[trouble.class].response === 'wait';
}
