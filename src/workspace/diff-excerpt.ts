/** The beginning of a diff of any length, and how much is missing. Holds no more than what is shown. */
import { StringDecoder } from 'node:string_decoder';

export interface Excerpt {
  /** When it was cut, the last line says so. */
  readonly text: string;
  readonly cut: boolean;
  /** How long the whole would have been; at least so long where it was too long to be counted. */
  readonly chars: number;
}

export interface ExcerptBuilder {
  read(chunk: Buffer): 'more' | 'enough';
  /** A line after the diff about one file more. */
  remark(line: string): void;
  /** `handed` is how many files the diff is of, `left` how many it does not even begin with. */
  end(files: { readonly handed: number; readonly left: number }): Excerpt;
}

/** So far beyond what is shown we still count. */
const COUNTED = 1_000_000;

export function startExcerpt(maxChars: number): ExcerptBuilder {
  const decoder = new StringDecoder('utf8');
  let text = '';
  let chars = 0;
  let remarks = 0;
  const add = (piece: string) => {
    if (text.length < maxChars + 1) text += piece.slice(0, maxChars + 1 - text.length);
    chars += piece.length;
  };
  return {
    read(chunk) {
      add(decoder.write(chunk));
      return chars > maxChars + COUNTED ? 'enough' : 'more';
    },
    remark(line) {
      remarks++;
      add(`${line}\n`);
    },
    end({ handed, left }) {
      const isLonger = chars > maxChars;
      if (!isLonger && left === 0) return { text, cut: false, chars };
      const shown = isLonger ? wholeLines(text, maxChars) : text;
      const files = (isLonger ? handed + remarks - filesIn(shown) : 0) + left;
      const uncounted = chars > maxChars + COUNTED || left > 0;
      const notice = cutNotice({ chars: chars - shown.length, files, uncounted });
      return { text: `${shown}${notice}\n`, cut: true, chars };
    },
  };
}

/** Cut where a line ends, unless a very long line would be lost by that. */
function wholeLines(text: string, maxChars: number): string {
  const end = text.lastIndexOf('\n', maxChars - 1) + 1;
  if (end * 4 >= maxChars * 3) return text.slice(0, end);
  const half = /[\ud800-\udbff]$/.test(text.slice(0, maxChars)) ? 1 : 0;
  return `${text.slice(0, maxChars - half)}\n`;
}

/** Every line of content has a sign before it: only headers and remarks begin so. */
function filesIn(text: string): number {
  return text.match(/^(diff --git |rename from |new: |changed: )/gm)?.length ?? 0;
}

interface Missing {
  readonly chars: number;
  readonly files: number;
  readonly uncounted: boolean;
}

function cutNotice({ chars, files, uncounted }: Missing): string {
  const much = `${uncounted ? 'more than ' : ''}${Math.max(0, chars)} characters`;
  const many =
    files > 0 ? `, among them ${files} ${files === 1 ? 'file' : 'files'} of which nothing is shown` : '';
  return `[the diff is cut here: ${much} are missing${many}]`;
}
