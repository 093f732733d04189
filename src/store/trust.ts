/** Whether a ledger is what Ralph wrote: the one answer that every reader gives. */
import { dirname } from 'node:path';
import { parseObject } from '../domain/json.ts';
import type { LedgerTrust } from '../domain/ledger-trust.ts';
import { fileSize, readIfThere, tryTo } from '../platform/files.ts';
import { type Head, misfitOf, readHead } from './head.ts';
import type { RunPaths } from './paths.ts';
import { changesSince, readRecord } from './run-record.ts';
import { isBelow } from './state-check.ts';

/**
 * Looks at the end of the ledger only: whoever reads it whole adds what is wrong between its lines (`trustWith`). The last line
 * carries the hash of all before it.
 */
export function ledgerTrust(paths: RunPaths): LedgerTrust {
  const root = dirname(dirname(dirname(paths.folder)));
  if (isBelow(root, dirname(paths.key)))
    return { kind: 'elsewhere', why: 'the state folder is inside the project' };
  const record = readRecord(paths);
  const end = endOf(paths, record.kind === 'fits');
  if (record.kind === 'missing' && end.kind === 'missing') return unrecorded(paths);
  for (const each of [record, end]) {
    if (each.kind === 'unreadable') return { kind: 'elsewhere', why: each.why };
  }
  const what = [
    ...(record.kind === 'fits' ? changesSince(paths, record.text) : [recordWords(record.kind)]),
    ...(end.kind === 'fits' ? end.what : [recordWords(end.kind)]),
  ];
  return what.length === 0 ? { kind: 'intact' } : { kind: 'changed', what: [...new Set(what)] };
}

function recordWords(kind: string): string {
  return `the record of it outside the project is ${kind === 'damaged' ? 'damaged' : 'gone'}`;
}

/** A run that was made by a Ralph that keeps records says so. */
function unrecorded(paths: RunPaths): LedgerTrust {
  const file = parseObject(tryTo(() => readIfThere(paths.run)) ?? '');
  return { kind: file && 'recorded' in file ? 'elsewhere' : 'none' };
}

/** Somebody may be writing to it: then the head has moved when it is read again. */
const MOST_LOOKS = 20;

function endOf(paths: RunPaths, isRecorded: boolean) {
  let seen = '';
  for (let look = 1; ; look++) {
    const reading = readHead(paths);
    if (reading.kind === 'missing' && isRecorded && fileSize(paths.events) === 0)
      return { kind: 'fits', what: [] } as const; // it was cut off before its first line
    if (reading.kind !== 'fits') return reading;
    const found = misfits(paths, reading.head);
    const now = JSON.stringify(reading.head);
    if (found.length === 0 || now === seen || look === MOST_LOOKS)
      return { kind: 'fits', what: found } as const;
    seen = now;
  }
}

function misfits(paths: RunPaths, head: Head): readonly string[] {
  const misfit = misfitOf(paths, head);
  return [head.changed, misfit].filter(each => each !== undefined);
}
