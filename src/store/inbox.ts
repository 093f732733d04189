/**
 * Messages to a run: a file each in a folder of the user's, oldest first by name. Whoever drives the run acts on them and removes them.
 * What is put into the run's folder in the project is nobody's message: the agent can write there.
 */

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isRound, ROUND } from '../domain/forge/forge-event.ts';
import { isCommit } from '../domain/text/commit.ts';
import { parseObject } from '../domain/text/json.ts';
import { ensureFolder, namesIn, readSlice, writeAtomic } from '../platform/files.ts';
import type { RunPaths } from './paths.ts';

type Place = { readonly state: Pick<RunPaths['state'], 'inbox'> };

export type Message =
  | { readonly kind: 'pause' }
  | { readonly kind: 'continue' }
  /** `gently`: the step that it is in may finish. */
  | { readonly kind: 'cancel'; readonly gently: boolean }
  | Hint
  /** To the question of a story. */
  | { readonly kind: 'answer'; readonly story: string; readonly text: string };

/** For the prompt of the next iteration. */
export interface Hint {
  readonly kind: 'tell';
  readonly text: string;
  /** A pull request asks for it, under this name, until the run is proven. */
  readonly round?: string;
  /** Of a unit: the commit that its next worker begins with. */
  readonly carry?: string;
}

export type Received = Message & { readonly id: string };

/** Characters; a longer text belongs into a file of the project. */
export const LONGEST_TEXT = 100_000;

const NAME = /^\d{14}-[0-9a-f]{8}\.json$/;
const MOST_BYTES = 8 * LONGEST_TEXT;

/** Whole or not at all: a run never reads half a message. */
export function sendMessage(place: Place, message: Message, now: number): void {
  putMessage(place, message, messageId(now, randomBytes(4).toString('hex')));
}

/** Under a name that was given to it elsewhere: sent twice, it is there once. */
export function putMessage({ state: { inbox } }: Place, message: Message, id: string): void {
  ensureFolder(inbox);
  writeAtomic(join(inbox, id), JSON.stringify(message));
}

/** `own`: eight hexadecimal digits. */
export function messageId(now: number, own: string): string {
  return `${String(Math.floor(now)).padStart(14, '0')}-${own}.json`;
}

/**
 * What a pull request asks for: in every prompt until the run is proven again. Its name is before every message of the user, and the same
 * when it is prepared twice. `own`: eight hexadecimal digits.
 */
export function putRound(place: Place, hint: Pick<Hint, 'text' | 'carry'>, own: string): void {
  putMessage(place, { kind: 'tell', ...hint }, roundId(own));
}

export function roundId(own: string): string {
  return `${ROUND}${own}.json`;
}

/** Whether one was prepared that the run was not proven with: `last` is its last iteration, where it is proven. */
export function hasRound(
  place: Place,
  last: { readonly hints: readonly { readonly id: string }[] } | undefined,
): boolean {
  return readMessages(place).some(
    message => isRound(message) && !last?.hints.some(({ id }) => id === message.id),
  );
}

/** What it asks for, to be sent to whoever works on the run elsewhere. */
export function readRounds(place: Place): readonly Hint[] {
  return readMessages(place)
    .filter(isRound)
    .flatMap(each => (each.kind === 'tell' ? [{ ...each, round: each.id.slice(ROUND.length, -5) }] : []));
}

/** The same as one text; empty: nothing. */
export function roundText(place: Place): string {
  return readRounds(place)
    .map(({ text }) => text)
    .join('\n\n');
}

export function removeRounds(place: Place): void {
  for (const message of readMessages(place)) if (isRound(message)) removeMessage(place, message.id);
}

/** Those that nobody has acted on yet. A file that is none is left alone. */
export function readMessages({ state: { inbox } }: Place): readonly Received[] {
  return namesIn(inbox)
    .filter(name => NAME.test(name))
    .flatMap(id => {
      const message = parseMessage(readSlice(join(inbox, id), 0, MOST_BYTES));
      return message ? [{ ...message, id }] : [];
    });
}

export function removeMessage({ state: { inbox } }: Place, id: string): void {
  rmSync(join(inbox, id), { force: true });
}

/** undefined: it is none. Also for what comes in over the wire. */
export function parseMessage(text: string): Message | undefined {
  const { kind, gently, story, text: words, carry } = parseObject(text) ?? {};
  switch (kind) {
    case 'pause':
    case 'continue':
      return { kind };
    case 'cancel':
      return { kind, gently: gently === true };
    case 'tell':
      return isText(words) ? { kind, text: words, ...(isCommit(carry) && { carry }) } : undefined;
    case 'answer':
      return isText(words) && isText(story) ? { kind, story, text: words } : undefined;
    default:
      return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_TEXT;
}
