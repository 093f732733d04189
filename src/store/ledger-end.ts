/** The end of a ledger: where its chain continues, what a crash left of its last line, and what is kept beside it to show that it was cut. */
import { truncateSync } from 'node:fs';
import { countAt, type Json, parseObject, stringAt } from '../domain/text/json.ts';
import { laterVersion, type Problem } from '../domain/text/problem.ts';
import { fileSize, readIfThere, readSlice, tryTo, writeAtomic, writeOver } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { isRecorded, type RunPaths } from './paths.ts';
import { endBeside } from './state.ts';

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
  const format = laterFormat(firstEntry(path));
  return format === undefined ? undefined : laterVersion(run, format, LEDGER_FORMAT);
}

function firstEntry(path: string): Json | undefined {
  const [first = ''] = readSlice(path, 0, LAST_LINES).split('\n', 1);
  return parseObject(first);
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

/** A place between two lines: how many are before it, the hash of the last of them, and where in the file it is. */
export interface LedgerPlace {
  readonly seq: number;
  readonly prev: string;
  readonly offset: number;
}

/** `missing`: there should be one. undefined: of this ledger none was ever kept. */
export type KeptEnd = LedgerPlace | 'missing' | undefined;

/** In the first line of a ledger whose end is kept from then on. */
export const END_IS_KEPT = { endKept: true };

/** Always as many bytes, so that writing over it needs no room and leaves no half. */
const WIDTH = 120;

/** Only of lines that are safe on the disk: a power cut must not make a ledger shorter than this. */
export function keepEnd(path: string, { seq, prev, offset }: LedgerPlace): void {
  const text = `${JSON.stringify({ seq, prev, offset }).padEnd(WIDTH)}\n`;
  if (!writeOver(endBeside(path), text)) writeAtomic(endBeside(path), text);
}

/** Of a copy nobody has kept it. */
export function readEnd(ledger: LedgerFile): KeptEnd {
  return isRecorded(ledger) ? endOf(ledger.events) : undefined;
}

export type LedgerFile = Pick<RunPaths, 'events' | 'trust'>;

function endOf(path: string): KeptEnd {
  const end = parseObject(tryTo(() => readIfThere(endBeside(path))) ?? '');
  const [seq, prev, offset] = [countAt(end, 'seq'), stringAt(end, 'prev'), countAt(end, 'offset')];
  if (seq !== undefined && prev !== undefined && offset !== undefined) return { seq, prev, offset };
  return firstEntry(path)?.endKept === true ? 'missing' : undefined;
}

/** One that was cut or written anew does not fit, and never will again, whatever is added to it. */
export function fitsEnd(path: string): boolean {
  const end = endOf(path);
  if (end === undefined || end === 'missing') return end === undefined;
  if (end.offset === 0) return true;
  const line = fileSize(path) < end.offset ? undefined : lineEndingAt(path, end.offset);
  return line !== undefined && hashOf(line) === end.prev;
}

/** What is wrong with this line of a ledger, by what was kept of its end. */
export function lineMisfit(end: KeptEnd, number: number, hash: string): string | undefined {
  const isOther = typeof end === 'object' && number === end.seq && hash !== end.prev;
  return isOther ? `line ${number} is not the one that was written` : undefined;
}

/** What is wrong with the number of its lines. */
export function lengthMisfit(end: KeptEnd, lines: number): string | undefined {
  if (end === 'missing') return 'where it ended is not on record any more';
  return end && lines < end.seq ? `it has ${lines} lines, and should have ${end.seq}` : undefined;
}
