/** What the clock on the wall says in a time zone, and the moment at which it says so. */

export interface WallTime {
  readonly year: number;
  /** Counted from 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** `zone` is a name such as `Europe/Berlin`, or an offset such as `-07:00`. */
export function wallTimeAt(at: number, zone: string): WallTime {
  const offset = fixedOffset(zone);
  const parts = formatFor(offset === undefined ? zone : 'UTC').formatToParts(at + (offset ?? 0));
  const values = new Map(parts.map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes) => values.get(type) ?? 0;
  return {
    year: of('year'),
    month: of('month'),
    day: of('day'),
    hour: of('hour'),
    minute: of('minute'),
    second: of('second'),
  };
}

/** The moment at which the wall shows this. Days beyond the end of their month count on. */
export function zonedTime(wall: WallTime, zone: string): number {
  const there = asUtc(wall);
  const offset = (at: number) => asUtc(wallTimeAt(at, zone)) - Math.floor(at / 1000) * 1000;
  const guess = there - offset(there);
  return there - offset(guess); // once more: the first guess may lie on the other side of a change of clocks
}

/** 0 is Sunday. */
export function weekdayOf({ year, month, day }: WallTime): number {
  return (Math.floor(Date.UTC(year, month - 1, day) / 86_400_000) + 4) % 7;
}

export function isTimeZone(zone: string): boolean {
  try {
    formatFor(zone);
    return true;
  } catch {
    return false;
  }
}

function asUtc({ year, month, day, hour, minute, second }: WallTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Milliseconds ahead of Greenwich. */
function fixedOffset(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function formatFor(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}
