/** Finds the places of many words in one pass over a text: by their first three letters, hashed. */

export interface Trigrams {
  /** Calls `found` with each place at which one of the words may begin, in order. */
  each(text: string, found: (at: number) => void): void;
}

/** Each letter moves the hash on by five bits, so that fifteen bits hold three letters. */
const BITS = 0x7fff;

/** Words of three letters or more. */
export function createTrigrams(words: readonly string[]): Trigrams {
  const begins = new Uint8Array(BITS + 1);
  for (const word of words) {
    let hash = 0;
    for (let at = 0; at < 3; at++) hash = ((hash << 5) ^ word.charCodeAt(at)) & BITS;
    begins[hash] = 1;
  }
  return {
    each(text, found) {
      if (words.length === 0) return;
      let hash = 0;
      for (let at = 0; at < text.length; at++) {
        hash = ((hash << 5) ^ text.charCodeAt(at)) & BITS;
        if (begins[hash] === 1 && at >= 2) found(at - 2);
      }
    },
  };
}
