/** Keeps the process small while it reads a flood of output, or runs for long. */
import { setFlagsFromString } from 'node:v8';

/** Reports so many bytes of output that were read and are garbage now. */
export function noteGarbage(bytes: number): void {
  total += bytes;
  if (total >= FLOOD) stayLean();
}

/**
 * Much short-lived garbage makes V8 grow its young generation, to 48 MB in the end: from now on it stays as it is.
 * Not from the start: a young generation that is too small costs time.
 */
export function stayLean(): void {
  if (isLean) return;
  isLean = true;
  setFlagsFromString('--semi-space-growth-factor=1');
}

const FLOOD = 16 * 1024 * 1024;

let total = 0;
let isLean = false;
