/** A ledger as lines for people. What another version wrote, or what is damaged, is shown as unknown. */
import type { RunEvent } from '../domain/event.ts';
import { type KnownEntry, knownEntry, type RawEntry, unknownEntryWords } from '../domain/ledger-entry.ts';
import { createFormatter } from './format.ts';
import type { Style } from './style.ts';
import { asText, labelled, NO_LABEL, summaryLines } from './summary.ts';

export interface LedgerLines {
  lines(entry: RawEntry): readonly string[];
  /** The words that wait for the end of their line. */
  rest(now: number): readonly string[];
}

export function createLedgerLines(style: Style, isWanted: (event: RunEvent) => boolean): LedgerLines {
  const formatter = createFormatter(style);
  let label = NO_LABEL;
  const linesOf = (entry: KnownEntry): readonly string[] => {
    label = labelled(label, entry);
    if (!isWanted(entry)) return [];
    const lines = formatter.lines(entry, Date.parse(entry.at));
    return entry.type === 'run-ended' ? [...lines, '', ...asText(summaryLines(entry.result, label))] : lines;
  };
  const unknown = (entry: RawEntry): readonly string[] => {
    const event: RunEvent = { type: 'notice', level: 'warning', text: unknownEntryWords(entry) };
    return isWanted(event)
      ? formatter.lines(event, typeof entry.at === 'string' ? Date.parse(entry.at) || 0 : 0)
      : [];
  };
  return {
    rest: now => formatter.rest(now),
    lines(entry) {
      const known = knownEntry(entry);
      try {
        return known ? linesOf(known) : unknown(entry);
      } catch {
        return unknown(entry); // how deep the damage goes only shows here
      }
    },
  };
}
