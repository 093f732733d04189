/** The context monitor: how full the agent's context is, from what its transcript says it used. The cost does not grow with its length. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type AlertState,
  type ContextUse,
  contextAlert,
  FRESH,
  tokensUntilAlert,
  windowOf,
} from '../domain/context-alert.ts';
import type { MonitorOrders } from '../domain/hook-orders.ts';
import { ensureFolder, fileSize, readIfThere, writeAtomic } from '../platform/files.ts';
import { type HookAnswer, type HookInput, type Json, NOTHING, parseObject } from './host.ts';
import { lastRecords } from './transcript.ts';

/** After tools have run. `stateFile` is where it is kept what was told in this session. */
export function watchContext(orders: MonitorOrders, stateFile: string, input: HookInput): HookAnswer {
  // A sub-agent has a context of its own, and nobody has told us of it.
  if (input.inSubagent || input.transcript === null) return NOTHING;
  const use = contextUse(input.transcript, orders.window);
  if (!use) return NOTHING;
  const before = readState(stateFile);
  const { state, alert } = contextAlert(use, before);
  if (state.told !== before.told) {
    ensureFolder(dirname(stateFile));
    writeAtomic(stateFile, JSON.stringify(state));
  }
  return alert === undefined ? NOTHING : { kind: 'context', context: alert };
}

/**
 * Up to which size of the transcript there is nothing to tell; undefined where that cannot be said. A token is at least a byte
 * of it; half of that is left for what gets into the context by other ways.
 */
export function quietUntil(orders: MonitorOrders, stateFile: string, transcript: string): number | undefined {
  const use = contextUse(transcript, orders.window);
  const tokens = use ? tokensUntilAlert(use, readState(stateFile)) : 0;
  return tokens > 0 ? sizeOf(transcript) + Math.floor(tokens / 2) : undefined;
}

/** A session begins, or was compacted: every threshold may be told of again. */
export function rearm(stateFile: string): void {
  try {
    rmSync(stateFile, { force: true });
  } catch {
    // no such place
  }
}

function readState(path: string): AlertState {
  const told = parseObject(readIfThere(path) ?? '')?.told;
  return typeof told === 'number' ? { told } : FRESH;
}

/** Records are big: prompts and requests are among them. */
const WINDOWS = [256 * 1024, 4 * 1024 * 1024];

function contextUse(transcript: string, configured: number | undefined): ContextUse | undefined {
  for (const bytes of WINDOWS) {
    const found = lastRecords(transcript, bytes).findLast(record => usedIn(record) !== undefined);
    const use = found && usedIn(found);
    if (use) return { used: use.used, window: configured ?? use.window };
  }
  // Seed 002's rule of thumb, where a transcript says nothing: four characters a token.
  const size = sizeOf(transcript);
  return size > 0 ? { used: Math.round(size / 4), window: configured ?? windowOf('') } : undefined;
}

function sizeOf(path: string): number {
  try {
    return fileSize(path);
  } catch {
    return 0;
  }
}

/** What one record says of the context, in the words of each host. */
function usedIn(record: Json): ContextUse | undefined {
  return claudeUse(record) ?? codexUse(record) ?? geminiUse(record) ?? qwenUse(record);
}

/** Claude Code: the usage of the last message of the main conversation; the client's own words cost nothing. */
function claudeUse({ type, isSidechain, message }: Json): ContextUse | undefined {
  const { usage, model } = objectOf(message);
  if (type !== 'assistant' || isSidechain === true || model === '<synthetic>' || !usage) return undefined;
  const used = sum(
    objectOf(usage),
    'input_tokens',
    'cache_creation_input_tokens',
    'cache_read_input_tokens',
    'output_tokens',
  );
  return used > 0 ? { used, window: windowOf(text(model)) } : undefined;
}

/** Codex tells the window, too. */
function codexUse({ payload }: Json): ContextUse | undefined {
  const { type, info } = objectOf(payload);
  const { last_token_usage: last, model_context_window: window } = objectOf(info);
  if (type !== 'token_count') return undefined;
  const used = sum(objectOf(last), 'input_tokens', 'output_tokens');
  return used > 0
    ? { used, window: typeof window === 'number' && window > 0 ? window : windowOf('gpt-5') }
    : undefined;
}

function geminiUse({ type, tokens, model }: Json): ContextUse | undefined {
  const used = type === 'gemini' ? sum(objectOf(tokens), 'input', 'output', 'thoughts') : 0;
  return used > 0 ? { used, window: windowOf(text(model) || 'gemini') } : undefined;
}

function qwenUse({ usageMetadata, model, contextWindowSize }: Json): ContextUse | undefined {
  const used = sum(objectOf(usageMetadata), 'promptTokenCount', 'candidatesTokenCount');
  const window = typeof contextWindowSize === 'number' ? contextWindowSize : windowOf(text(model));
  return used > 0 ? { used, window } : undefined;
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function sum(counts: Json, ...keys: readonly string[]): number {
  return keys.reduce(
    (total, key) => total + (typeof counts[key] === 'number' ? (counts[key] as number) : 0),
    0,
  );
}
