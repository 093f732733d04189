/**
 * The ledger of a run: `events.jsonl`, append-only, one event a line. Each line carries the hash of the line before
 * it, so that a change anywhere shows. A torn last line is the mark of a crash, not an error.
 */
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import type { RecordedEvent, RunEvent } from '../domain/run/event.ts';
import { parseObject } from '../domain/text/json.ts';
import { errorWords } from '../platform/error-words.ts';
import { createPrivate, fileSize, tryTo } from '../platform/files.ts';
import { createLineSplitter } from '../platform/lines.ts';
import {
  END_IS_KEPT,
  fitsEnd,
  GENESIS,
  hashOf,
  type KeptEnd,
  keepEnd,
  LEDGER_FORMAT,
  type LedgerFile,
  type LedgerPlace,
  lastEntry,
  laterFormat,
  lengthMisfit,
  lineMisfit,
  readEnd,
  repairTorn,
  WORDS,
} from './ledger-end.ts';

export type Entry = {
  readonly seq: number;
  readonly at: string;
  readonly prev: string;
  /** On the steady clock; a hook has none. */
  readonly ticks?: number;
  /** Of the ledger, in its first line. */
  readonly format?: number;
} & RunEvent;

/** One line of a ledger, byte for byte. */
export interface LedgerLine {
  readonly seq: number;
  readonly type: RunEvent['type'];
  readonly text: string;
}

export interface Journal {
  /**
   * Returns the event as it was recorded. What must survive a power cut does so when this returns. Must not throw: when the disk
   * fails, `trouble` says so, and nothing is written any more.
   */
  append(event: RunEvent): RecordedEvent;
  /** Nothing more is written, whatever is appended. */
  close(): void;
  trouble(): string | undefined;
  /** Where the ledger ends now. */
  end(): LedgerPlace;
}

/** What one turn of an agent may add. Beyond it only what the loop itself does is kept; the raw stream is in agent.jsonl. */
const MAX_TURN_BYTES = 4 * 1024 * 1024;
const MAX_TEXT = 4_000;

/** After these a power cut loses nothing that would be done twice: docs/adr/0024. */
export const DURABLE: ReadonlySet<RunEvent['type']> = new Set([
  'run-started',
  'run-resumed',
  'prepared',
  'hint-delivered',
  'question-asked',
  'question-answered',
  'iteration-started',
  'turn-ended',
  'tampered',
  'judged',
  'scm-started',
  'scm',
  'restore-started',
  'restored',
  'iteration-ended',
  'run-ended',
  'forge-started',
  'forge',
  'forge-round',
  'forge-noted',
  'forge-ended',
  'forge-said',
]);

export interface JournalOptions {
  /** The id of the run. */
  readonly run: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds on a clock that is never set; absent: it is not recorded. */
  ticks?(): number;
  /** Takes secrets out of an event before anybody sees it. */
  redact?(event: RunEvent): RunEvent;
  /** Whether it waits for the disk at all; a hook does not. */
  readonly durable?: boolean;
  /** Gets every line that was written, as it was. */
  copy?(line: LedgerLine): void;
}

export function createJournal(path: string, options: JournalOptions): Journal {
  const { run, now, ticks: steady, redact = event => event, durable = true, copy } = options;
  const file = openLedger(path);
  let { seq, prev, iteration } = lastEntry(path);
  let offset = fileSize(path);
  let turnBytes = 0;
  const end = () => ({ seq, prev, offset });
  const keeper = createKeeper(path);
  // A hook does not wait for the disk: the end of its ledger is kept when the loop ends.
  const isKept = seq === 0 && durable && keeper.keep(end());

  const write = (event: RunEvent, time: number) => {
    const at = new Date(time).toISOString();
    const ticks = steady && { ticks: Math.round(steady()) };
    const format = seq === 0 && { format: LEDGER_FORMAT, ...(isKept && END_IS_KEPT) };
    const line = JSON.stringify({ seq: seq + 1, at, prev, run, iteration, ...event, ...ticks, ...format });
    if (!file.write(line)) return;
    seq++;
    prev = hashOf(line);
    offset += Buffer.byteLength(line) + 1;
    turnBytes += line.length;
    copy?.({ seq, type: event.type, text: line });
  };
  const record = (event: RunEvent, time: number) => {
    if (event.type === 'agent-started') turnBytes = 0;
    if (event.type === 'run-ended') return write(withoutOutputs(event), time);
    if (event.type !== 'agent') return write(event, time);
    const wasTooMuch = turnBytes > MAX_TURN_BYTES;
    // What it used is always recorded: it is counted if the turn is cut off.
    if (wasTooMuch && event.event.kind !== 'usage') return;
    write(shortened(event), time);
    if (!wasTooMuch && turnBytes > MAX_TURN_BYTES) write(TOO_MUCH, time);
  };

  return {
    append(raw) {
      const event = redact(raw);
      const time = now();
      if ('iteration' in event) iteration = event.iteration;
      record(event, time);
      const isFirm = DURABLE.has(event.type) && (durable || event.type === 'run-ended');
      if (isFirm && file.flush()) keeper.keep(end());
      return { ...event, time, run, iteration };
    },
    close: file.close,
    trouble: file.trouble,
    end,
  };
}

/** Once the ledger does not fit what was kept of its end, that is what every reader finds, whatever is added. False: it was not kept. */
function createKeeper(path: string) {
  let fits: boolean | undefined;
  return {
    keep(end: LedgerPlace): boolean {
      fits ??= fitsEnd(path);
      const isKept = () => {
        keepEnd(path, end);
        return true;
      };
      return fits && tryTo(isKept) === true;
    },
  };
}

/** The file while it is written. What a crash left of its last line is cut off; once the disk has failed, nothing more is written. */
function openLedger(path: string) {
  let fd: number | undefined = createPrivate(path);
  const cutHalfLine = () => tryTo(() => repairTorn(path)); // else whoever resumes does it
  let trouble: string | undefined;
  cutHalfLine();
  const close = () => {
    const open = fd;
    fd = undefined;
    if (open !== undefined) tryTo(() => closeSync(open)); // a disk that gave out may say so once more
  };
  /** False when it was not done. */
  const attempt = (action: (fd: number) => void): boolean => {
    if (fd === undefined) return false;
    try {
      action(fd);
      return true;
    } catch (error) {
      trouble ??= `${path}: ${errorWords(error)}`;
      cutHalfLine(); // a full disk may have taken a part of it
      close();
      return false;
    }
  };
  return {
    write: (line: string) => attempt(open => writeFileSync(open, `${line}\n`)),
    flush: () => attempt(open => fdatasyncSync(open)),
    close,
    trouble: () => trouble,
  };
}

const TOO_MUCH: RunEvent = {
  type: 'notice',
  level: 'debug',
  text: 'The agent prints a great deal: the rest of this turn is only in agent.jsonl.',
};

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

export type JournalReader = ReturnType<typeof openJournal>;

export interface JournalReading {
  /** Leave out what an agent said and did, but for what it used: nearly all of a ledger. The last line is given in any case. */
  readonly withoutWords?: boolean;
  /** Where to begin, when that is not the beginning. */
  readonly from?: ReturnType<Journal['end']>;
}

const PIECE = 256 * 1024;

/** Reads a ledger in bounded pieces, checking the chain as it goes, and that it is not shorter than it was. */
export function openJournal(ledger: LedgerFile, reading: JournalReading = {}) {
  // Before the ledger: that grows first.
  const kept = readEnd(ledger);
  const fd = openSync(ledger.events, 'r');
  const isFile = fstatSync(fd).isFile();
  const page = Buffer.allocUnsafe(PIECE);
  const chain = createChain(reading, kept);
  const splitter = createLineSplitter(chain);
  let position = reading.from?.offset ?? 0;
  let lastNewline = position;
  let atEnd = false;

  /**
   * The entries added since the last call, of about `most` bytes, so that a ledger of any size can be read in pieces.
   * A line that is not complete yet waits for the next one. `atEnd` says that there was nothing left to read.
   */
  const next = (most = Number.POSITIVE_INFINITY): readonly Entry[] => {
    const end = position + most;
    atEnd = !isFile;
    while (position < end && !atEnd) {
      const read = readSync(fd, page, 0, page.length, position);
      atEnd = read === 0;
      const chunk = page.subarray(0, read);
      const newline = chunk.lastIndexOf(10);
      if (newline !== -1) lastNewline = position + newline + 1;
      splitter.push(chunk);
      position += read;
    }
    return chain.fetch(atEnd);
  };

  return {
    next,
    atEnd: () => atEnd,
    /** What is wrong with the ledger: a broken chain, a line that cannot be read. */
    problems: (): readonly string[] => (isFile ? chain.problems(atEnd) : ['it is not a file']),
    /** Bytes of a last line that has no end yet. */
    torn: () => position - lastNewline,
    close: () => closeSync(fd),
  };
}

/** Reads it to its end, without having all of it in memory at once, and closes it. */
export function readJournal(journal: JournalReader, add: (entry: Entry) => void) {
  try {
    do for (const entry of journal.next(PIECE)) add(entry);
    while (!journal.atEnd());
    return { problems: journal.problems(), torn: journal.torn() };
  } finally {
    journal.close();
  }
}

/** Takes line after line, and holds their entries until they are fetched. */
function createChain({ withoutWords = false, from }: JournalReading, kept: KeptEnd) {
  const problems: string[] = [];
  let entries: Entry[] = [];
  let number = from?.seq ?? 0;
  let prev = from?.prev ?? GENESIS;
  let leftOut: string | undefined;
  const take = (line: string) => {
    const entry = parseEntry(line);
    if (!entry) problems.push(`line ${number} is not an event`);
    else {
      const later = number === 1 ? laterFormat(entry) : undefined;
      if (later !== undefined) problems.push(`it has format ${later} of a later Ralph`);
      if (entry.prev !== prev) problems.push(`line ${number} does not follow from the line before it`);
      entries.push(entry);
    }
  };
  const note = (misfit: string | undefined) => {
    if (misfit !== undefined) problems.push(misfit);
  };
  note(lineMisfit(kept, number, prev));
  return {
    problems(atEnd: boolean): readonly string[] {
      const cut = atEnd ? lengthMisfit(kept, number) : undefined;
      return cut === undefined ? problems : [...problems, cut];
    },
    line(line: string): void {
      number++;
      leftOut = withoutWords && WORDS.exec(line)?.[1] === prev ? line : undefined;
      if (leftOut === undefined) take(line);
      prev = hashOf(line);
      note(lineMisfit(kept, number, prev));
    },
    /** The last line of a ledger is among them, whatever it is. */
    fetch(atEnd: boolean): readonly Entry[] {
      const last = atEnd && leftOut !== undefined ? parseEntry(leftOut) : undefined;
      if (atEnd) leftOut = undefined;
      const found = last ? [...entries, last] : entries;
      entries = [];
      return found;
    },
  };
}

function parseEntry(line: string): Entry | undefined {
  const entry = parseObject(line);
  const isEntry = entry && 'type' in entry && 'seq' in entry && 'prev' in entry;
  return isEntry ? (entry as unknown as Entry) : undefined;
}
