/** Times as the reader's own clock shows them. */

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function timeOfDay(at: number): string {
  return DAY.format(at);
}

export function clockTime(at: number): string {
  return CLOCK.format(at);
}
