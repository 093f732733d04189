/** A turn of an agent that is a function. */
import { type AgentAdapter, NO_NEEDS } from '../../agents/agent.ts';
import type { TurnReport, TurnRequest } from '../../agents/invoke.ts';
import { createRedaction } from '../../agents/reader.ts';
import type { EndedBy } from '../../domain/run/evidence.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import { createTurnFold } from '../../domain/turn/turn.ts';
import { errorMessage } from '../../platform/error-words.ts';
import { startTimer } from '../../platform/timer.ts';
import type { AgentFunction, AgentReply, AgentTurn, FunctionAgent } from './define-agent.ts';

/** What the loop needs to know of it, as of any agent. */
export function adapterOf({ name, reports }: FunctionAgent): AgentAdapter {
  return {
    name,
    install: '',
    reports,
    endsWithResult: false,
    needsFile: false,
    needs: NO_NEEDS,
    stopSignal: 'SIGTERM',
    invocation: ({ command }) => ({ argv: [command], env: {} }),
    read: () => [],
  };
}

type FunctionTurn = Pick<AgentTurn, 'prompt' | 'cwd' | 'iteration'> &
  Pick<TurnRequest, 'rule' | 'deadlines' | 'overBudget' | 'abort' | 'redact' | 'onEvent'>;

export async function takeFunctionTurn(agent: FunctionAgent, turn: FunctionTurn): Promise<TurnReport> {
  const fold = createTurnFold({ rule: turn.rule, prices: {} });
  const ending = new AbortController();
  let endedBy: EndedBy | undefined;
  const end = (by: EndedBy) => {
    endedBy ??= by;
    ending.abort();
  };
  const redaction = createRedaction(turn.redact, event => {
    fold.add(event);
    turn.onEvent(event);
    const over = event.kind === 'usage' ? turn.overBudget(fold.usage()) : undefined;
    if (over) end(over);
  });
  const emit = redaction.enter;
  const abort = () => end('interrupt');
  turn.abort.addEventListener('abort', abort);
  if (turn.abort.aborted) abort();
  const timers = turn.deadlines.map(({ after, by }) => startTimer(after, () => end(by)));
  const { prompt, cwd, iteration } = turn;
  const call = Promise.resolve().then(() =>
    agent.run({ prompt, cwd, iteration, signal: ending.signal, emit }),
  );
  const reply = await Promise.race([returned(call), ended(ending.signal)]);
  for (const timer of timers) timer.clear();
  turn.abort.removeEventListener('abort', abort);

  if ('reply' in reply) for (const event of replyEvents(reply.reply)) emit(event);
  redaction.end();
  const done = fold.turn();
  if (endedBy) return { turn: done, outcome: { kind: 'ended', by: endedBy } };
  if (!('error' in reply)) return { turn: done, outcome: { kind: 'completed' } };
  const message = turn.redact(errorMessage(reply.error));
  return { turn: done, outcome: { kind: 'failed', trouble: done.trouble ?? { class: 'crash', message } } };
}

type Returned =
  | { readonly reply: Awaited<ReturnType<AgentFunction>> }
  | { readonly error: unknown }
  | { readonly gone: true };

function returned(call: ReturnType<AgentFunction>): Promise<Returned> {
  return call.then(
    reply => ({ reply }),
    (error: unknown) => ({ error }),
  );
}

function ended(signal: AbortSignal): Promise<Returned> {
  return new Promise(resolve => {
    if (signal.aborted) resolve({ gone: true });
    signal.addEventListener('abort', () => resolve({ gone: true }), { once: true });
  });
}

function replyEvents(reply: AgentReply | string | undefined): readonly AgentEvent[] {
  const { text, toolCalls, cost, tokens }: AgentReply =
    typeof reply === 'string' ? { text: reply } : (reply ?? {});
  const usage = {
    ...(tokens && { tokens: { ...tokens, cacheRead: 0, cacheWrite: 0 } }),
    ...(cost !== undefined && { cost }),
  };
  return [
    ...(text ? [{ kind: 'text', text } as const] : []),
    ...(tokens || cost !== undefined ? [{ kind: 'usage', scope: 'total', ...usage } as const] : []),
    { kind: 'result', ok: true, ...(toolCalls !== undefined && { toolCalls }) },
  ];
}
