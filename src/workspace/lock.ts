/** Locks between processes, and the marks of who works where. One that a dead process left behind does not count. */
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseObject } from '../domain/text/json.ts';
import type { Problem } from '../domain/text/problem.ts';
import { errorCode, errorWords } from '../platform/error-words.ts';
import { ensureFolder, readIfThere } from '../platform/files.ts';
import { isAlive, ourselves, type ProcessId } from '../platform/process-table.ts';

/** Milliseconds between two looks at a lock that somebody holds. */
const LOOK = 20;
/** Eight checkouts of a large repository, one after the other, may take minutes. */
const PATIENCE = 600_000;

/** Runs `action` while nobody else runs one under the same lock. */
export async function withLock<T>(path: string, action: () => Promise<T>): Promise<T | Problem> {
  for (const until = Date.now() + PATIENCE; ; ) {
    const outcome = tryClaim(path);
    if (outcome === 'claimed') break;
    if (typeof outcome === 'object') return outcome;
    if (Date.now() > until) return heldTooLong(path);
    await new Promise(resolve => setTimeout(resolve, LOOK));
  }
  try {
    return await action();
  } finally {
    rmSync(path, { force: true });
  }
}

/** Leaves our mark there, unless a living process has its own. */
export function tryClaim(path: string): 'claimed' | 'held' | Problem {
  try {
    if (claim(path)) return 'claimed';
    if (isHeld(path)) return 'held';
    clearStale(path);
    return claim(path) ? 'claimed' : 'held';
  } catch (error) {
    return { where: path, what: `cannot be locked: ${errorWords(error)}` };
  }
}

/** Makes the file, with who we are in it, unless it is there. */
function claim(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(ourselves()), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Between making the file and writing into it passes a moment; one that stays empty is nobody's. */
const MOMENT = 5_000;

function isHeld(path: string): boolean {
  const owner = readOwner(path);
  if (owner) return isAlive(owner);
  const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  // A clock that was set back may have dated it in the future: that says nothing of who holds it.
  return made !== undefined && Math.abs(Date.now() - made) < MOMENT;
}

/**
 * Two may find the same stale lock. Only one at a time may clear it, and looks again before it does: the other
 * would take away the lock that the first has made since.
 */
function clearStale(path: string): void {
  const clearing = `${path}.clearing`;
  if (!claim(clearing)) {
    if (!isHeld(clearing)) rmSync(clearing, { force: true });
    return;
  }
  try {
    if (!isHeld(path)) rmSync(path, { force: true });
  } finally {
    rmSync(clearing, { force: true });
  }
}

function heldTooLong(path: string): Problem {
  const owner = readOwner(path);
  return {
    where: path,
    what: `has been held for ten minutes by ${owner ? `process ${owner.pid}` : 'another process'}`,
    fix: 'look what it does, and start again when it has ended',
  };
}

/** The living process that has its mark at `path`. */
export function ownerOf(path: string): ProcessId | undefined {
  const owner = readOwner(path);
  return owner && isAlive(owner) ? owner : undefined;
}

/** Leaves our mark there. Call it under a lock. */
export function takeOver(path: string): void {
  ensureFolder(dirname(path));
  rmSync(path, { force: true });
  claim(path);
}

/** Takes our mark away again. */
export function releaseOwner(path: string): void {
  if (readOwner(path)?.pid === process.pid) rmSync(path, { force: true });
}

function readOwner(path: string): ProcessId | undefined {
  const owner = parseObject(readIfThere(path) ?? '');
  return owner && 'pid' in owner && 'started' in owner ? (owner as unknown as ProcessId) : undefined;
}
