/** The context monitor: how full the agent's context is, from what its transcript says it used. The cost does not grow with its length. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Dialect, type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import { lastRecords, transcriptSize } from '../agents/transcript.ts';
import { type AlertState, type ContextUse, contextAlert, FRESH, windowOf } from '../domain/context-alert.ts';
import type { MonitorOrders } from '../domain/hook-orders.ts';
import { numberAt, parseObject } from '../domain/json.ts';
import { ensureFolder, readIfThere, writeAtomic } from '../platform/files.ts';

/** After tools have run. `stateFile` keeps which alerts this session has had. */
export function watchContext(
  orders: MonitorOrders,
  dialect: Dialect,
  stateFile: string,
  input: HookInput,
): HookAnswer {
  // A sub-agent has a context of its own, of which nothing is known here.
  if (input.inSubagent || input.transcript === null) return NOTHING;
  const use = readUse(dialect, input.transcript, orders.window);
  if (!use) return NOTHING;
  const before = readState(stateFile);
  const { state, alert } = contextAlert(use, before);
  if (state.reported !== before.reported) {
    ensureFolder(dirname(stateFile));
    writeAtomic(stateFile, JSON.stringify(state));
  }
  return alert === undefined ? NOTHING : { kind: 'context', context: alert };
}

/** A session begins, or was compacted: every threshold may be reported again. */
export function rearm(stateFile: string): void {
  try {
    rmSync(stateFile, { force: true });
  } catch {
    // no such place
  }
}

function readState(path: string): AlertState {
  const reported = numberAt(parseObject(readIfThere(path) ?? ''), 'reported');
  return reported === undefined ? FRESH : { reported };
}

/** Records are big: prompts and requests are among them. */
const WINDOWS = [256 * 1024, 4 * 1024 * 1024];

function readUse(
  dialect: Dialect,
  transcript: string,
  configured: number | undefined,
): ContextUse | undefined {
  for (const bytes of WINDOWS) {
    const records = lastRecords(transcript, bytes);
    const found = records.findLast(record => dialect.contextUse(record) !== undefined);
    const use = found && dialect.contextUse(found);
    if (use) return { used: use.used, window: configured ?? use.window };
  }
  // Seed 002's rule of thumb, where a transcript says nothing: four characters a token.
  const size = transcriptSize(transcript);
  return size > 0 ? { used: Math.round(size / 4), window: configured ?? windowOf('') } : undefined;
}
