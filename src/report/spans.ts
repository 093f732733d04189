/**
 * A run as spans of a trace: the run, its iterations, and in these its turns, checks and waits. Names and attributes follow
 * OpenTelemetry's semantic conventions 1.45.0, where what they say of generative AI is in development; what is ours begins with `ralph.`.
 */

import type { RecordedEvent } from '../domain/run/event.ts';
import type { Env } from '../domain/text/secret-values.ts';
import type { Usage } from '../domain/turn/usage.ts';
import { checkName, childTrace, iterationName, readTrace, runTrace, turnName } from '../platform/trace.ts';

export const SEMANTIC_CONVENTIONS = 'https://opentelemetry.io/schemas/1.45.0';

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  readonly trace: string;
  readonly span: string;
  readonly parent: string | undefined;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Attributes;
  /** What went wrong; absent: nothing did. */
  readonly error?: string;
}

interface Open extends Omit<Span, 'end'> {
  /** In W3C's form. */
  readonly id: string;
}

interface Ending {
  readonly attributes?: Attributes;
  readonly error?: string | undefined;
}

/** Takes the events of one run or of several; answers the spans that have ended. */
export function createSpans(env: Env): (event: RecordedEvent) => readonly Span[] {
  const runs = new Map<string, ReturnType<typeof createRunSpans>>();
  return event => {
    const run = runs.get(event.run) ?? createRunSpans(event.run, env);
    runs.set(event.run, run);
    if (event.type === 'run-ended') runs.delete(event.run);
    return run(event);
  };
}

function createRunSpans(runId: string, env: Env) {
  const state = createState(runId, env);
  return (event: RecordedEvent): readonly Span[] => {
    const waited = event.type === 'waiting' ? [] : state.end('wait', event);
    const read = READERS[event.type] as ((state: State, event: RecordedEvent) => readonly Span[]) | undefined;
    return [...waited, ...(read?.(state, event) ?? [])];
  };
}

type State = ReturnType<typeof createState>;

/** The spans that are open, by what they are, and what was said of the agent since. */
function createState(runId: string, env: Env) {
  const root = runTrace(runId, env);
  const open = new Map<string, Open>();
  const begin = (key: string, id: string, span: Omit<Open, 'id' | 'trace' | 'span'>) => {
    const ids = readTrace(id);
    if (ids) open.set(key, { ...ids, id, ...span });
  };
  const agent: { name: string; model?: string | undefined; session?: string | undefined } = { name: '' };
  return {
    agent,
    waits: 0,
    beginRun: ({ time: start }: RecordedEvent, attributes: Attributes) =>
      begin('run', root, {
        ...{ parent: readTrace(env.TRACEPARENT)?.span, name: 'invoke_workflow ralph', start },
        attributes: { 'ralph.run': runId, ...attributes },
      }),
    /** In the iteration, or in the run where there is none. */
    begin(
      key: string,
      // The id is derived from its name, where it has none of its own.
      { name, id = name }: { readonly name: string; readonly id?: string },
      { time: start }: RecordedEvent,
      attributes: Attributes,
    ): void {
      const parent = open.get('iteration')?.id ?? root;
      begin(key, childTrace(parent, id), { parent: readTrace(parent)?.span, name, start, attributes });
    },
    end(key: string, { time }: RecordedEvent, { attributes = {}, error }: Ending = {}): readonly Span[] {
      const found = open.get(key);
      open.delete(key);
      if (!found) return [];
      const { id: _, ...span } = found;
      const all = { ...span.attributes, ...attributes };
      return [{ ...span, end: time, attributes: all, ...(error !== undefined && { error }) }];
    },
    /** What is open inside when something ends, ends with it, the latest first. */
    inside: (around: string) => [...open.keys()].reverse().filter(key => key !== around && key !== 'run'),
  };
}

type Reader<Type extends RecordedEvent['type']> = (
  state: State,
  event: RecordedEvent & { readonly type: Type },
) => readonly Span[];

const beginRun: Reader<'run-started' | 'run-resumed'> = (state, event) => {
  state.agent.name = event.agent;
  state.agent.model = event.model;
  state.beginRun(event, {
    'gen_ai.operation.name': 'invoke_workflow',
    'ralph.command': event.command,
    'ralph.resumed': event.type === 'run-resumed',
  });
  return [];
};

const READERS: { readonly [Type in RecordedEvent['type']]?: Reader<Type> } = {
  'run-started': beginRun,
  'run-resumed': beginRun,
  'iteration-started'(state, event) {
    const { iteration, mode, story } = event;
    const attributes = { 'ralph.iteration': iteration, 'ralph.mode': mode, 'ralph.story': story };
    state.begin('iteration', { name: 'iteration', id: iterationName(iteration) }, event, attributes);
    return [];
  },
  'agent-switched'({ agent }, { to }) {
    agent.name = to;
    return [];
  },
  'agent-started'(state, event) {
    const agent = event.adapter ?? state.agent.name;
    state.agent.session = undefined;
    const named = { name: `invoke_agent ${agent}`, id: turnName(event.purpose, event.attempt) };
    state.begin('turn', named, event, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      'ralph.purpose': event.purpose,
      'ralph.attempt': event.attempt ?? 1,
    });
    return [];
  },
  agent({ agent }, { event }) {
    if (event.kind === 'session') agent.session = event.sessionId ?? agent.session;
    if (event.kind === 'session' || event.kind === 'usage') agent.model = event.model ?? agent.model;
    return [];
  },
  'agent-ended'(state, event) {
    const { outcome, usage, toolCalls } = event;
    const { model, session } = state.agent;
    const error =
      outcome.kind === 'failed' ? outcome.trouble.class : outcome.kind === 'ended' ? outcome.by : undefined;
    const said = { 'gen_ai.request.model': model, 'gen_ai.conversation.id': session };
    const attributes = { ...said, ...usageOf(usage), 'ralph.tool_calls': toolCalls ?? undefined };
    return state.end('turn', event, { attributes, error });
  },
  'check-started'(state, event) {
    const { index, command, clean = false } = event;
    const attributes = { 'ralph.check': command, 'ralph.clean': clean };
    state.begin(checkKey(command, clean), { name: 'check', id: checkName(index, clean) }, event, attributes);
    return [];
  },
  'check-ended'(state, event) {
    const { command, clean, passed, exitCode, timedOut } = event.result;
    const attributes = { 'ralph.passed': passed, 'ralph.exit_code': exitCode };
    const error = passed ? undefined : timedOut ? 'timeout' : 'failed';
    return state.end(checkKey(command, clean), event, { attributes, error });
  },
  waiting(state, event) {
    const ended = state.end('wait', event);
    const attributes = { 'gen_ai.agent.name': event.agent, 'ralph.trouble': event.trouble.class };
    state.begin('wait', { name: 'wait', id: `wait ${++state.waits}` }, event, attributes);
    return ended;
  },
  'iteration-ended'(state, event) {
    const inside = state.inside('iteration').flatMap(key => state.end(key, event));
    return [
      ...inside,
      ...state.end('iteration', event, { attributes: { 'ralph.claimed': event.claim.found } }),
    ];
  },
  'run-ended'(state, event) {
    const { stopReason, success, iterations, totalCost } = event.result;
    const attributes = {
      'ralph.stop_reason': stopReason,
      'ralph.iterations': iterations.length,
      'ralph.cost_usd': totalCost ?? undefined,
    };
    const inside = state.inside('run').flatMap(key => state.end(key, event));
    return [...inside, ...state.end('run', event, { attributes, error: success ? undefined : stopReason })];
  },
};

/** One that is reported ends under the number that it has in its list, and may have begun under another. */
const checkKey = (command: string, clean = false) => `check ${clean} ${command}`;

function usageOf({ tokens, cost, costSource }: Usage): Attributes {
  return {
    'gen_ai.usage.input_tokens': tokens?.input,
    'gen_ai.usage.output_tokens': tokens?.output,
    'gen_ai.usage.cache_read.input_tokens': tokens?.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': tokens?.cacheWrite,
    // The conventions have no word for money.
    'ralph.cost_usd': cost,
    'ralph.cost_source': cost === undefined ? undefined : costSource,
  };
}
