/** The beginning or the end of a file that may be far larger than what is wanted of it. */
import { fileSize, readSlice } from '../platform/files.ts';

export interface Excerpt {
  readonly chars: number;
  readonly from: 'head' | 'tail';
}

/** A character takes four bytes at most. */
const BYTES = 4;

export function excerptOf(
  path: string,
  { chars, from }: Excerpt,
): { readonly text: string; readonly cut: boolean } {
  const size = fileSize(path);
  const bytes = Math.min(size, chars * BYTES);
  const text = readSlice(path, from === 'head' ? 0 : size - bytes, bytes);
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
