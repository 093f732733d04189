/** The one hash that names things here. */
import { hash } from 'node:crypto';

/** In hexadecimal; in one call, for the ledger asks for every line. */
export function sha256(content: string | Buffer): string {
  return hash('sha256', content, 'hex');
}
