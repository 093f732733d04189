/** Reading a host's transcript: its end, and the tool calls since the last look. The cost does not grow with its length. */
import { type Json, parseObject, stringAt } from '../domain/text/json.ts';
import { fileSize, readBytes, readSlice, tryTo } from '../platform/files.ts';
import type { TranscriptCalls } from './dialect.ts';

const LOOK_EVERY = 10;
const WINDOW = 256 * 1024;

/** Looks again and again until there is something, or the patience (milliseconds) is over. */
export async function waitFor<Found>(
  patience: number,
  look: () => Found | undefined,
): Promise<Found | undefined> {
  for (const until = performance.now() + patience; ; ) {
    const found = look();
    if (found !== undefined || performance.now() >= until) return found;
    await new Promise(resolve => setTimeout(resolve, LOOK_EVERY));
  }
}

/** The records at the end of a file of JSON lines; what the window or the host has cut is left out. */
export function lastRecords(path: string, window = WINDOW): readonly Json[] {
  return recordsIn(lastText(path, window));
}

/** Those of them that were written when the file was longer than that; all, where it is another file by now. */
export function recordsSince(path: string, since: number): readonly Json[] {
  const size = transcriptSize(path);
  return recordsIn(lastText(path, size < since ? WINDOW : Math.min(WINDOW, size - since)));
}

function recordsIn(text: string): readonly Json[] {
  return text
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(parseObject)
    .filter(record => record !== undefined);
}

export function lastText(path: string, window = WINDOW): string {
  // a folder, a path that is none, a file that is not ours to read
  return tryTo(() => readSlice(path, Math.max(0, fileSize(path) - window), window)) ?? '';
}

/** 0 when there is none, or none that can be read. */
export function transcriptSize(path: string | null): number {
  return tryTo(() => (path === null ? 0 : fileSize(path))) ?? 0;
}

export interface CountedCalls {
  readonly calls: number;
  /** Where the next count begins: behind the last whole line. */
  readonly end: number;
}

/**
 * The tool calls in a transcript from a position on, made at `since` (milliseconds) or later. Only what is new is read,
 * since every count begins where the last one ended. A file that is shorter than that, or has no line beginning there, is
 * another one: it is read from its start, and `since` keeps out what was before the loop.
 */
export function countCalls(
  path: string,
  from: number,
  since: number,
  { clue, idsIn, unknownClue, unknownIn }: TranscriptCalls,
): CountedCalls {
  const found = new Set<string>();
  const start = Math.max(startIn(path, from), fileSize(path) - MOST_READ);
  const end = eachLine(path, start, clue, line => {
    const record = parseObject(line);
    // A record without a time is new: the position says so.
    if (!record || Date.parse(stringAt(record, 'timestamp') ?? '') < since) return;
    for (const id of idsIn(record)) found.add(id || `${found.size}`);
  });
  if (found.size > 0)
    eachLine(path, start, unknownClue, line => {
      for (const id of unknownIn(parseObject(line) ?? {})) found.delete(id);
    });
  return { calls: found.size, end };
}

function startIn(path: string, from: number): number {
  if (from === 0) return 0;
  return fileSize(path) >= from && readBytes(path, from - 1, 1)[0] === LINE_FEED ? from : 0;
}

const LINE_FEED = 10;
const PAGE = 1024 * 1024;
const LONGEST_LINE = 64 * PAGE;
/** More than a turn ever writes: the host does not wait longer for a hook because somebody has let its transcript grow. */
const MOST_READ = 1024 * PAGE;

/** Gives every whole line that holds the clue; returns where the last whole line ends. */
function eachLine(path: string, start: number, clue: string, onLine: (line: string) => void): number {
  let position = start;
  for (let size = PAGE; ; ) {
    const page = readBytes(path, position, size);
    const end = page.lastIndexOf(LINE_FEED) + 1;
    if (end === 0 && page.length === size && size < LONGEST_LINE) {
      size *= 2; // a line that is longer than the page
      continue;
    }
    const whole = page.subarray(0, end);
    for (let at = whole.indexOf(clue); at >= 0; ) {
      const lineEnd = whole.indexOf(LINE_FEED, at);
      onLine(whole.toString('utf8', whole.lastIndexOf(LINE_FEED, at) + 1, lineEnd));
      at = whole.indexOf(clue, lineEnd);
    }
    // Behind a line that is too long for any call, the next page begins in its middle.
    position += end === 0 && page.length === size ? size : end;
    if (page.length < size) return position;
    size = PAGE;
  }
}
