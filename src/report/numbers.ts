/** Numbers as people say them. */

/** 950, 1.2K, 45K, 850K, 1.2M. */
export function compact(count: number): string {
  for (const [size, letter] of [
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'K'],
  ] as const) {
    // 999,500 rounds to 1,000K: that is 1M.
    if (count < size * 0.9995) continue;
    const value = count / size;
    // One decimal below ten, and none where it is a zero.
    return `${value < 9.95 ? value.toFixed(1).replace('.0', '') : value.toFixed(0)}${letter}`;
  }
  return String(Math.round(count));
}

/** 5,321. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 line`, `45 lines`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** Seconds as 0.8s, 42s, 6m7s, 2h5m. */
export function duration(seconds: number): string {
  if (!(seconds > 0)) return '0.0s';
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  return wholeSeconds(seconds);
}

/** The same for a clock that ticks: no decimals. */
export function wholeSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${whole % 60}s`;
  return `${Math.floor(whole / 3600)}h${Math.floor((whole % 3600) / 60)}m`;
}

/** 16:15; with its date when it is not within a day. */
export function timeOfDay(at: number, now: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (Math.abs(at - now) < 86_400_000) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** `512 KB`, `3.4 MB`. */
export function megabytes(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} KB`;
  return bytes < 1_000_000_000 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
