/** The end of a ledger: where its chain continues, and what a crash left of its last line. */
import { truncateSync } from 'node:fs';
import { countAt, type Json, parseObject } from '../domain/text/json.ts';
import { laterVersion, type Problem } from '../domain/text/problem.ts';
import { fileSize, readSlice } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';

/**
 * The first line of a ledger carries it; without it that is 1. It stands for what is kept of a run, and is raised when an older Ralph would
 * misread that. A new event does not raise it: readers show what they do not know as unknown.
 */
export const LEDGER_FORMAT = 1;

/** The format of a ledger that only a later Ralph knows. */
export function laterFormat(entry: Json | undefined): number | undefined {
  const format = countAt(entry, 'format');
  return format !== undefined && format > LEDGER_FORMAT ? format : undefined;
}

/** Why this Ralph does not read the ledger of a run. */
export function laterLedger(run: string, path: string): Problem | undefined {
  const [first = ''] = readSlice(path, 0, LAST_LINES).split('\n', 1);
  const format = laterFormat(parseObject(first));
  return format === undefined ? undefined : laterVersion(run, format, LEDGER_FORMAT);
}

/** What the first line of a ledger follows. */
export const GENESIS = '0'.repeat(32);

export function hashOf(line: string): string {
  return sha256(line).slice(0, 32);
}

/** What an agent said and did, but for what it used, as `createJournal` writes it; with the hash of the line before. */
export const WORDS =
  /^\{"seq":\d+,"at":"[^"]*","prev":"([0-9a-f]{32})","run":"[^"]*","iteration":\d+,"type":"agent","event":\{"kind":"(?!usage")/;

/** Cuts off a last line that was never finished, and says how many bytes that were. */
export function repairTorn(path: string): number {
  const size = fileSize(path);
  for (let from = size; from > 0; ) {
    const start = Math.max(0, from - LAST_LINES);
    const newline = readSlice(path, start, from - start, 'latin1').lastIndexOf('\n');
    if (newline !== -1) return cutTo(path, start + newline + 1, size);
    from = start;
  }
  return cutTo(path, 0, size);
}

function cutTo(path: string, length: number, size: number): number {
  if (length < size) truncateSync(path, length);
  return size - length;
}

const LAST_LINES = 256 * 1024;

export interface ChainEnd {
  readonly seq: number;
  /** The hash of the last line. */
  readonly prev: string;
  readonly iteration: number;
}

/** Where the chain continues: a hook is a new process each time. Of a ledger whose last line is whole. */
export function lastEntry(path: string): ChainEnd {
  const size = fileSize(path);
  if (size === 0) return { seq: 0, prev: GENESIS, iteration: 0 };
  const line = lineEndingAt(path, size) ?? '';
  const entry = parseObject(line);
  return { seq: countAt(entry, 'seq') ?? 0, prev: hashOf(line), iteration: countAt(entry, 'iteration') ?? 0 };
}

/** The line that ends at this place in the file; undefined: none does. */
export function lineEndingAt(path: string, offset: number): string | undefined {
  for (let bytes = LAST_LINES; ; bytes *= 8) {
    const start = Math.max(0, offset - bytes);
    const text = readSlice(path, start, offset - start);
    if (!text.endsWith('\n')) return undefined;
    const newline = text.lastIndexOf('\n', text.length - 2);
    if (newline !== -1 || start === 0) return text.slice(newline + 1, -1);
  }
}
