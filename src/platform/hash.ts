/** The one hash that names things here. */
import { createRequire } from 'node:module';
import { hmacOf, sha256Of } from './sha256.ts';

let crypto: typeof import('node:crypto') | undefined;

/** Node's own is fast, and takes milliseconds to load: who hashes little, as a hook does, is done before. */
const FEW = 64;
const SHORT = 32 * 1024;
let hashed = 0;

function isWorthNode(length: number): boolean {
  if (crypto) return true;
  hashed += length > SHORT ? FEW : 1;
  return hashed > FEW;
}

function loaded(): typeof import('node:crypto') {
  // Not imported: there is no name for what an older node does not have.
  crypto ??= createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  return crypto;
}

/** In hexadecimal. In one call where node has one, from 20.12 on: the ledger asks for every line. */
export function sha256(content: string | Buffer): string {
  if (!isWorthNode(content.length)) return hex(sha256Of(Buffer.from(content)));
  const { hash, createHash } = loaded();
  if (hash) return hash('sha256', content, 'hex');
  return createHash('sha256').update(content).digest('hex');
}

/** With a key: whoever does not have it cannot write a text that fits. */
export function signature(key: string, content: string): string {
  if (!isWorthNode(content.length)) return hex(hmacOf(Buffer.from(key), Buffer.from(content)));
  return loaded().createHmac('sha256', key).update(content).digest('hex');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
