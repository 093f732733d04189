/**
 * A line of a ledger may have been written by another version, or by an attacker. What does not have the shape of its
 * type is not that event: readers show it as an unknown line, and nothing is derived from it.
 */

import { number, text } from '../text/json.ts';
import { type RunEvent, runEvent } from './event.ts';

export type KnownEntry = { readonly seq: number; readonly at: string } & RunEvent;

export type RawEntry = {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  /** On the steady clock of the part of the run that wrote it. */
  readonly ticks?: number;
};

/** null: not an event of this version, or damaged. */
export function knownEntry(entry: RawEntry): KnownEntry | null {
  const isKnown =
    number.fits(entry.seq) &&
    text.fits(entry.at) && // an object may have no way to become a text
    !Number.isNaN(Date.parse(entry.at)) &&
    (entry.ticks === undefined || number.fits(entry.ticks)) &&
    runEvent.fits(entry);
  return isKnown ? (entry as KnownEntry) : null;
}

const ENVELOPE: ReadonlySet<string> = new Set([
  'seq',
  'at',
  'ticks',
  'type',
  'prev',
  'run',
  'iteration',
  'format',
]);

/** A line that this version cannot read, with all that it holds: better than to hide it. */
export function unknownEntryWords(entry: RawEntry): string {
  const rest = Object.entries(entry).filter(([key]) => !ENVELOPE.has(key));
  return `Unknown event "${typeText(entry)}": ${JSON.stringify(Object.fromEntries(rest))}`;
}

/** The type of a line that may be damaged. */
export function typeText({ type }: { readonly type: unknown }): string {
  return typeof type === 'string' ? type : String(JSON.stringify(type));
}
