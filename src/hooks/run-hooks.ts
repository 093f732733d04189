/** What the hooks do: in the agent of a run what the run has ordered, in a session of the user what the settings say. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Dialect, type HookAnswer, type HookInput, type Moment, NOTHING } from '../agents/dialect.ts';
import { lastRecords, transcriptSize } from '../agents/transcript.ts';
import {
  type AlertState,
  type ContextUse,
  contextAlert,
  FRESH,
  windowOf,
} from '../domain/session/context-alert.ts';
import type { HookOrders, MonitorOrders } from '../domain/session/hook-orders.ts';
import { afterCalls, isElsewhere } from '../domain/session/session.ts';
import { numberAt, parseObject } from '../domain/text/json.ts';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { type HookNote, leaveNote } from '../store/hook-notes.ts';
import { setAside } from '../store/mirror.ts';
import { projectPaths, runFolder } from '../store/paths.ts';
import { changeSession, findSession } from '../store/session-file.ts';
import { record } from '../store/session-ledger.ts';
import { isUncounted } from './calls.ts';
import { type GuardVerdict, guard, refusal } from './guard.ts';
import { loadBeside } from './load-heavy.ts';
import { hookSettings } from './settings.ts';

export async function carryOut(
  orders: HookOrders,
  dialect: Dialect,
  moment: Moment | undefined,
  input: HookInput,
): Promise<HookAnswer> {
  switch (moment) {
    case 'before-tool':
      return guardCall(orders, input);
    case 'tools':
      return orders.monitor ? watchContext(orders.monitor, dialect, alertsOf(orders, input), input) : NOTHING;
    case 'start':
      if (orders.monitor) rearm(alertsOf(orders, input));
      return NOTHING;
    case 'stop':
      return await loadBeside('ralph-hook-more').onStoryStop(orders, input);
    // Commands and prompts are for a session of its own.
    case 'command':
    case 'prompt':
    case 'peek':
    case undefined:
      return NOTHING;
    default:
      return moment satisfies never;
  }
}

function alertsOf({ run }: HookOrders, { sessionId }: HookInput): string {
  return runFolder(run).contextAlerts(sessionId);
}

/** Orders that cannot be read guard all the same: nothing is known of what should be let through. */
function guardCall(orders: HookOrders, input: HookInput): HookAnswer {
  if (orders.run === '') return refusal(['its orders cannot be read, so nothing can be judged.']).answer;
  if (!orders.guard) return NOTHING;
  const verdict = guard(orders.guard, orders.root, input);
  for (const note of notesOn(verdict)) leaveNote(runFolder(orders.run).hookNotes, note);
  return verdict.answer;
}

function notesOn({ refused, warned }: GuardVerdict): readonly HookNote[] {
  return [
    ...refused.map(
      what => ({ type: 'violation', violation: { what, restored: true, refused: true } }) as const,
    ),
    ...warned.map(text => ({ type: 'notice', level: 'warning', text: `Guard: ${text}` }) as const),
  ];
}

export function onTool(root: string, dialect: Dialect, input: HookInput): HookAnswer {
  const settings = hookSettings(root).guard;
  const file = findSession(root, input.sessionId);
  const state = file?.state;
  // What the user asks for while the loop sleeps is the user's own affair.
  const isAwake = state?.active === true && !isElsewhere(state, input.promptId);
  if (file && isAwake && !input.inSubagent && isUncounted(dialect, input))
    changeSession(file, now => (now.active ? afterCalls(now, 1) : undefined));
  const isOn = settings.enabled === 'auto' ? isAwake : settings.enabled;
  if (!isOn) return NOTHING;
  const verdict = guard(settings, root, input);
  const notes = notesOn(verdict);
  if (isAwake) record(root, state.runId, ...notes);
  return verdict.answer;
}

/** Tools have run: how full is the context? */
export function watchSession(root: string, dialect: Dialect, input: HookInput): HookAnswer {
  const { monitor } = hookSettings(root);
  if (monitor.enabled !== true) return NOTHING;
  return watchContext(monitor, dialect, projectPaths(root).contextAlerts(input.sessionId), input);
}

export function rearmSession(root: string, { sessionId }: HookInput): void {
  rearm(projectPaths(root).contextAlerts(sessionId));
}

/** After tools have run. `stateFile` keeps which alerts this session has had. */
export function watchContext(
  orders: MonitorOrders,
  dialect: Dialect,
  stateFile: string,
  input: HookInput,
): HookAnswer {
  // A sub-agent has a context of its own, of which nothing is known here.
  if (input.inSubagent || input.transcript === null) return NOTHING;
  const use = readUse(dialect, input.transcript, orders.window ?? statedWindow());
  if (!use) return NOTHING;
  const before = readState(stateFile);
  const { state, alert } = contextAlert(use, before);
  if (state.reported !== before.reported) {
    setAside(dirname(stateFile));
    ensureFolder(dirname(stateFile));
    writeAtomic(stateFile, JSON.stringify(state));
  }
  return alert === undefined ? NOTHING : { kind: 'context', context: alert };
}

/** A session begins, or was compacted: every threshold may be reported again. */
export function rearm(stateFile: string): void {
  tryTo(() => rmSync(stateFile, { force: true })); // no such place
}

/** Seed 002's variable, for those who have it set already. */
function statedWindow(): number | undefined {
  const tokens = Number(process.env.CLAUDE_CONTEXT_WINDOW);
  return Number.isSafeInteger(tokens) && tokens >= 1_000 ? tokens : undefined;
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
