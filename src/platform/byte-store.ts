/** Bytes in one piece that grows as more come, and is used again when they are done with. */
import { giveBack } from './memory.ts';

export interface ByteStore {
  /** A copy is kept. */
  push(bytes: Buffer, from: number, to: number): void;
  length(): number;
  /** One character for each byte. */
  latin1(): string;
  /** Bytes that are not UTF-8 become U+FFFD. */
  text(most?: number): string;
  /** Lends all of it to somebody. */
  passOn(to: Pick<ByteStore, 'push'>): void;
  clear(): void;
}

const FIRST = 4 * 1024;
/** When it is cleared, more than this is not kept for the next time. */
const KEPT = 1024 * 1024;

export function createByteStore(): ByteStore {
  let store = NOTHING;
  let length = 0;
  const grow = (needed: number) => {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * store.length, FIRST));
    store.copy(larger, 0, 0, length);
    giveBack(store);
    store = larger;
  };
  return {
    push(bytes, from, to) {
      const needed = length + to - from;
      if (needed > store.length) grow(needed);
      bytes.copy(store, length, from, to);
      length = needed;
    },
    length: () => length,
    latin1: () => store.toString('latin1', 0, length),
    text: (most = length) => store.toString('utf8', 0, Math.min(length, most)),
    passOn: to => void (length > 0 && to.push(store, 0, length)),
    clear() {
      length = 0;
      if (store.length <= KEPT) return;
      giveBack(store);
      store = NOTHING;
    },
  };
}

const NOTHING = Buffer.alloc(0);
