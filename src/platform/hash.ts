/** The one hash that names things here. */
import { createRequire } from 'node:module';

let crypto: typeof import('node:crypto') | undefined;

/** In hexadecimal. In one call where node has one, from 20.12 on: the ledger asks for every line. */
export function sha256(content: string | Buffer): string {
  // Not imported: there is no name for what an older node does not have.
  crypto ??= createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  if (crypto.hash) return crypto.hash('sha256', content, 'hex');
  return crypto.createHash('sha256').update(content).digest('hex');
}

/** With a key: whoever does not have it cannot write a text that fits. */
export function signature(key: string, content: string): string {
  crypto ??= createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  return crypto.createHmac('sha256', key).update(content).digest('hex');
}
