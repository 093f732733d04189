/**
 * The part of a check's output that says what failed. It is the same wherever it is shown: in the prompt, in the terminal, in the report.
 * What is not known is shown by its head and its tail.
 */

/** How a test runner or a compiler prints a failure. */
interface Dialect {
  readonly begins: RegExp;
  /** The first line behind it; another failure ends it too. */
  readonly ends: RegExp;
  /** Where the cause begins, for when there is no room for what is before it. */
  readonly cause?: RegExp;
  /** It belongs to the line above that is not indented: the name of a file. */
  readonly isUnderFile?: true;
  /** Three empty lines end it as well. */
  readonly endsWithGap?: true;
}

const DIALECTS: readonly Dialect[] = [
  // TAP: node:test, tap, tape, bats, prove
  {
    begins: /^\s*not ok \d+(?!.*# (?:TODO|SKIP))/i,
    ends: /^\s*(?:ok \d+|\d+\.\.\d+|\.\.\.$|# Subtest:|# tests \d)/,
    cause: /^\s*(?:location|error|message):/,
  },
  // node:test, as `spec` prints it behind everything else
  { begins: /^test at \S+:\d+:\d+$/, ends: /^(?:ℹ |test at )/ },
  // vitest and jest
  {
    begins: /^\s*FAIL {1,2}(?:\|[^|]{1,60}\| )?\S{1,300}\.[cm]?[jt]sx?(?:\s|$)/,
    ends: /^(?:⎯{4,}|\s*(?:Test Files|Test Suites:|Tests:?|PASS)\s|\s*[✓✕] )/,
  },
  { begins: /^\s{0,4}● (?!Console)/, ends: /^(?:(?:Test Suites|Tests|Snapshots):\s|PASS |Summary of all)/ },
  // pytest and unittest
  {
    begins: /^_{2,} .{1,300} _{2,}$/,
    ends: /^(?:={3,}|\d+ (?:failed|passed))/,
    cause: /^(?:>|E) /,
  },
  {
    begins: /^(?:FAIL|ERROR): \S+ \(/,
    ends: /^(?:={20,}$|Ran \d+ tests?)/,
    cause: /^\s*File "/,
  },
  { begins: /^Traceback \(most recent call last\):$/, ends: /^$/, cause: /^\S+(?:Error|Exception)\b/ },
  // go
  {
    begins: /^\s*(?:--- FAIL: |panic: )/,
    ends: /^\s*(?:--- (?:PASS|SKIP)|=== |ok\s|FAIL\b|PASS\b|exit status)/,
  },
  { begins: /^\s*\S{1,300}\.go:\d+(?::\d+)?: /, ends: /^(?:\s*(?:---|===|FAIL|ok\s|PASS)|\S)/ },
  // cargo
  {
    begins: /^---- .{1,300} stdout ----$/,
    ends: /^(?:failures:|stack backtrace:|note: run with)/,
    cause: /panicked at/,
  },
  {
    begins: /^error(?:\[E\d+\])?: (?!test failed|could not compile|aborting)/,
    ends: /^(?:warning|For more info|$)/,
  },
  // mocha: with a list of its own, behind which there is a gap
  { begins: /^\s+\d+ failing$/, ends: /^npm (?:ERR!|error)/, endsWithGap: true },
  // tsc, and every compiler and linter that names a place first
  { begins: /^\S{1,300}\(\d+,\d+\): error\b/, ends: /^\S/ },
  { begins: /^\S{1,300}:\d+(?::\d+)?(?::| -) (?:fatal )?error\b/, ends: /^(?:\S|Found \d+ error)/ },
  // eslint, biome
  { begins: /^\s+\d+:\d+\s+error\s+\S/, ends: /^(?:\S|$)/, isUnderFile: true },
  { begins: /^\S{1,300} (?:lint|format|parse|assist)\S* .*━{4,}$/, ends: /^(?:Checked \d|Found \d|\S)/ },
];

/** A failure of which another one, inside it, says more. */
const OUTER = /^\s*failureType: 'subtestsFailed'/;

/** What nobody has to read to know what failed. */
const NOISE =
  /^\s*(?:$|---$|\.\.\.$|[-=_⎯]{10,}$|duration_ms:|type: |failureType:|code: 'ERR_|name: '|operator:|generatedMessage:|at .*node_modules|stack: \|-|.*\(?node:(?:internal|async_hooks)\b)/;

const MOST_LINES = 60;
const MATCHED = 600;

export const CUT_MARK = '... [truncated]';

/** The lines of each failure, in the order in which they were printed, each failure once; none: nothing is known to be one. */
export function failuresIn(output: string): readonly (readonly string[])[] {
  const lines = plain(output).split('\n');
  const found = new Map<string, readonly string[]>();
  let file = '';
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^\S/.test(line)) file = line;
    const dialect = dialectOf(line);
    if (!dialect) continue;
    const block = blockAt(lines, at, dialect);
    at += block.length - 1;
    if (block.some(each => OUTER.test(each))) continue;
    const head = dialect.isUnderFile && file !== '' ? [file] : [];
    if (head.length > 0) file = '';
    const whole = [...head, ...block];
    while (whole.at(-1)?.trim() === '') whole.pop();
    found.set(whole.join('\n').replace(/\d+(?:\.\d+)? ?m?s\b/g, ''), whole);
  }
  return [...found.values()];
}

function dialectOf(line: string): Dialect | undefined {
  const start = line.slice(0, MATCHED);
  return DIALECTS.find(({ begins }) => begins.test(start));
}

function blockAt(lines: readonly string[], from: number, dialect: Dialect): readonly string[] {
  let to = from + 1;
  while (to < lines.length && to - from < MOST_LINES) {
    const line = (lines[to] ?? '').slice(0, MATCHED);
    if (dialect.ends.test(line) || dialectOf(line)) break;
    if (dialect.endsWithGap && lines.slice(to, to + 3).every(each => each === '')) break;
    to++;
  }
  return lines.slice(from, to);
}

/** Colours and the like, as vitest prints them into a pipe too. */
export function plain(output: string): string {
  return output.replace(/\u001b\[[\d;]*[A-Za-z]/g, '').replace(/\r\n?/g, '\n');
}

export interface Room {
  readonly chars: number;
  /** Which end of an unknown output is the one to keep whole. */
  readonly from: 'head' | 'tail';
  /** Then there is no failure to look for. */
  readonly passed?: boolean | undefined;
}

/** For a prompt: all of it where there is room, else the failures, else its head and its tail. */
export function excerptOf(
  output: string,
  { chars, from, passed }: Room,
): { readonly text: string; readonly cut: boolean } {
  if (output.length <= chars) return { text: output, cut: false };
  const failures = passed ? [] : failuresIn(output);
  const text = failures.length > 0 ? chosen(failures, chars) : '';
  if (text !== '') return { text: `${text}\n${CUT_MARK}`, cut: true };
  const less = Math.floor(chars / 4);
  const parts =
    from === 'head' ? [head(output, chars), tail(output, less)] : [head(output, less), tail(output, chars)];
  const far = output.length > chars + less;
  if (from === 'head')
    return { text: far ? parts.join(`${CUT_MARK}\n`) : `${parts[0]}${CUT_MARK}`, cut: true };
  return { text: far ? parts.join(`${CUT_MARK}\n`) : `${CUT_MARK}\n${parts[1]}`, cut: true };
}

/** As many whole failures as there is room for; of the first one at least its head and its cause. */
function chosen(failures: readonly (readonly string[])[], chars: number): string {
  const shown: string[] = [];
  let left = chars;
  for (const lines of failures) {
    const text = lines.join('\n');
    if (text.length + 1 > left) break;
    shown.push(text);
    left -= text.length + 1;
  }
  const [first = []] = failures;
  return shown.length > 0 ? shown.join('\n') : head(atCause(first).join('\n'), chars);
}

/** For people: what failed, in a few lines; of an unknown output its first and its last ones. */
export function failureLines(output: string, most: number): readonly string[] {
  if (most <= 0) return [];
  const all = plain(output)
    .split('\n')
    .filter(line => line.trim() !== '');
  const isShown = (line: string) => !NOISE.test(line) && line !== CUT_MARK;
  const failures = failuresIn(output).map(lines => lines.filter(isShown));
  if (failures.length === 0) {
    if (all.length <= most) return all;
    const first = Math.floor(most / 3);
    return [...all.slice(0, first), '…', ...all.slice(all.length - most + first + 1)];
  }
  const shown: string[] = [];
  let count = 0;
  for (const lines of failures) {
    if (shown.length + Math.min(lines.length, 2) > most) break;
    const room = most - shown.length;
    shown.push(...(lines.length <= room ? lines : atCause(lines).slice(0, room)));
    count++;
  }
  const more = failures.length - count;
  return more > 0 ? [...shown, `… ${more} more ${more === 1 ? 'failure' : 'failures'}`] : shown;
}

/** Its first line, and from its cause on. */
function atCause(lines: readonly string[]): readonly string[] {
  const [first = ''] = lines;
  const { cause } = dialectOf(first) ?? {};
  const at = cause ? lines.findIndex((line, index) => index > 0 && cause.test(line)) : -1;
  return at > 1 ? [first, ...lines.slice(at)] : lines;
}

/** Never half a character. */
function head(text: string, chars: number): string {
  return text.slice(0, isHighSurrogate(text.charCodeAt(chars - 1)) ? chars - 1 : chars);
}

function tail(text: string, chars: number): string {
  const from = Math.max(0, text.length - chars);
  return text.slice(isHighSurrogate(text.charCodeAt(from - 1)) ? from + 1 : from);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
