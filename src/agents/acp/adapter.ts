/** Any command that speaks the Agent Client Protocol: `--agent "acp:goose acp"`. */

import {
  asObject,
  countAt,
  type Json,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  stringAt,
  wordAt,
} from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import type { TroubleClass } from '../../domain/turn/trouble.ts';
import {
  type AgentAdapter,
  type Conversation,
  type ConversationRequest,
  NO_NEEDS,
  NO_PROMPT,
  type Reply,
} from '../agent.ts';
import { asideEvents, gaveUp, oneLine, refusedEvents } from '../events.ts';
import { createUpdates } from './updates.ts';

export const acp: AgentAdapter = {
  name: 'acp',
  install: 'put the command on the PATH',
  isProtocol: true,
  // Some of these agents report tokens and cost and some do not; which, is known when they have answered.
  reports: { cost: 'never', tokens: 'never', toolCalls: true },
  endsWithResult: true,
  needsFile: false,
  needs: NO_NEEDS,
  stopSignal: 'SIGTERM',
  invocation: ({ command, flags }) => ({ argv: [command, ...flags], env: {} }),
  converse: createConversation,
  read: line => createConversation(NO_PROMPT).hear(line).events,
};

const VERSION = 1;
/** Our requests, by their numbers. */
const INITIALIZE = 1;
const NEW_SESSION = 2;
const PROMPT = 3;
const SET_MODEL = 4;

export function createConversation(talk: ConversationRequest): Conversation {
  const turn = createTurn(talk);
  return {
    opening: request(INITIALIZE, 'initialize', {
      protocolVersion: VERSION,
      // It works with files and commands by itself, where its tree can be ended and walled in.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'ralph', version: '0' },
    }),
    hear(line) {
      const message = parseObject(line);
      if (!message) return reply([{ kind: 'unknown', what: `not JSON: ${oneLine(line)}` }]);
      const method = stringAt(message, 'method');
      const params = objectAt(message, 'params') ?? {};
      if (method === undefined) return turn.isOver() ? reply([]) : turn.answered(message);
      if (method === 'session/update') return reply(turn.update(params));
      if (method !== 'session/request_permission')
        return reply([], message.id === undefined ? [] : [refusal(message.id)]);
      const allowed = allowedBy(params, talk.permissions);
      const chosen = allowed ?? optionOf(params, ['reject_once']);
      const outcome = chosen ? { outcome: 'selected', optionId: chosen.optionId } : { outcome: 'cancelled' };
      const call = objectAt(params, 'toolCall') ?? {};
      const events = [...turn.asked(call), ...(allowed || !turn.isOpen() ? [] : refusalOf(call))];
      return reply(events, [answer(message.id, { outcome })]);
    },
    isOpen: turn.isOpen,
    isOver: turn.isOver,
  };
}

/** Where the turn is: what comes before the prompt, after its answer, or from another session is no answer to the prompt. */
function createTurn({ prompt, cwd, model }: ConversationRequest) {
  const updates = createUpdates();
  let agent = '';
  let session: string | undefined;
  let stage: 'opening' | 'prompted' | 'over' = 'opening';

  const sayPrompt = (): Reply => {
    stage = 'prompted';
    const content = [{ type: 'text', text: prompt }];
    return reply([], [request(PROMPT, 'session/prompt', { sessionId: session, prompt: content })]);
  };
  const end = (events: readonly AgentEvent[]): Reply => {
    stage = 'over';
    return reply(events);
  };
  const fail: Fail = (message, named, status) =>
    end([gaveUp({ message, class: named, status }), { kind: 'result', ok: false, error: message }]);

  const answers: Readonly<Record<number, (result: Json) => Reply>> = {
    [INITIALIZE](result) {
      agent = wordAt(objectAt(result, 'agentInfo'), 'name') ?? '';
      if (countAt(result, 'protocolVersion') !== VERSION) return fail(NO_VERSION, 'config');
      return reply([], [request(NEW_SESSION, 'session/new', { cwd, mcpServers: [] })]);
    },
    [NEW_SESSION](result) {
      session = stringAt(result, 'sessionId') ?? '';
      const begun: AgentEvent = { kind: 'session', sessionId: session };
      if (model === undefined) return also([begun], sayPrompt());
      const asked = modelRequest(result, session, model);
      return asked ? reply([begun], [asked]) : fail(NO_MODEL, 'config');
    },
    [SET_MODEL]: sayPrompt,
    [PROMPT](result) {
      const used = updates.used(result, agent);
      const error = updates.lastError() ?? earlyEnd(result);
      return also(used, error === undefined ? end([{ kind: 'result', ok: true }]) : fail(error));
    },
  };

  return {
    isOpen: () => stage !== 'opening',
    isOver: () => stage === 'over',
    answered(message: Json): Reply {
      const next = typeof message.id === 'number' ? answers[message.id] : undefined;
      if (!next) return reply([]);
      const error = objectAt(message, 'error');
      return error ? failureOf(error, fail) : next(objectAt(message, 'result') ?? {});
    },
    asked: (call: Json) => (stage === 'prompted' ? updates.asked(call) : []),
    update(params: Json): readonly AgentEvent[] {
      const update = objectAt(params, 'update') ?? {};
      if (stage === 'prompted' && stringAt(params, 'sessionId') === session) return updates.hear(update);
      const isWords = stringAt(update, 'sessionUpdate') === 'agent_message_chunk';
      return isWords ? asideEvents('subagent', stringAt(objectAt(update, 'content'), 'text')) : [];
    },
  };
}

/** Every reason but one is an end before the work was: a limit, a refusal, a cancellation. */
function earlyEnd(result: Json): string | undefined {
  const reason = stringAt(result, 'stopReason') ?? 'no reason';
  return reason === 'end_turn' ? undefined : `it stopped before its end: ${oneLine(reason)}`;
}

type Fail = (message: string, named?: TroubleClass, status?: number) => Reply;

const NO_VERSION = `it does not speak version ${VERSION} of the protocol`;
const NO_MODEL = 'it does not let a client choose the model: name the model in its own settings or flags';

function reply(events: readonly AgentEvent[], say: readonly string[] = []): Reply {
  return { events, say };
}

function also(events: readonly AgentEvent[], { events: more, say }: Reply): Reply {
  return { events: [...events, ...more], say };
}

function message(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n`;
}

const request = (id: number, method: string, params: unknown) => message({ id, method, params });
const answer = (id: unknown, result: unknown) => message({ id, result });
const refusal = (id: unknown) => message({ id, error: { code: -32601, message: 'Method not found' } });

/** The option that selects a model, as newer agents offer it, or the older way. */
function modelRequest(result: Json, sessionId: string, model: string): string | undefined {
  const option = objectsAt(result, 'configOptions').find(
    each => each.category === 'model' || each.id === 'model',
  );
  if (option) {
    const params = { sessionId, configId: option.id, value: model };
    return request(SET_MODEL, 'session/set_config_option', params);
  }
  if (!objectAt(result, 'models')) return undefined;
  return request(SET_MODEL, 'session/set_model', { sessionId, modelId: model });
}

/** Once, never always: that would change the agent's settings, and one of them writes it into the repository. */
function refusalOf(call: Json): readonly AgentEvent[] {
  return refusedEvents({ id: stringAt(call, 'toolCallId') ?? '' }, wordAt(call, 'title') ?? '');
}

function allowedBy(params: Json, permissions: ConversationRequest['permissions']): Json | undefined {
  return permissions === 'skip' ? optionOf(params, ['allow_once', 'allow_always']) : undefined;
}

function optionOf(params: Json, kinds: readonly string[]): Json | undefined {
  const options = objectsAt(params, 'options');
  return kinds.flatMap(kind => options.filter(option => option.kind === kind))[0];
}

const AUTH_REQUIRED = -32_000;

function failureOf(
  error: Json,
  fail: (message: string, named?: TroubleClass, status?: number) => Reply,
): Reply {
  const code = numberAt(error, 'code');
  const data = asObject(error.data);
  const detail =
    typeof error.data === 'string' ? error.data : (wordAt(data, 'details') ?? wordAt(data, 'message'));
  const message = detail ?? wordAt(error, 'message') ?? 'error';
  const kind = stringAt(data, 'errorKind');
  const named = code === AUTH_REQUIRED ? 'auth' : kind === 'rate_limit' ? 'rate-limit' : undefined;
  return fail(message, named, code !== undefined && code >= 400 && code < 600 ? code : undefined);
}
