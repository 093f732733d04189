/**
 * SHA-256 in JavaScript (FIPS 180-4), for a program that hashes a few short texts and ends: to load node's own takes longer than all of
 * its work. The result is the same; test/platform/hash.test.ts compares them.
 */

/** The first 32 bits of the fractions of roots of the first primes: square roots to begin with, cube roots for each round. */
const [START, ROUNDS] = constants();

function constants(): readonly [Int32Array, Int32Array] {
  const fraction = (root: number) => ((root - Math.floor(root)) * 2 ** 32) | 0;
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every(prime => n % prime !== 0)) primes.push(n);
  return [
    Int32Array.from(primes.slice(0, 8), prime => fraction(Math.sqrt(prime))),
    Int32Array.from(primes, prime => fraction(Math.cbrt(prime))),
  ];
}

export function sha256Of(message: Uint8Array): Uint8Array {
  const blocks = Math.ceil((message.length + 9) / 64);
  const padded = new DataView(new ArrayBuffer(blocks * 64));
  new Uint8Array(padded.buffer).set(message);
  padded.setUint8(message.length, 0x80);
  padded.setUint32(blocks * 64 - 8, Math.floor(message.length / 2 ** 29));
  padded.setUint32(blocks * 64 - 4, message.length << 3);
  const hash = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let block = 0; block < blocks; block++) addBlock(hash, words, padded, block * 64);
  const result = new DataView(new ArrayBuffer(32));
  for (const [at, word] of hash.entries()) result.setInt32(at * 4, word);
  return new Uint8Array(result.buffer);
}

const turn = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));
const at = (words: Int32Array, index: number) => words[index] as number;

function addBlock(hash: Int32Array, words: Int32Array, message: DataView, offset: number): void {
  for (let i = 0; i < 16; i++) words[i] = message.getInt32(offset + i * 4);
  for (let i = 16; i < 64; i++) {
    const [a, b] = [at(words, i - 15), at(words, i - 2)];
    const small = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
    const big = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
    words[i] = at(words, i - 16) + small + at(words, i - 7) + big;
  }
  let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(i => at(hash, i)) as Eight;
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + at(ROUNDS, i) + at(words, i)) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i] = at(hash, i) + word;
}

type Eight = [number, number, number, number, number, number, number, number];

const BLOCK = 64;

/** HMAC (RFC 2104) with it. */
export function hmacOf(key: Uint8Array, message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(BLOCK);
  padded.set(key.length > BLOCK ? sha256Of(key) : key);
  const inner = sha256Of(Buffer.concat([padded.map(byte => byte ^ 0x36), message]));
  return sha256Of(Buffer.concat([padded.map(byte => byte ^ 0x5c), inner]));
}
