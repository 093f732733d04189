/** Puts an answer on the wire: at once, at a gate's opening, cut in the middle, or never. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createGate } from '../gate.ts';
import type { Ending } from './record.ts';
import type { Place, Step } from './script.ts';

export interface Reply extends Pick<Step, 'gate' | 'hang' | 'cut'> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body in the order it is written: one text for each event of a stream. */
  readonly parts: readonly string[];
}

export interface Gates {
  /** Settles when the gate is open; a gate stays open. */
  opened(name: string): Promise<void>;
  release(name: string): void;
}

export function gates(): Gates {
  const waiting = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();
  const gate = (name: string) => {
    const known = waiting.get(name);
    if (known !== undefined) return known;
    const { open, opened } = createGate();
    const made = { opened, open };
    waiting.set(name, made);
    return made;
  };
  return { opened: name => gate(name).opened, release: name => gate(name).open() };
}

/** Never rejects: a client that leaves is an ending, too. */
export async function send(response: ServerResponse, reply: Reply, at: Gates): Promise<Ending> {
  const left = once(response, 'close').then(() => {});
  if (reply.gate !== undefined) await Promise.race([at.opened(reply.gate), left]);
  if (response.destroyed) return 'gone';
  if (reply.hang === true) return left.then(() => 'gone');

  response.writeHead(reply.status, reply.headers);
  response.flushHeaders();
  const place = reply.cut ?? reply.hang;
  if (place === undefined) {
    for (const part of reply.parts) response.write(part);
    response.end();
    await left;
    return response.writableFinished ? 'answered' : 'gone';
  }
  await written(response, upTo(reply.parts, place), left);
  if (reply.cut === undefined) return left.then(() => 'gone');
  response.destroy();
  return 'cut';
}

function upTo(parts: readonly string[], place: Place): Buffer {
  if ('events' in place) return Buffer.from(parts.slice(0, place.events).join(''));
  return Buffer.from(parts.join('')).subarray(0, place.bytes);
}

/** Until the kernel has the bytes: destroying earlier would throw them away. */
function written(response: ServerResponse, bytes: Buffer, left: Promise<void>): Promise<void> {
  if (bytes.length === 0) return Promise.resolve();
  return Promise.race([new Promise<void>(resolve => response.write(bytes, () => resolve())), left]);
}
