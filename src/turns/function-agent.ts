/** An agent that is a function: for tests, for models called directly, for anything that is no command line. */
import { type AgentAdapter, NO_NEEDS, type Reports } from '../agents/agent.ts';
import { createDoor } from '../agents/door.ts';
import type { TurnReport, TurnRequest } from '../agents/invoke.ts';
import type { AgentEvent } from '../domain/agent-event.ts';
import type { EndedBy } from '../domain/evidence.ts';
import { createTurnFold } from '../domain/turn.ts';
import { errorMessage } from '../platform/error-words.ts';
import { startTimer } from '../platform/timer.ts';

/** What an agent that is a function is given for one turn. */
export interface AgentTurn {
  readonly prompt: string;
  /** Where to work. */
  readonly cwd: string;
  /** Counted from 1. */
  readonly iteration: number;
  /** Fired when the turn must end: a limit, or the end of the run. What comes after is not waited for. */
  readonly signal: AbortSignal;
  /** Tells what happens as it happens: words, tools, usage. */
  emit(event: AgentEvent): void;
}

/** The result of a turn. Its text is the agent's own words; a thrown error is a failed turn, of the class of the last `trouble` it reported. */
export interface AgentReply {
  readonly text?: string;
  readonly toolCalls?: number;
  /** Dollars. */
  readonly cost?: number;
  readonly tokens?: { readonly input: number; readonly output: number };
}

/** Must settle soon after `turn.signal` has fired. */
export type AgentFunction = (turn: AgentTurn) => Promise<AgentReply | string | undefined>;

/** An agent that is a function of the program. */
export interface FunctionAgent {
  readonly name: string;
  readonly run: AgentFunction;
  /** What its replies and events hold; a limit on what they do not hold is refused. */
  readonly reports: Reports;
}

/** What is said of an agent that is a function. */
export interface AgentTraits {
  /** What it reports. Default: its tool calls, and neither cost nor tokens. */
  readonly reports?: Partial<Reports>;
}

/** Makes an agent of a function: give it to a call as `agent`. */
export function defineAgent(name: string, run: AgentFunction, traits: AgentTraits = {}): FunctionAgent {
  return { name, run, reports: { cost: 'never', tokens: 'never', toolCalls: true, ...traits.reports } };
}

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
  const door = createDoor(turn.redact, event => {
    fold.add(event);
    turn.onEvent(event);
    const over = event.kind === 'usage' ? turn.overBudget(fold.usage()) : undefined;
    if (over) end(over);
  });
  const emit = door.enter;
  const abort = () => end('interrupt');
  turn.abort.addEventListener('abort', abort);
  if (turn.abort.aborted) abort();
  const timers = turn.deadlines.map(({ after, by }) => startTimer(after, () => end(by)));
  const { prompt, cwd, iteration } = turn;
  const call = Promise.resolve().then(() =>
    agent.run({ prompt, cwd, iteration, signal: ending.signal, emit }),
  );
  const reply = await Promise.race([settled(call), ended(ending.signal)]);
  for (const timer of timers) timer.clear();
  turn.abort.removeEventListener('abort', abort);

  if ('reply' in reply) for (const event of replyEvents(reply.reply)) emit(event);
  door.end();
  const done = fold.turn();
  if (endedBy) return { turn: done, outcome: { kind: 'ended', by: endedBy } };
  if (!('error' in reply)) return { turn: done, outcome: { kind: 'completed' } };
  const message = turn.redact(errorMessage(reply.error));
  return { turn: done, outcome: { kind: 'failed', trouble: done.trouble ?? { class: 'crash', message } } };
}

type Settled =
  | { readonly reply: Awaited<ReturnType<AgentFunction>> }
  | { readonly error: unknown }
  | { readonly gone: true };

function settled(call: ReturnType<AgentFunction>): Promise<Settled> {
  return call.then(
    reply => ({ reply }),
    (error: unknown) => ({ error }),
  );
}

function ended(signal: AbortSignal): Promise<Settled> {
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
