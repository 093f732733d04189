/** SHA-256 as FIPS 180-4 has it, for a process that ends before Node's own would have been loaded. */

/** In hexadecimal. */
export function sha256Here(content: Uint8Array): string {
  const blocks = padded(content);
  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  for (let at = 0; at < blocks.byteLength; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = blocks.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) words[i] = extended(words, i);
    compress(state, words);
  }
  return [...state].map(word => word.toString(16).padStart(8, '0')).join('');
}

/** A one, zeros, and the length in bits, to a multiple of 64 bytes. */
function padded(content: Uint8Array): DataView {
  const bytes = new Uint8Array(64 * Math.ceil((content.length + 9) / 64));
  bytes.set(content);
  bytes[content.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(content.length / 2 ** 29));
  view.setUint32(bytes.length - 4, content.length << 3);
  return view;
}

function extended(words: Uint32Array, i: number): number {
  const [early, late] = [words[i - 15] as number, words[i - 2] as number];
  const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
  const second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
  return (words[i - 16] as number) + first + (words[i - 7] as number) + second;
}

function compress(state: Uint32Array, words: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const high = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const one = (h + high + ((e & f) ^ (~e & g)) + (ROUNDS[i] as number) + (words[i] as number)) | 0;
    const low = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => {
    state[i] = (state[i] as number) + value;
  });
}

const turn = (value: number, by: number) => (value >>> by) | (value << (32 - by));

/** The first bits behind the point of the roots of the first primes: square roots to start from, cube roots for the rounds. */
const PRIMES = primes(64);
const START = PRIMES.slice(0, 8).map(prime => fraction(Math.sqrt(prime)));
const ROUNDS = Uint32Array.from(PRIMES, prime => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function primes(count: number): readonly number[] {
  const found: number[] = [];
  for (let next = 2; found.length < count; next++)
    if (found.every(prime => next % prime !== 0)) found.push(next);
  return found;
}
