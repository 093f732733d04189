/** Server-sent events: a ledger as it grows, and the list of runs whenever it changes. */
import { statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type Watching, watchFile } from '../platform/follow.ts';
import { cleanJson } from '../report/read-run.ts';
import { type JournalReader, openJournal } from '../store/journal.ts';
import type { LedgerFile } from '../store/ledger-end.ts';

export interface Stream {
  /** Waits for a reader that is slow. */
  send(event: { readonly name?: string; readonly id?: number; readonly data: string }): Promise<void>;
  onClose(act: () => void): void;
}

/** Proxies and browsers give up on a connection that is silent. */
const HEARTBEAT = 15_000;

export function openStream(response: ServerResponse): Stream {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write('retry: 1000\n\n');
  const heart = setInterval(() => response.write(':\n\n'), HEARTBEAT);
  response.on('close', () => clearInterval(heart));
  return {
    async send({ name, id, data }) {
      const text = `${name ? `event: ${name}\n` : ''}${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
      if (response.destroyed || response.write(text)) return;
      await new Promise<void>(resolve => {
        response.once('drain', resolve);
        response.once('close', resolve);
      });
    },
    onClose: act => void response.on('close', act),
  };
}

const PIECE = 1024 * 1024;
const LOOK_EVERY = 500;

/** Every entry after `after`, in order, once; then new ones, until the reader disconnects. */
export function streamLedger(
  stream: Stream,
  file: LedgerFile,
  after: number,
  redact: (line: string) => string,
): void {
  let sent = after;
  let ledger: Ledger | undefined;
  let busy = false;
  let closed = false;

  const pump = async () => {
    ledger = sameLedger(ledger, file, look);
    if (!ledger) return;
    do {
      for (const entry of ledger.journal.next(PIECE)) {
        if (closed) return;
        if (entry.seq <= sent) continue;
        await stream.send({ id: entry.seq, data: cleanJson(entry, redact) });
        sent = entry.seq;
      }
    } while (!closed && !ledger.journal.atEnd());
  };
  const look = () => {
    if (busy || closed) return;
    busy = true;
    void pump().finally(() => {
      busy = false;
      if (closed) close(ledger);
    });
  };
  // The ledger of a run that is being created may not exist yet.
  const timer = setInterval(look, LOOK_EVERY);
  stream.onClose(() => {
    closed = true;
    clearInterval(timer);
    if (!busy) close(ledger);
  });
  look();
}

interface Ledger {
  readonly journal: JournalReader;
  readonly watching: Watching;
  readonly inode: number;
}

/** A run restores its ledger when an agent has deleted it: then it is another file, and is read from its beginning. */
function sameLedger(ledger: Ledger | undefined, file: LedgerFile, look: () => void): Ledger | undefined {
  const inode = statSync(file.events, { throwIfNoEntry: false })?.ino;
  if (inode === undefined || inode === ledger?.inode) return ledger;
  close(ledger);
  return { journal: openJournal(file), watching: watchFile(file.events, look, LOOK_EVERY), inode };
}

function close(ledger: Ledger | undefined): void {
  ledger?.watching.close();
  ledger?.journal.close();
}

const LIST_EVERY = 1_000;

/** What `list` returns, whenever that changes. */
export function streamList(stream: Stream, list: () => Promise<string>): void {
  let last = '';
  const look = async () => {
    const now = await list();
    if (now === last) return;
    last = now;
    await stream.send({ name: 'runs', data: now });
  };
  repeat(stream, look, LIST_EVERY);
}

/** At once and again and again, never twice at a time, until the reader disconnects. */
export function repeat(stream: Stream, action: () => Promise<void>, every: number): void {
  let busy = false;
  const look = () => {
    if (busy) return;
    busy = true;
    void action()
      .catch(() => {}) // the next one may work
      .finally(() => {
        busy = false;
      });
  };
  const timer = setInterval(look, every);
  stream.onClose(() => clearInterval(timer));
  look();
}
