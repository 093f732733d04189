/** What a run did to the tests that its checks rest on: files changed or removed, tests turned off, fewer of them run. */

import { failuresIn, plain } from './failure.ts';

/** By its name and place; what is in it is not looked at. */
export function isTestFile(path: string): boolean {
  return TEST_FILE.test(path);
}

const TEST_FILE =
  /(^|\/)(tests?|specs?|__tests__|__mocks__|__snapshots__|e2e|fixtures|testdata)\/|(^|\/|[._-])(test|spec)s?\.\w|(^|\/)(test_[^/]*|conftest)\.py$|(?:Tests?|Spec)\.(?:java|kt|scala|cs|swift|php|groovy)$/i;

/** Whether there may be tests in it: some languages have them beside the code. */
export function mayHoldTests(path: string): boolean {
  return isTestFile(path) || /\.rs$/.test(path);
}

/** A file that differs from how it was when the run began: its text, or a name for it; undefined: it was not there, or is not. */
export interface FileChange {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** How many tests a check ran before, and in the end. */
export interface TestCount {
  readonly command: string;
  readonly before: number;
  readonly after: number;
}

/** Nobody reads more of a line. */
const SHOWN = 100;

/** A line each; one that begins with a path names a file. A new file of tests is none of them. */
export function findTestChanges(
  files: readonly FileChange[],
  counts: readonly TestCount[] = [],
): readonly string[] {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return [
    ...sorted.flatMap(file => [...fateOf(file, sorted), ...turnedOff(file)]),
    ...counts
      .filter(({ before, after }) => after < before)
      .map(
        ({ command, before, after }) => `${command} ran ${after} of the ${before} tests that it ran before`,
      ),
  ];
}

function fateOf({ path, before, after }: FileChange, all: readonly FileChange[]): readonly string[] {
  if (before === undefined || !isTestFile(path)) return [];
  if (after !== undefined) return [path];
  const moved = all.find(
    other => other.before === undefined && other.after === before && isTestFile(other.path),
  );
  return [moved ? `${path} (moved to ${moved.path})` : `${path} (removed)`];
}

/** Only in those there are marks to look for. */
export function hasMarks(path: string): boolean {
  return OFF.some(({ files }) => files.test(path));
}

/** Lines that were not there before, or not so often. */
function turnedOff({ path, before = '', after = '' }: FileChange): readonly string[] {
  const marks = OFF.filter(({ files }) => files.test(path)).map(({ line }) => line);
  if (marks.length === 0 || after === '') return [];
  const isOff = (text: string) => !COMMENT.test(text) && marks.some(mark => mark.test(text));
  const known = new Map<string, number>();
  for (const text of linesOf(before)) if (isOff(text)) known.set(text, (known.get(text) ?? 0) + 1);
  return linesOf(after).flatMap((text, at) => {
    if (!isOff(text)) return [];
    const left = known.get(text) ?? 0;
    known.set(text, left - 1);
    return left > 0 ? [] : [`${path}:${at + 1} turns tests off: ${text.slice(0, SHOWN)}`];
  });
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').map(line => line.slice(0, 1000).trim());
}

/** In `#[ignore]` and `//go:build` it is none. */
const COMMENT = /^(?:\/\/(?!go:build)|\/?\*|#(?![![]))/;

/** How a test is turned off, or how all others are. */
const OFF: readonly { readonly files: RegExp; readonly line: RegExp }[] = [
  {
    files: /\.(?:[cm]?[jt]sx?|vue|svelte|coffee)$/,
    line: /\b(?:it|test|tests|describe|suite|context|specify|each|t|this|ctx)(?:\.\w+)*\.(?:skip|only|todo|fixme|failing|fails|skipIf|runIf)\b|\b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s*[(.`]|[{,(]\s*(?:skip|only|todo)\s*:\s*(?!false\b)\S/,
  },
  {
    files: /\.py$/,
    line: /@(?:\w+\.)*(?:skip|skip_?[iI]f|skipUnless|xfail|expectedFailure)\b|\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|\.skipTest\(|\bSkipTest\b|\b__test__\s*=\s*False|\bcollect_ignore/,
  },
  { files: /\.go$/, line: /\b\w+\.Skip(?:f|Now)?\(|^\/\/go:build\s+ignore\b/ },
  { files: /\.rs$/, line: /#!?\[(?:ignore\b|cfg_attr\(.*\bignore\b|cfg\(any\(\)\))/ },
  {
    files: /\.(?:java|kt|kts|scala|groovy)$/,
    line: /@(?:Disabled|Ignore)\b|\b(?:xtest|xit|xdescribe|ignore)\s*\(/,
  },
  {
    files: /\.(?:cs|fs|vb)$/,
    line: /\[(?:\w+,\s*)*Ignore\b|\bSkip\s*=\s*"|\bAssert\.(?:Ignore|Inconclusive)\(/,
  },
  {
    files: /\.rb$/,
    line: /^(?:skip|pending)\b|\b(?:xit|xspecify|xdescribe|xcontext|fit|fdescribe|fcontext)\b|[,(]\s*:(?:skip|focus|pending)\b|\b(?:skip|focus|pending):\s*(?!false\b)\S/,
  },
  { files: /\.php$/, line: /\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|only|todo)\(|#\[(?:Ignore|Skip)/ },
  { files: /\.exs?$/, line: /@(?:module|describe)?tag\s+:?skip\b/ },
  { files: /\.swift$/, line: /\bXCTSkip|\.disabled\(/ },
  { files: /\.(?:c|cc|cpp|cxx|h|hpp)$/, line: /\bDISABLED_\w|\bGTEST_SKIP\b|\bSKIP\(/ },
  { files: /\.dart$/, line: /\bskip:\s*(?!false\b)\S|@Skip\b/ },
  { files: /\.(?:bats|sh|t)$/, line: /^skip\b/ },
];

/** How a runner says how many tests it has run; those that it skipped do not count. */
interface Counted {
  readonly line: RegExp;
  /** Numbers in that line that are added, and those that are taken away. */
  readonly ran: RegExp;
  readonly not?: RegExp;
}

const RUNNERS: readonly Counted[] = [
  // node:test, tap, tape
  { line: /^(?:#|ℹ) (?:pass|fail) +\d+$/, ran: /(\d+)$/g },
  // vitest and jest
  {
    line: /^\s*Tests:?\s+(?:\d+ \w+[ |,]+)*\d+ (?:passed|failed|skipped|todo|total)\b/,
    ran: /(\d+) (?:passed|failed)/g,
  },
  // pytest
  {
    line: /^(?:=+ )?(?:no tests ran|(?:\d+ \w+, )*\d+ (?:passed|failed|skipped|x?passed|xfailed|deselected|warnings?|errors?)) in [\d.]+s\b/,
    ran: /(\d+) (?:passed|failed)/g,
  },
  // unittest
  { line: /^Ran \d+ tests? in /, ran: /^Ran (\d+)/g },
  { line: /^(?:OK|FAILED) \(.*skipped=\d+/, ran: /(?!)/g, not: /skipped=(\d+)/g },
  { line: /^test result: \w+\. \d+ passed;/, ran: /(\d+) (?:passed|failed);/g },
  // mocha
  { line: /^\s+\d+ (?:passing|failing)\b/, ran: /(\d+) (?:passing|failing)/g },
  // rspec, minitest, bats
  { line: /^\d+ examples?, \d+ failures?/, ran: /^(\d+)/g, not: /(\d+) pending/g },
  { line: /^\d+ (?:runs|tests), \d+ assertions/, ran: /^(\d+)/g, not: /(\d+) skips/g },
  { line: /^\d+ tests?, \d+ failures?/, ran: /^(\d+)/g, not: /(\d+) skipped/g },
  // phpunit
  { line: /^OK \(\d+ tests?, /, ran: /(\d+) tests?/g },
  { line: /^Tests: \d+, Assertions: \d+/, ran: /^Tests: (\d+)/g, not: /Skipped: (\d+)/g },
  // Maven: what it says of each class is in the sum behind
  { line: /^(?:\[\w+\] +)?Tests run: \d+, .*Skipped: \d+$/, ran: /run: (\d+)/g, not: /Skipped: (\d+)/g },
  { line: /\bFailed: +\d+, Passed: +\d+, Skipped: +\d+/, ran: /(?:Failed|Passed): +(\d+)/g },
  { line: /^\s*\d+ (?:pass|fail)$/, ran: /(\d+)/g },
  { line: /^(?:ok|FAILED) \| \d+ passed/, ran: /(\d+) (?:passed|failed)/g },
];

/** As the runner itself has counted; undefined: no runner that we know has said it. */
export function countTests(output: string): number | undefined {
  const lines = plain(output)
    .split('\n')
    .map(line => line.slice(0, 300).trimEnd());
  const found = RUNNERS.flatMap(({ line, ran, not }) =>
    lines.filter(each => line.test(each)).map(each => sumIn(each, ran) - (not ? sumIn(each, not) : 0)),
  );
  if (found.length > 0)
    return Math.max(
      0,
      found.reduce((sum, each) => sum + each),
    );
  // `go test -v` has no sum
  const named = lines.filter(line => /^\s*--- (?:PASS|FAIL): /.test(line)).length;
  return named > 0 || lines.some(line => /^\s*--- SKIP: /.test(line)) ? named : undefined;
}

const FAILED =
  /(\d+) (?:failed|failing|failures?|errors?|fail)\b|\bfail +(\d+)$|\b(?:failures|errors|failed)[=:] *(\d+)/gi;

/** The same of those that failed; where no runner says it, the failures that are printed count. undefined: there are none that we know. */
export function countFailures(output: string): number | undefined {
  const lines = plain(output)
    .split('\n')
    .map(line => line.slice(0, 300).trimEnd());
  const sums = lines.filter(each => /^FAILED \(/.test(each) || RUNNERS.some(({ line }) => line.test(each)));
  if (sums.length > 0)
    return sums
      .flatMap(line => [...line.matchAll(FAILED)])
      .reduce((sum, [, one, two, three]) => sum + Number(one ?? two ?? three), 0);
  const named = lines.filter(line => /^\s*--- FAIL: /.test(line)).length;
  return named || failuresIn(output).length || undefined;
}

function sumIn(line: string, numbers: RegExp): number {
  return [...line.matchAll(numbers)].reduce((sum, [, number]) => sum + Number(number), 0);
}
