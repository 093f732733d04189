/** The ledger in a bundle: the lines on which its claims rest, word for word, and for all others their number and where the chain continues. */
import { parseObject } from '../../domain/text/json.ts';
import { readPages } from '../../platform/files.ts';
import { createLineSplitter } from '../../platform/lines.ts';
import {
  GENESIS,
  hashOf,
  type LedgerFile,
  lengthMisfit,
  lineMisfit,
  readEnd,
} from '../../store/ledger-end.ts';
import type { LeftOut, Predicate } from './format.ts';

export type BundledLedger = Pick<Predicate['ledger'], 'root' | 'lines' | 'entries'>;

/** With what is wrong between its lines, those that are left out included. undefined: there is no line in it. */
export function bundleLedger(file: LedgerFile) {
  const path = file.events;
  const end = readEnd(file);
  const wanted = wantedLines(path);
  const entries: (string | LeftOut)[] = [];
  let [left, lines] = [0, 0];
  let [after, last] = [GENESIS, GENESIS];
  let misfit: string | undefined;
  const close = () => {
    if (left > 0) entries.push({ left, after, last });
    left = 0;
  };
  eachLine(path, line => {
    lines++;
    if (START.exec(line)?.[2] !== last) misfit ??= `line ${lines} does not follow from the line before it`;
    if (wanted.has(lines)) {
      close();
      entries.push(line);
      after = hashOf(line);
    } else left++;
    last = hashOf(line);
    misfit ??= lineMisfit(end, lines, last);
  });
  close();
  misfit ??= lengthMisfit(end, lines);
  const ledger: BundledLedger = { root: last, lines, entries };
  return lines === 0 ? undefined : { ledger, misfit };
}

/** Of a resumed run, the last part counts; what it did not undo stays: violations, reviews. */
const ALWAYS: ReadonlySet<unknown> = new Set([
  'run-started',
  'run-resumed',
  'prepared',
  'violation',
  'stories-updated',
  'mutated',
  'board-set',
  'candidate-checked',
  'landed',
  'run-ended',
]);
/** Of the last iteration that was judged. */
const OF_THE_LAST: ReadonlySet<unknown> = new Set([
  'iteration-started',
  'turn-ended',
  'check-ended',
  'judged',
  'scm-started',
  'scm',
  'iteration-ended',
]);

/** By number, from 1. */
function wantedLines(path: string): ReadonlySet<number> {
  const always = new Set<number>();
  const scm = new Map<unknown, number>();
  let current: number[] = [];
  let judged: readonly number[] = [];
  let number = 0;
  eachLine(path, line => {
    number++;
    const type = typeOf(line);
    if (type === 'iteration-started') current = [];
    if (ALWAYS.has(type) || (type === 'iteration-started' && line.includes('"mode":"review"')))
      always.add(number);
    if (OF_THE_LAST.has(type)) current.push(number);
    if (type === 'scm') scm.set(parseObject(line)?.task, number);
    if (type === 'judged') judged = current; // what follows in this iteration is pushed to it, too
  });
  return new Set([...always, ...judged, ...scm.values()]);
}

/** Of most lines nothing else is wanted, and there may be a million. */
function typeOf(line: string): unknown {
  return TYPE.exec(line)?.[1] ?? parseObject(line)?.type;
}

const TYPE =
  /^\{"seq":\d+,"at":"[^"]*","prev":"[0-9a-f]{32}","run":"[^"]*","iteration":\d+,"type":"([a-z-]+)"/;

const START = /^\{"seq":(\d+),"at":"[^"]*","prev":"([0-9a-f]{32})",/;

/** A last line without its end is none. */
function eachLine(path: string, take: (line: string) => void): void {
  const splitter = createLineSplitter({ line: take });
  readPages(path, page => splitter.push(page));
}

/** What is wrong with the chain; undefined: every line follows from the one before it, as far as they are here. */
export function chainMisfit({ entries, root, lines }: BundledLedger): string | undefined {
  let [number, prev] = [0, GENESIS];
  for (const entry of entries) {
    if (typeof entry !== 'string') {
      if (entry.after !== prev) return `line ${number + 1} does not follow from the line before it`;
      number += entry.left;
      prev = entry.last;
      continue;
    }
    number++;
    // As every journal begins its lines: to parse them takes longer than all the rest.
    const [, seq, before] = START.exec(entry) ?? [];
    if (before !== prev) return `line ${number} does not follow from the line before it`;
    if (seq !== String(number)) return `line ${number} has the number ${String(seq)}`;
    prev = hashOf(entry);
  }
  if (number !== lines) return `it has ${number} lines, and should have ${lines}`;
  return prev === root ? undefined : 'its last line is not the one that was written';
}
