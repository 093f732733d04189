/**
 * Who drives a run. The file is in the user's state folder while the run is driven, and its time of change is the heartbeat. The process
 * itself is looked for.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, statSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { countAt, objectAt, parseObject, stringAt, wordAt } from '../domain/text/json.ts';
import { ensureFolder, readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { isAlive, ourselves, type ProcessId } from '../platform/process-table.ts';
import type { RunPaths } from './paths.ts';

type Place = Pick<RunPaths, 'live'>;

export interface LeaseHolder {
  readonly process: ProcessId;
  readonly host: string;
  /** Different for every lease, so that a holder notices when somebody else has taken the run over. */
  readonly token: string;
}

/** Milliseconds. Often, so that a lease which an agent deletes is soon there again. */
export const HEARTBEAT = 1_000;
/** So long without a heartbeat: nobody is there. */
export const LEASE_TIME = 30_000;

/** `lost` is called once, when somebody else has taken the run over: nothing more may be written to it. */
export function takeLease(paths: Place, lost: () => void) {
  const holder = writeLease(paths);
  const timer = setInterval(() => {
    if (beat(paths, holder)) return;
    clearInterval(timer);
    lost();
  }, HEARTBEAT);
  timer.unref();
  return {
    /** Stops the heartbeat and removes the file, unless the run is somebody else's by now. */
    release(): void {
      clearInterval(timer);
      releaseLease(paths, holder);
    },
  };
}

/** False when the run is somebody else's. A file that was deleted is written again. */
function beat(paths: Place, holder: LeaseHolder): boolean {
  try {
    const now = readLease(paths);
    if (now && now.token !== holder.token) return false;
    if (now) utimesSync(paths.live, new Date(), new Date());
    else write(paths.live, holder);
  } catch {
    // a disk that fails: the ledger says so
  }
  return true;
}

/** Makes this process the holder, without a heartbeat yet. */
export function writeLease(paths: Place): LeaseHolder {
  const holder: LeaseHolder = {
    process: ourselves(),
    host: hostname(),
    token: randomBytes(8).toString('hex'),
  };
  write(paths.live, holder);
  return holder;
}

/** An in-session loop is driven by its host, which has no heartbeat: its hooks say who it is. Never the reason that a hook fails. */
export function leaseTo(paths: Place, process: ProcessId): void {
  const now = readLease(paths);
  if (now?.process.pid === process.pid && now.process.started === process.started) return;
  const holder = { process, host: hostname(), token: randomBytes(8).toString('hex') };
  tryTo(() => write(paths.live, holder));
}

/** Somebody on a machine that shares nothing with this one drives it, as its database says: true until it is said no more. */
export function leaseElsewhere(paths: Place, host: string): void {
  write(paths.live, { process: { pid: 0, started: '' }, host: `worker ${host}`, token: 'elsewhere' });
}

function write(path: string, holder: LeaseHolder): void {
  ensureFolder(dirname(path));
  writeWhole(path, `${JSON.stringify(holder)}\n`);
}

/** Unless somebody else holds it by now. */
export function releaseLease(paths: Place, { token }: LeaseHolder): void {
  if (readLease(paths)?.token === token) removeLease(paths);
}

/** What a process left behind that was killed is removed by whoever looks next. */
export function removeLease(paths: Place): void {
  // a disk that fails: whoever looks next finds that nobody is there
  tryTo(() => rmSync(paths.live, { force: true }));
}

/** undefined: there is none, or it cannot be read. */
export function readLease({ live }: Place): LeaseHolder | undefined {
  const lease = parseObject(tryTo(() => readIfThere(live)) ?? '');
  const process = objectAt(lease, 'process');
  const [pid, started] = [countAt(process, 'pid'), stringAt(process, 'started')];
  const [host, token] = [stringAt(lease, 'host'), wordAt(lease, 'token')];
  if (pid === undefined || started === undefined || host === undefined || token === undefined)
    return undefined;
  return { process: { pid, started }, host, token };
}

/** Somebody drives it; an in-session loop runs in its host. Nothing in the project says whether that is so. */
export function isRunning(paths: Place): boolean {
  const holder = readLease(paths);
  return holder !== undefined && isHeld(paths, holder);
}

function isHeld(paths: Place, holder: LeaseHolder): boolean {
  if (holder.host === hostname()) return isAlive(holder.process);
  const { mtimeMs = 0 } = statSync(paths.live, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs < LEASE_TIME;
}
