/** What a check printed, cut for the prompt: its log may be far larger than what is wanted of it. */
import { fstatSync, readSync } from 'node:fs';
import { excerptOf, type Room } from '../domain/failure.ts';
import type { Redact } from '../domain/secrets.ts';

/** A character takes four bytes at most. */
const BYTES = 4;
/** A failure is looked for in so many bytes at either end of a log. */
const SEARCHED = 1024 * 1024;

export interface Excerpt {
  readonly text: string;
  readonly cut: boolean;
}

/**
 * From the open file, not from its path: what is at the path may be something else by now.
 * Secrets go first: a cut could leave half of one.
 */
export function readExcerpt(fd: number, { passed, ...room }: Room, redact: Redact): Excerpt {
  const { size } = fstatSync(fd);
  const bytes = Math.max(passed ? 0 : SEARCHED, room.chars * BYTES);
  const [first, last] = size <= 2 * bytes ? [size, 0] : [bytes, bytes];
  const text = read(fd, 0, first) + read(fd, size - last, last).replace(/^\uFFFD{1,3}/, '');
  return excerptOf(redact(text), { ...room, passed });
}

function read(fd: number, from: number, bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  return buffer.toString('utf8', 0, readSync(fd, buffer, 0, bytes, from));
}
