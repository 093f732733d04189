/** Amp, `amp -x --stream-json`. */

import { defined } from '../../domain/text/fields.ts';
import { countAt, type Json, numberAt, parseObject, stringAt, wordAt } from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import { assistantEvents, type ToolReply, toolResultEvents, uncachedTokens } from '../blocks.ts';
import { gaveUp, type Records, readLine, sessionEvent } from '../events.ts';

export const amp: AgentAdapter = {
  name: 'amp',
  install: 'npm install -g @ampcode/cli',
  tested: '0.0.1777897475-g2324e1',
  noUpdates: { AMP_SKIP_UPDATE_CHECK: '1' },
  reports: { cost: 'never', tokens: 'step', toolCalls: true },
  endsWithResult: true,
  needsFile: true,
  needs: {
    hosts: ['ampcode.com', '*.ampcode.com'],
    addresses: ['AMP_URL'],
    state: ['~/.local/share/amp', '~/.cache/amp', '~/.amp'],
    settings: ['~/.config/amp', '.amp'],
    keys: ['AMP_API_KEY'],
  },
  stopSignal: 'SIGTERM',
  invocation,
  read: line => readLine(line, RECORDS),
};

function invocation({ command, flags, model, mode }: AgentRequest): AgentInvocation {
  const argv = [
    ...(mode === 'stream'
      ? defaultFlags(flags, ['--stream-json', '--stream-json-thinking'], ['--stream-json'])
      : []),
    ...defaultFlags(flags, ['--dangerously-allow-all'], ['--dangerously-allow-all']),
    ...(model === undefined ? [] : defaultFlags(flags, ['-m', '--mode'], ['-m', model])),
    ...flags,
    // Last, because it takes the next word as the prompt.
    ...defaultFlags(flags, ['-x', '--execute'], ['-x']),
  ];
  return { argv: [command, ...argv], env: {} };
}

const RECORDS: Records = {
  // Its messages have no id, but each comes once and whole.
  assistant: record => assistantEvents(record, uncachedTokens),
  user: record => toolResultEvents(record, replyOf),
  system: record =>
    record.subtype === 'init'
      ? [sessionEvent(record, { sessionId: 'session_id' })]
      : [{ kind: 'unknown', what: 'system' }],
  result: resultEvents,
};

/** Results are JSON in a string; a command that failed is no `is_error`, its exit code is in there. */
function replyOf(text: string): ToolReply {
  if (!text.startsWith('{')) return { text };
  const reply = parseObject(text);
  if (!reply) return { text, exitCode: lastExitCode(text) };
  const exitCode = numberAt(reply, 'exitCode');
  return { text: stringAt(reply, 'output') ?? stringAt(reply, 'content') ?? text, exitCode };
}

/** A very long result lacks its middle and may no longer be JSON. */
function lastExitCode(text: string): number | undefined {
  const found = /"exitCode":(\d+)\}$/.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** No tokens here: they are on the messages. The exit code is 0 even after an error. */
function resultEvents(record: Json): readonly AgentEvent[] {
  const turns = defined({ modelTurns: countAt(record, 'num_turns') });
  if (record.is_error !== true) {
    return [{ kind: 'result', ok: true, ...turns, ...defined({ finalText: wordAt(record, 'result') }) }];
  }
  const error = wordAt(record, 'error') ?? wordAt(record, 'subtype') ?? 'error';
  return [gaveUp({ message: error }), { kind: 'result', ok: false, error, ...turns }];
}
