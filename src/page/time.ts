/** Times as the reader's own clock shows them, and the address of the page. */
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

/** The part of the address that says what is shown, so that it can be reloaded, bookmarked and sent. */
export function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return hash;
}
