/**
 * The ledger of a run: `events.jsonl`, append-only, one event a line. Each line carries the hash of the line before
 * it, so that a change anywhere shows. A torn last line is the mark of a crash, not an error.
 */
import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import type { RunEvent } from '../domain/event.ts';
import { parseObject } from '../domain/json.ts';
import { createPrivate, errorWords, fileSize, readSlice } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { createLineSplitter } from '../platform/lines.ts';

export type Entry = { readonly seq: number; readonly at: string; readonly prev: string } & RunEvent;

export interface Journal {
  /** Must not throw: when the disk gives out, `trouble` says so, and nothing is written any more. */
  append(event: RunEvent): void;
  /** Makes sure that what was appended survives a power cut. */
  flush(): void;
  close(): void;
  trouble(): string | undefined;
}

const GENESIS = '0'.repeat(32);
/** What one turn of an agent may add. Beyond it only what the loop itself does is kept; the raw stream is in agent.jsonl. */
const MAX_TURN_BYTES = 4 * 1024 * 1024;
const MAX_TEXT = 4_000;

/** `redact` takes secrets out of a line before it is written. */
export function createJournal(
  path: string,
  now: () => number,
  redact: (line: string) => string = line => line,
): Journal {
  let fd: number | undefined = createPrivate(path);
  let { seq, prev } = lastEntry(path);
  let turnBytes = 0;
  let trouble: string | undefined;

  const giveUp = (error: unknown) => {
    trouble ??= `${path}: ${errorWords(error)}`;
    if (fd !== undefined) closeQuietly(fd);
    fd = undefined;
  };
  const write = (event: RunEvent) => {
    if (fd === undefined) return;
    const line = redact(JSON.stringify({ seq: seq + 1, at: new Date(now()).toISOString(), prev, ...event }));
    try {
      writeFileSync(fd, `${line}\n`);
    } catch (error) {
      cutHalfLine(path); // a full disk may have taken a part of it
      return giveUp(error);
    }
    seq++;
    prev = hashOf(line);
    turnBytes += line.length;
  };

  return {
    append(event) {
      if (event.type === 'agent-started') turnBytes = 0;
      if (event.type === 'run-ended') return write(withoutOutputs(event));
      if (event.type !== 'agent') return write(event);
      if (turnBytes > MAX_TURN_BYTES) return;
      write(shortened(event));
      if (turnBytes > MAX_TURN_BYTES) {
        write({
          type: 'notice',
          level: 'debug',
          text: 'The agent prints a great deal: the rest of this turn is only in agent.jsonl.',
        });
      }
    },
    flush() {
      if (fd === undefined) return;
      try {
        fd = stillThere(path, fd);
        fdatasyncSync(fd);
      } catch (error) {
        giveUp(error);
      }
    },
    close() {
      if (fd !== undefined) closeQuietly(fd);
      fd = undefined;
    },
    trouble: () => trouble,
  };
}

function cutHalfLine(path: string): void {
  try {
    repairTorn(path);
  } catch {
    // then it is repaired when the run goes on
  }
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // a disk that gave out may say so once more
  }
}

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

/** Where the chain goes on: a hook is a new process each time. A torn last line is ended, so that the next one stands alone. */
function lastEntry(path: string): { readonly seq: number; readonly prev: string } {
  const size = fileSize(path);
  if (size === 0) return { seq: 0, prev: GENESIS };
  const text = readSlice(path, Math.max(0, size - LAST_LINES), LAST_LINES);
  if (!text.endsWith('\n')) appendFileSync(path, '\n');
  const whole = text.trimEnd();
  const line = whole.slice(whole.lastIndexOf('\n') + 1);
  return { seq: parseEntry(line)?.seq ?? 0, prev: hashOf(line) };
}

/** An agent may have deleted or replaced the file under us: then what we have written is put back, and theirs set aside. */
function stillThere(path: string, fd: number): number {
  const now = statSync(path, { throwIfNoEntry: false });
  if (now?.ino === fstatSync(fd).ino) return fd;
  if (now) renameSync(path, `${path}.replaced`);
  const written = Buffer.alloc(fstatSync(fd).size);
  readSync(fd, written, 0, written.length, 0);
  closeSync(fd);
  const fresh = createPrivate(path);
  writeFileSync(fresh, written);
  return fresh;
}

function hashOf(line: string): string {
  return sha256(line).slice(0, 32);
}

/** Long words are in agent.jsonl whole; here a reader wants to see what happened. */
function shortened(event: RunEvent & { type: 'agent' }): RunEvent {
  const { event: inner } = event;
  if ((inner.kind !== 'text' && inner.kind !== 'aside') || inner.text.length <= MAX_TEXT) return event;
  return { type: 'agent', event: { ...inner, text: `${inner.text.slice(0, MAX_TEXT)}…` } };
}

/** What the checks printed is in their logs. */
function withoutOutputs({ type, result }: RunEvent & { type: 'run-ended' }): RunEvent {
  const iterations = result.iterations.map(iteration => ({
    ...iteration,
    checkResults: iteration.checkResults.map(check => ({ ...check, output: '' })),
  }));
  return { type, result: { ...result, iterations } };
}

export interface JournalReader {
  /**
   * The entries added since the last call, of about `most` bytes, so that a ledger of any size can be read in pieces.
   * A line that is not complete yet waits for the next one. `atEnd` says that there was nothing left to read.
   */
  next(most?: number): readonly Entry[];
  /** All that is there, without having all of it in memory at once. */
  each(): Iterable<Entry>;
  atEnd(): boolean;
  /** What is wrong with the ledger: a broken chain, a line that cannot be read. */
  problems(): readonly string[];
  /** Bytes of a last line that has no end yet. */
  torn(): number;
  close(): void;
}

export interface JournalReading {
  /** Leave out what an agent said and did, but for what it used: nearly all of a ledger. The last line is told in any case. */
  readonly withoutWords?: boolean;
}

/** As `createJournal` writes it. What is written otherwise is read as a whole. */
const WORDS = /^\{"seq":\d+,"at":"[^"]*","prev":"([0-9a-f]{32})","type":"agent","event":\{"kind":"(?!usage")/;

/** Reads a ledger from its beginning, in bounded pieces, checking the chain as it goes. */
export function openJournal(path: string, { withoutWords = false }: JournalReading = {}): JournalReader {
  const fd = openSync(path, 'r');
  const page = Buffer.allocUnsafe(256 * 1024);
  const problems: string[] = [];
  let entries: Entry[] = [];
  let position = 0;
  let lastNewline = 0;
  let number = 0;
  let prev = GENESIS;
  let atEnd = false;
  let leftOut: string | undefined;

  const take = (line: string) => {
    const entry = parseEntry(line);
    if (!entry) problems.push(`line ${number} is not an event`);
    else {
      if (entry.prev !== prev) problems.push(`line ${number} does not follow from the line before it`);
      entries.push(entry);
    }
  };
  const splitter = createLineSplitter({
    line(line) {
      number++;
      leftOut = withoutWords && WORDS.exec(line)?.[1] === prev ? line : undefined;
      if (leftOut === undefined) take(line);
      prev = hashOf(line);
    },
  });
  const takeLast = () => {
    const entry = leftOut === undefined ? undefined : parseEntry(leftOut);
    if (entry) entries.push(entry);
    leftOut = undefined;
  };

  const next = (most = Number.POSITIVE_INFINITY): readonly Entry[] => {
    entries = [];
    const end = position + most;
    atEnd = false;
    while (position < end) {
      const read = readSync(fd, page, 0, page.length, position);
      if (read === 0) {
        atEnd = true;
        takeLast();
        break;
      }
      const chunk = page.subarray(0, read);
      const newline = chunk.lastIndexOf(10);
      if (newline !== -1) lastNewline = position + newline + 1;
      splitter.push(chunk);
      position += read;
    }
    return entries;
  };

  function* each(): Iterable<Entry> {
    do yield* next(page.length);
    while (!atEnd);
  }

  return {
    next,
    each,
    atEnd: () => atEnd,
    problems: () => problems,
    torn: () => position - lastNewline,
    close: () => closeSync(fd),
  };
}

function parseEntry(line: string): Entry | undefined {
  const entry = parseObject(line);
  const isEntry = entry && 'type' in entry && 'seq' in entry && 'prev' in entry;
  return isEntry ? (entry as unknown as Entry) : undefined;
}
