/**
 * The head of a ledger: where it ends, kept outside the project. It is written ahead of each line and says what that line will be, so
 * that a kill at any moment leaves a ledger that fits: the line is there, or not, or in part. docs/adr/0037.
 */
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { defined } from '../domain/fields.ts';
import { countAt, objectAt, parseObject, stringAt } from '../domain/json.ts';
import { ensureFolder, fileSize, readIfThere, readSlice, tryTo, writeWhole } from '../platform/files.ts';
import { cutHalfLine, hashOf, lastEntry, lineEndingAt, WORDS } from './ledger-end.ts';
import type { RunPaths } from './paths.ts';
import { ensureKey, readSealed, type Sealed, seal } from './seal.ts';

export interface Head {
  /** Bytes of the ledger. */
  readonly offset: number;
  /** The hash of its last line. */
  readonly prev: string;
  /** The line that is being written: its bytes with the line break, and its hash. */
  readonly next?: { readonly bytes: number; readonly hash: string };
  /** Words of the agent may follow: they are many, prove nothing, and are the agent's own. */
  readonly isOpen?: true;
  /** It did not fit at some time, and was continued all the same. */
  readonly changed?: string;
  /** Since when the machine runs that wrote it. */
  readonly boot?: string;
}

type Place = Pick<RunPaths, 'events' | 'key'> & { readonly state: Pick<RunPaths['state'], 'head'> };

export interface HeadWriter {
  /** Ahead of a line. */
  expect(head: Head): void;
  close(): void;
}

/** What a crash left of its last line is cut off. That it did not fit when it was continued stays on record. */
export function continueHead(place: Place): HeadWriter {
  const reading = readHead(place);
  const misfit =
    reading.kind === 'fits'
      ? (reading.head.changed ?? misfitOf(place, reading.head))
      : fileSize(place.events) > 0
        ? 'it was continued without a record of what it held before'
        : undefined;
  cutHalfLine(place.events);
  const now = { offset: fileSize(place.events), prev: lastEntry(place.events).prev };
  return openHead(place, now, misfit);
}

/** Every record has the same length and is written in one call over the one before: there is never half of one. */
const RECORD = 512;
const LONGEST_WORDS = 150;
const LONGEST_LINE = 64 * 1024 * 1024;

/** `now`: where the ledger ends. Throws when the state folder cannot be written. */
export function openHead(
  { state: { head: path }, key: keyFile }: Place,
  now: Head,
  changed?: string,
): HeadWriter {
  const key = ensureKey(keyFile);
  const taint = changed !== undefined && { changed: changed.replace(/[^ -~]/g, '?').slice(0, LONGEST_WORDS) };
  const boot = bootName();
  const fixed = { ...taint, ...(boot !== undefined && { boot }) };
  const recordOf = (head: Head) => seal(key, path, JSON.stringify({ ...head, ...fixed }).padEnd(RECORD - 66));
  ensureFolder(dirname(path));
  writeWhole(path, recordOf(now));
  const fd = openSync(path, 'r+');
  let isOpen = false;
  return {
    expect(head) {
      if (head.isOpen && isOpen) return;
      isOpen = head.isOpen === true;
      writeSync(fd, recordOf(head), 0);
    },
    close: () => closeSync(fd),
  };
}

export type HeadReading =
  | Exclude<Sealed, { readonly kind: 'fits' }>
  | { readonly kind: 'fits'; readonly head: Head };

export function readHead({ state, key }: Place): HeadReading {
  const sealed = readSealed(key, state.head);
  if (sealed.kind !== 'fits') return sealed;
  const found = parseObject(sealed.text);
  const next = objectAt(found, 'next');
  const [offset, prev] = [countAt(found, 'offset'), stringAt(found, 'prev')];
  const [bytes, hash] = [countAt(next, 'bytes'), stringAt(next, 'hash')];
  const more = defined({ changed: stringAt(found, 'changed'), boot: stringAt(found, 'boot') });
  if (offset === undefined || prev === undefined) return { kind: 'damaged' };
  const expected = bytes !== undefined && hash !== undefined && { next: { bytes, hash } };
  const open = found?.isOpen === true && ({ isOpen: true } as const);
  return { kind: 'fits', head: { offset, prev, ...expected, ...open, ...more } };
}

/** Whether anything was ever written to the ledger, as far as that can be known; of a run without records it is taken for granted. */
export function hadLines(place: Place & Pick<RunPaths, 'state'>): boolean {
  const reading = readHead(place);
  if (reading.kind === 'fits') return reading.head.offset > 0;
  return reading.kind !== 'missing' || !existsSync(place.state.record);
}

/** Changes when the machine starts; undefined where that cannot be seen. */
function bootName(): string | undefined {
  return tryTo(() => readIfThere('/proc/sys/kernel/random/boot_id'))
    ?.trim()
    .slice(0, 8);
}

/** What is wrong with the end of a ledger; undefined: it fits. A last line that was cut off is the mark of a crash. */
export function misfitOf(place: Pick<Place, 'events'>, head: Head): string | undefined {
  const misfit = differenceOf(place, head);
  if (misfit === undefined || head.boot === bootName()) return misfit;
  return `${misfit} (the machine was started anew since: a power cut can do this)`;
}

function differenceOf({ events }: Pick<Place, 'events'>, head: Head): string | undefined {
  if (!existsSync(events)) return head.offset === 0 ? undefined : 'it is gone';
  const { offset, prev, next } = head;
  const size = fileSize(events);
  if (size < offset) return `${offset - size} bytes are missing at its end`;
  if (offset > 0 && !endsWith(events, offset, prev)) return 'its last line is not the one that was written';
  const added = size - offset;
  // What has no line break yet is no line: a crash left it, and nobody believes it.
  if (added === 0 || (added < LONGEST_LINE && !readSlice(events, offset, added).includes('\n')))
    return undefined;
  if (next && added >= next.bytes && endsWith(events, offset + next.bytes, next.hash)) {
    const rest = added - next.bytes;
    if (rest === 0 || !readSlice(events, offset + next.bytes, rest).includes('\n')) return undefined;
  }
  if (head.isOpen && areWords(readSlice(events, offset, added), prev)) return undefined;
  return `${added} bytes at its end are not what was written`;
}

/** Whole lines, each of which follows from the one before it; what is cut off at the end is no line. */
function areWords(text: string, after: string): boolean {
  let prev = after;
  return text
    .split('\n')
    .slice(0, -1)
    .every(line => {
      const entry = parseObject(line); // a field may be there twice: what counts is what a reader takes
      const isWords = entry?.type === 'agent' && stringAt(objectAt(entry, 'event'), 'kind') !== 'usage';
      const follows = isWords && WORDS.exec(line)?.[1] === prev;
      prev = hashOf(line);
      return follows;
    });
}

function endsWith(path: string, offset: number, hash: string): boolean {
  const line = lineEndingAt(path, offset);
  return line !== undefined && hashOf(line) === hash;
}
