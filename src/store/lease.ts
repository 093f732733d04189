/**
 * Who drives a run. The file is in the project's `live` folder while the run is driven, and its time of change is the heartbeat. On
 * the same machine the process itself is looked for; from another machine, on a shared disk, only the heartbeat can be seen.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, statSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { countAt, objectAt, parseObject, stringAt, wordAt } from '../domain/json.ts';
import { ensureFolder, readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { isAlive, ourselves, type ProcessId } from '../platform/process-table.ts';
import type { RunPaths } from './paths.ts';

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
export function takeLease(paths: Pick<RunPaths, 'live'>, lost: () => void) {
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
function beat(paths: Pick<RunPaths, 'live'>, holder: LeaseHolder): boolean {
  try {
    const now = readLease(paths);
    if (now && now.token !== holder.token) return false;
    if (now) utimesSync(paths.live, new Date(), new Date());
    else write(paths, holder);
  } catch {
    // a disk that fails: the ledger says so
  }
  return true;
}

/** Makes this process the holder, without a heartbeat yet. */
export function writeLease(paths: Pick<RunPaths, 'live'>): LeaseHolder {
  const holder: LeaseHolder = {
    process: ourselves(),
    host: hostname(),
    token: randomBytes(8).toString('hex'),
  };
  write(paths, holder);
  return holder;
}

function write(paths: Pick<RunPaths, 'live'>, holder: LeaseHolder): void {
  ensureFolder(dirname(paths.live));
  writeWhole(paths.live, `${JSON.stringify(holder)}\n`);
}

/** Unless somebody else holds it by now. */
export function releaseLease(paths: Pick<RunPaths, 'live'>, { token }: LeaseHolder): void {
  if (readLease(paths)?.token === token) removeLease(paths);
}

/** What a process left behind that was killed is removed by whoever looks next. */
export function removeLease(paths: Pick<RunPaths, 'live'>): void {
  // a disk that fails: whoever looks next finds that nobody is there
  tryTo(() => rmSync(paths.live, { force: true }));
}

/** undefined: there is none, or it was written by 0.1, which left the file empty. */
export function readLease(paths: Pick<RunPaths, 'live'>): LeaseHolder | undefined {
  const lease = parseObject(readIfThere(paths.live) ?? '');
  const process = objectAt(lease, 'process');
  const [pid, started] = [countAt(process, 'pid'), stringAt(process, 'started')];
  const [host, token] = [stringAt(lease, 'host'), wordAt(lease, 'token')];
  if (pid === undefined || started === undefined || host === undefined || token === undefined)
    return undefined;
  return { process: { pid, started }, host, token };
}

export function isHeld(paths: Pick<RunPaths, 'live'>, holder: LeaseHolder): boolean {
  if (holder.host === hostname()) return isAlive(holder.process);
  const { mtimeMs = 0 } = statSync(paths.live, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs < LEASE_TIME;
}
