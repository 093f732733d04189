/**
 * What the hooks of an agent say to the run that started it: a line each, in a file beside the ledger. The ledger itself is
 * a chain with one writer, and hooks are processes of their own.
 */
import type { RunEvent } from '../domain/run/event.ts';
import { appendPrivate, fileSize, readSlice, tryTo } from '../platform/files.ts';

/** The file is in the agent's reach: no more than this may come of it. */
export type HookNote = Extract<RunEvent, { readonly type: 'violation' | 'notice' }>;

/** Never the reason that a hook fails. */
export function leaveNote(path: string, note: HookNote): void {
  // a full disk, a folder swept away
  tryTo(() => appendPrivate(path, `${JSON.stringify(note)}\n`));
}

const MOST = 1024 * 1024;
const LONGEST = 2_000;

/** Gives the notes left since the last call, and those before it was made to nobody. */
export function createNoteReader(path: string): () => readonly HookNote[] {
  let position = fileSize(path);
  return () => {
    if (fileSize(path) <= position) return []; // asked after every tool, and there is hardly ever one
    const text = readSlice(path, position, MOST);
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    position += Buffer.byteLength(whole);
    return whole.split('\n').flatMap(noteIn);
  };
}

function noteIn(line: string): readonly HookNote[] {
  try {
    const { type, violation, level, text } = JSON.parse(line);
    if (type === 'notice' && typeof text === 'string') {
      return [{ type, level: level === 'info' ? 'info' : 'warning', text: text.slice(0, LONGEST) }];
    }
    if (type !== 'violation' || typeof violation?.what !== 'string') return [];
    const { what } = violation;
    return [{ type, violation: { what: what.slice(0, LONGEST), restored: true, refused: true } }];
  } catch {
    return [];
  }
}
