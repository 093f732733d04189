/**
 * When a limit ends, from the words in which an agent says so: "try again at 4:06 AM", "resets 3pm (Europe/Berlin)",
 * "resets Nov 20 at 9am", "retry in 2h 15m", an epoch, an ISO date. Read only from an agent's own error.
 */

/** Where and when the words are read: a time of day means the next one, in the zone that is named or else here. */
export interface Here {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The time zone of this machine. */
  readonly zone: string;
}

/** Milliseconds since 1970; undefined when the text names no time. A time that has just passed is returned as it is. */
export function findResetTime(text: string, here: Here): number | undefined {
  const plain = text.slice(0, LONGEST).replace(/[*`]/g, '');
  for (const lead of plain.matchAll(LEAD)) {
    const rest = plain.slice(lead.index + lead[0].length);
    const at = timeIn(rest, here) ?? (BARE_SECONDS.test(lead[0]) ? bareSeconds(rest, here) : undefined);
    if (at !== undefined && isLikely(at, here)) return at;
  }
  const behindBar = /\|(\d{10}|\d{13})\b/.exec(plain)?.[1];
  return behindBar === undefined ? undefined : epoch(behindBar);
}

const LONGEST = 10_000;
const DAY = 86_400_000;
const LEAD =
  /\b(?:try(?:ing)? again|retry(?:ing)?(?:[-_ ]after)?|resets?|reset(?:ting|s?_?at)|available|wait|come back|until|renews?)\b(?:\s+(?:will|be|again|it|at|in|on|after|until|till|for|by|time|is|about|approximately))*[\s:="'(~]*/gi;
const BARE_SECONDS = /retry[-_ ]after|wait/i;

/** What an agent says of its limits lies within a year; anything else was not a time. */
function isLikely(at: number, { now }: Here): boolean {
  return at > now - DAY && at < now + 366 * DAY;
}

function timeIn(text: string, here: Here): number | undefined {
  return (
    isoTime(text, here) ?? httpDate(text) ?? epochTime(text) ?? clockTime(text, here) ?? duration(text, here)
  );
}

const ISO = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(\S{1,9})?/;

function isoTime(text: string, here: Here): number | undefined {
  const found = ISO.exec(text);
  if (!found) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  const zone = zoneNamed(found[7] ?? '') ?? here.zone;
  return zonedTime({ year, month, day, hour, minute, second: second || 0 }, zone);
}

const HTTP_DATE = /^[a-z]{3}, (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT/i;

function httpDate(text: string): number | undefined {
  const found = HTTP_DATE.exec(text);
  if (!found) return undefined;
  const [, day, month = '', year, hour, minute, second] = found;
  const index = monthNamed(month);
  return (
    index && Date.UTC(Number(year), index - 1, Number(day), Number(hour), Number(minute), Number(second))
  );
}

function epochTime(text: string): number | undefined {
  const found = /^(\d{10}|\d{13})(?![\d.:])/.exec(text)?.[1];
  return found === undefined ? undefined : epoch(found);
}

function epoch(digits: string): number {
  return digits.length === 10 ? Number(digits) * 1000 : Number(digits);
}

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:milliseconds?|ms)$/i, 1],
  [/^s(?:ec(?:ond)?s?)?$/i, 1_000],
  [/^m(?:in(?:ute)?s?)?$/i, 60_000],
  [/^h(?:(?:ou)?rs?)?$/i, 3_600_000],
  [/^d(?:ays?)?$/i, DAY],
  [/^w(?:eeks?)?$/i, 7 * DAY],
];

/** `2h 15m`, `22h33m8.5s`, `3 days and 2 hours`. */
function duration(text: string, { now }: Here): number | undefined {
  let sum: number | undefined;
  for (let rest = text; ; ) {
    const found = /^(?:,|and|\s)*(\d+(?:\.\d+)?)\s*([a-z]+)/i.exec(rest);
    const unit = found && UNITS.find(([name]) => name.test(found[2] ?? ''))?.[1];
    if (!found || unit === undefined) return sum === undefined ? undefined : Math.round(now + sum);
    sum = (sum ?? 0) + Number(found[1]) * (unit ?? 0);
    rest = rest.slice(found[0].length);
  }
}

/** `Retry-After: 120`. */
function bareSeconds(text: string, { now }: Here): number | undefined {
  const found = /^(\d{1,7}(?:\.\d+)?)(?![\d\w:])/.exec(text)?.[1];
  return found === undefined ? undefined : Math.round(now + Number(found) * 1000);
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const DATE =
  /^(?:(today|tomorrow)|((?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?)(?=[\s,.])|([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?|(\d{1,2})(?:st|nd|rd|th)? ([a-z]{3,9})\.?(?:,? (\d{4}))?)(?:,|\s|at\b)*/i;
const TIME = /^(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*(?:([ap])\.?m\b\.?)?/i;
const ZONE = /^\s*\(?\s*([a-z]+\/[\w+/-]+|(?:utc|gmt)?[+-]\d{1,2}(?::?\d\d)?|[a-z]{1,5})\b/i;

/** A time of day, with its date and its zone where they are given. Without a date it is the next such time. */
function clockTime(text: string, here: Here): number | undefined {
  const date = DATE.exec(text);
  const behindDate = text.slice(date?.[0].length ?? 0);
  const time = TIME.exec(behindDate);
  const clock = time ? clockOf(time) : undefined;
  if (!clock && !date) return undefined;
  const zone =
    zoneNamed(ZONE.exec(behindDate.slice(clock ? (time?.[0].length ?? 0) : 0))?.[1] ?? '') ?? here.zone;
  const today = wallTimeAt(here.now, zone);
  const day = date ? dayNamed(date, today) : today;
  if (!day) return undefined;
  const at = zonedTime({ ...day, ...(clock ?? MIDNIGHT) }, zone);
  if (date ? isAhead(at, date, here) : at > here.now - JUST_PASSED) return at;
  return zonedTime({ ...laterDay(day, date), ...(clock ?? MIDNIGHT) }, zone);
}

const MIDNIGHT = { hour: 0, minute: 0, second: 0 };
/** A limit given to the minute may have ended while the agent was still talking; that is not tomorrow's. */
const JUST_PASSED = 10 * 60_000;

function clockOf(time: RegExpExecArray): Pick<WallTime, 'hour' | 'minute' | 'second'> | undefined {
  const [, hours, minutes, seconds, half] = time;
  const isClock = half !== undefined || minutes !== undefined;
  const hour = Number(hours);
  const fits = half === undefined ? hour < 24 : hour >= 1 && hour <= 12;
  if (!isClock || !fits || Number(minutes ?? 0) > 59) return undefined;
  const noon = half?.toLowerCase() === 'p' ? 12 : 0;
  return {
    hour: half === undefined ? hour : (hour % 12) + noon,
    minute: Number(minutes ?? 0),
    second: Number(seconds ?? 0),
  };
}

function dayNamed(date: RegExpExecArray, today: WallTime): WallTime | undefined {
  const [, relative, weekday, month, day, year, dayFirst, monthSecond, yearSecond] = date;
  if (relative) return { ...today, day: today.day + (relative.toLowerCase() === 'tomorrow' ? 1 : 0) };
  if (weekday) {
    const wanted = DAYS.indexOf(weekday.slice(0, 3).toLowerCase());
    return { ...today, day: today.day + ((wanted - weekdayOf(today) + 7) % 7) };
  }
  const named = monthNamed(month ?? monthSecond ?? '');
  if (named === undefined) return undefined;
  const given = year ?? yearSecond;
  return {
    ...today,
    year: given === undefined ? today.year : Number(given),
    month: named,
    day: Number(day ?? dayFirst),
  };
}

/** A date without a year that lies behind us is next year's, a weekday next week's. */
function isAhead(at: number, date: RegExpExecArray, { now }: Here): boolean {
  const [, relative, weekday, , , year, , , yearSecond] = date;
  if (relative || year || yearSecond) return true;
  return at > now - (weekday ? JUST_PASSED : DAY);
}

function laterDay(day: WallTime, date: RegExpExecArray | null): WallTime {
  if (!date) return { ...day, day: day.day + 1 };
  return date[2] ? { ...day, day: day.day + 7 } : { ...day, year: day.year + 1 };
}

function monthNamed(word: string): number | undefined {
  const index = MONTHS.indexOf(word.slice(0, 3).toLowerCase());
  return index === -1 ? undefined : index + 1;
}

/** Hours from Greenwich of the short names that people write. */
const SHORT_ZONES: Readonly<Record<string, number>> = {
  z: 0,
  utc: 0,
  gmt: 0,
  bst: 1,
  cet: 1,
  cest: 2,
  est: -5,
  edt: -4,
  cst: -6,
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
};

/** The zone behind a name, as `+HH:MM` or as the world calls it; undefined when it is none. */
function zoneNamed(word: string): string | undefined {
  if (word === '') return undefined;
  const [, hours, minutes = '00'] = /^(?:utc|gmt)?([+-]\d{1,2}):?(\d\d)?$/i.exec(word) ?? [];
  if (hours !== undefined) return offsetZone(Number(hours), minutes, hours.startsWith('-'));
  const short = Object.hasOwn(SHORT_ZONES, word.toLowerCase()) ? SHORT_ZONES[word.toLowerCase()] : undefined;
  if (short !== undefined) return offsetZone(short, '00', short < 0);
  return word.includes('/') && isTimeZone(word) ? word : undefined;
}

function offsetZone(hours: number, minutes: string, isWest: boolean): string {
  return `${isWest ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:${minutes}`;
}

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
