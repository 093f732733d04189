/** Times as the reader's own clock shows them. */
import { useEffect, useState } from 'preact/hooks';

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function timeOfDay(at: number): string {
  return DAY.format(at);
}

export function clockTime(at: number): string {
  return CLOCK.format(at);
}

/** Milliseconds since 1970, every second while it runs. */
export function useClock(isRunning: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}
