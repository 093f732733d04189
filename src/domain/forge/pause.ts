/** How long to wait before a forge is asked again: by what it says itself, else a little longer each time. */

export interface ForgeReply {
  readonly status: number;
  header(name: string): string | null;
  /** What it says of an error. */
  readonly message: string;
}

/** No answer came, or none that can be read. */
export interface NoReply {
  /** In words. */
  readonly lost: string;
  /** It may be no forge at all. */
  readonly isWrong?: boolean;
  /** It would be as long the next time. */
  readonly isTooLong?: boolean;
}

export interface ForgePause {
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly why: string;
  /** The forge has refused it before it did anything: the same may be sent again. */
  readonly isRefused: boolean;
}

/** undefined: it is an answer. */
export function pauseFor(reply: ForgeReply | NoReply, attempt: number, now: number): ForgePause | undefined {
  if ('lost' in reply) return { until: now + backOff(attempt), why: reply.lost, isRefused: false };
  const { status } = reply;
  if (status === 429 || (status === 403 && isLimit(reply))) {
    const until = statedTime(reply, now) ?? now + MINUTE;
    return { until: Math.min(until, now + LONGEST), why: 'its rate limit is reached', isRefused: true };
  }
  if (status < 500) return undefined;
  const until = statedTime(reply, now) ?? now + backOff(attempt);
  return { until: Math.min(until, now + LONGEST), why: `it answers with ${status}`, isRefused: false };
}

const MINUTE = 60_000;
/** A limit lasts an hour. */
const LONGEST = 2 * 3_600_000;

export function backOff(attempt: number): number {
  return Math.min(MINUTE, 500 * 2 ** Math.min(attempt, 10));
}

/** A 403 may as well be a permission that is missing. */
function isLimit({ header, message }: ForgeReply): boolean {
  return (
    header('retry-after') !== null ||
    header('x-ratelimit-remaining') === '0' ||
    /rate limit|abuse detection/i.test(message)
  );
}

function statedTime({ header }: ForgeReply, now: number): number | undefined {
  const after = header('retry-after');
  if (after !== null) return /^\d{1,9}$/.test(after) ? now + Number(after) * 1_000 : dateOf(after);
  const reset = header('x-ratelimit-remaining') === '0' ? header('x-ratelimit-reset') : null;
  // A second more: its clock and ours differ.
  return reset !== null && /^\d{1,12}$/.test(reset)
    ? Math.max(now, Number(reset) * 1_000) + 1_000
    : undefined;
}

function dateOf(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
