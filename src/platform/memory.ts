/** Keeping small while a flood goes by: what is read and not kept is no use to anybody. */
import { setFlagsFromString } from 'node:v8';

/**
 * The buffer is empty afterwards: for a chunk that was read, used and not kept. The collector would let tens of megabytes of
 * them pile up before it looked.
 */
export function giveBack(buffer: Buffer): void {
  // A smaller one may be a part of a pool that others use too.
  if (buffer.length < WORTH_IT || buffer.buffer.byteLength !== buffer.length) return;
  nowhere ??= closedPort();
  nowhere.postMessage(undefined, [buffer.buffer as ArrayBuffer]);
}

const WORTH_IT = 16 * 1024;

type Port = InstanceType<typeof MessageChannel>['port1'];

let nowhere: Port | undefined;

/** What is moved through a closed port arrives nowhere, and its memory is free. */
function closedPort(): Port {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

/** So many bytes have gone by: a flood, of which nothing is kept. */
export function wentBy(bytes: number): void {
  gone += bytes;
  if (gone >= FLOOD) stayLean();
}

/**
 * Much short-lived garbage makes the collector grow its nursery, to 48 MB in the end: from now on it stays as small as it is.
 * Not from the start: a nursery that is too small costs time.
 */
export function stayLean(): void {
  if (isLean) return;
  isLean = true;
  setFlagsFromString('--semi-space-growth-factor=1');
}

const FLOOD = 16 * 1024 * 1024;

let gone = 0;
let isLean = false;
