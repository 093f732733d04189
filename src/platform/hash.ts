/** The one hash that names things here. */
import { hash } from 'node:crypto';
import { sha256Here } from './sha256.ts';

/** Loading Node's crypto takes a hook longer than all else that it does; a few lines are hashed sooner without it. */
const FEW = 32;
const SHORT = 16 * 1024;
let done = 0;

/** In hexadecimal; in one call, for the ledger asks for every line. */
export function sha256(content: string | Buffer): string {
  if (done < FEW && content.length < SHORT) {
    done++;
    return sha256Here(Buffer.from(content));
  }
  return hash('sha256', content, 'hex');
}
