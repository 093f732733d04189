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
  /** The agent ended well and said nothing. */
  | 'empty-reply'
  /** We ended it: it was silent or it ran too long. */
  | 'hang'
  | 'crash';

export interface Trouble {
  readonly class: TroubleClass;
  readonly message: string;
  /** The HTTP status behind it, where the agent reports it. */
  readonly status?: number;
  /** When a limit ends, in milliseconds since 1970, where the agent reports it. */
  readonly resetAt?: number;
}

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

const WORDS: readonly (readonly [RegExp, TroubleClass])[] = [
  [
    /(invalid|incorrect).{0,12}api.?key|unauthorized|not logged in|authentication|please (run|log).{0,12}login/i,
    'auth',
  ],
  [
    /rate.?limit|too many requests|(?:hit|reached) your (?:(?!usage)\w+ ){0,3}limit|(?<!usage )\blimit reached\b/i,
    'rate-limit',
  ],
  [/quota|credit balance|billing|usage limit/i, 'quota'],
  [/context (length|window)|prompt is too long|too many tokens/i, 'context-overflow'],
  [
    /model.{0,40}(not found|does not exist|not supported)|unexpected argument|unknown option|root\/sudo privileges/i,
    'config',
  ],
];

/** Said when there was no answer that could have had a status. "terminated" is all that Node's fetch has to say of a broken one. */
const CONNECTION_WORDS =
  /connect|socket|network|fetch failed|timed?.?out|overloaded|high demand|temporar|\bE(?:CONN|AI_|PIPE|TIMEDOUT)|^(?:\[API Error: )?terminated\]?$/i;

/**
 * Classifies the text of an agent's OWN error channel: an error record or stderr of a failed call.
 * Never give it the agent's words, a tool's output or a file.
 */
export function classifyError(message: string): Trouble {
  const found = STATUS_IN_TEXT.exec(message)?.[1];
  const status = found === undefined ? undefined : Number(found);
  const byWords = WORDS.find(([words]) => words.test(message))?.[1];
  const cls = byWords ?? (status === undefined ? classWithoutStatus(message) : classifyStatus(status));
  return { class: cls, message, ...(status !== undefined && { status }) };
}

function classWithoutStatus(message: string): TroubleClass {
  return CONNECTION_WORDS.test(message) ? 'transient' : 'crash';
}
