/** The beginning or the end of a log that may be far larger than what is wanted of it. */
import { fstatSync, readSync } from 'node:fs';

export interface Excerpt {
  readonly chars: number;
  readonly from: 'head' | 'tail';
}

/** A character takes four bytes at most. */
const BYTES = 4;

/** From the open file, not from its path: what is at the path may be something else by now. */
export function excerptOf(
  fd: number,
  { chars, from }: Excerpt,
): { readonly text: string; readonly cut: boolean } {
  const { size } = fstatSync(fd);
  const bytes = Math.min(size, chars * BYTES);
  const buffer = Buffer.alloc(bytes);
  const read = readSync(fd, buffer, 0, bytes, from === 'head' ? 0 : size - bytes);
  const text = buffer.toString('utf8', 0, read);
  if (bytes === size && text.length <= chars) return { text, cut: false };
  return { text: from === 'head' ? head(text, chars) : tail(text, chars), cut: true };
}

function head(text: string, chars: number): string {
  return text.slice(0, isHighSurrogate(text.charCodeAt(chars - 1)) ? chars - 1 : chars);
}

/** What is cut in the middle of a character begins with a sign of that. */
function tail(text: string, chars: number): string {
  const from = Math.max(0, text.length - chars);
  const end = text.slice(isHighSurrogate(text.charCodeAt(from - 1)) ? from + 1 : from);
  return end.replace(/^\uFFFD{1,3}/, '');
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
