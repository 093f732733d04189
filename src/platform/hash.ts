/** The one hash that names things here. */
import { createRequire } from 'node:module';
import { fileSize, readPages, readShort, SHORT } from './files.ts';

let crypto: typeof import('node:crypto') | undefined;

/** In hexadecimal. In one call where node has one, from 20.12 on: the ledger asks for every line. */
export function sha256(content: string | Buffer): string {
  // Not imported: there is no name for what an older node does not have.
  crypto ??= createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  if (crypto.hash) return crypto.hash('sha256', content, 'hex');
  return crypto.createHash('sha256').update(content).digest('hex');
}

/** Of a file of any size, which may be known. */
export function hashOfFile(path: string, size = fileSize(path)): string {
  if (size <= SHORT) return sha256(readShort(path, size));
  crypto ??= createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  const hash = crypto.createHash('sha256');
  readPages(path, page => void hash.update(page));
  return hash.digest('hex');
}

/** As OpenSSH writes it: base64 without padding. */
export function sha256Base64(content: Buffer): string {
  return Buffer.from(sha256(content), 'hex').toString('base64').replace(/=+$/, '');
}
