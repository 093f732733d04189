/** Durations as people write them. */

/** In seconds, from the longest: the order in which they are written. */
const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['w', 604_800],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
  ['ms', 0.001],
];

const NUMBER = '\\d+(?:\\.\\d+)?';

/** For the schema, as anything that reads regular expressions takes it. */
export const DURATION_PATTERN = `^\\s*(?:${NUMBER}|(?=\\S)${UNITS.map(([name]) => `(?:${NUMBER}\\s*${name}\\s*)?`).join('')})\\s*$`;

const DURATION = new RegExp(
  `^\\s*(?=\\S)${UNITS.map(([name]) => `(?:(${NUMBER})\\s*${name}\\s*)?`).join('')}$`,
);

/** `90`, `90s`, `1h30m`, `500ms`, `2d 12h`: in seconds; undefined when it is none of these. */
export function parseDuration(text: string): number | undefined {
  if (new RegExp(`^\\s*${NUMBER}\\s*$`).test(text)) return Number(text);
  const [, ...counts] = DURATION.exec(text) ?? [];
  if (counts.length === 0) return undefined;
  return UNITS.reduce((sum, [, seconds], at) => sum + Number(counts[at] ?? 0) * seconds, 0);
}
