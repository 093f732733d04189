/** The Anthropic Messages API. */
import { array, isObject, type Json, object, string } from './json.ts';
import { type Answer, inputObject, type Protocol, pieces, sse } from './protocol.ts';
import type { Usage } from './script.ts';

export const messages: Protocol = {
  name: 'messages',
  serves: path => path.endsWith('/messages'),

  read(body) {
    if (!Array.isArray(body.messages)) return 'a Messages request needs a list "messages"';
    return {
      model: string(body.model),
      stream: body.stream === true,
      system: texts(body.system).join('\n'),
      userTexts: body.messages.filter(m => object(m).role === 'user').flatMap(m => texts(object(m).content)),
      tools: array(body.tools)
        .map(object)
        .map(tool => ({ name: string(tool.name), kind: 'function', schema: object(tool.input_schema) })),
    };
  },

  whole(answer) {
    return {
      ...envelope(answer),
      content: blocks(answer),
      stop_reason: stopReason(answer),
      usage: usage(answer.usage),
    };
  },

  events(answer) {
    // The client shows message_start's usage with each record and takes the sums from message_delta.
    const start = {
      ...envelope(answer),
      content: [],
      stop_reason: null,
      usage: { ...usage(answer.usage), output_tokens: 1 },
    };
    return [
      event({ type: 'message_start', message: start }),
      ...blocks(answer).flatMap(blockEvents),
      event({
        type: 'message_delta',
        delta: { stop_reason: stopReason(answer), stop_sequence: null },
        usage: usage(answer.usage),
      }),
      event({ type: 'message_stop' }),
    ];
  },

  error(status, message) {
    return {
      type: 'error',
      error: { type: ERROR_TYPES[status] ?? 'api_error', message },
      request_id: 'req_scripted',
    };
  },
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function texts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content];
  return array(content)
    .filter(isObject)
    .filter(block => block.type === 'text')
    .map(block => string(block.text));
}

function envelope(answer: Answer): Json {
  return {
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    stop_sequence: null,
  };
}

function blocks(answer: Answer): readonly Json[] {
  return [
    ...(answer.reasoning
      ? [{ type: 'thinking', thinking: answer.reasoning, signature: 'c2NyaXB0ZWQ=' }]
      : []),
    ...(answer.text ? [{ type: 'text', text: answer.text }] : []),
    ...answer.calls.map(call => ({
      type: 'tool_use',
      id: `toolu_${call.id}`,
      name: call.name,
      input: inputObject(call),
    })),
  ];
}

function blockEvents(block: Json, index: number): readonly string[] {
  const delta = (fields: Json) => event({ type: 'content_block_delta', index, delta: fields });
  const [empty, deltas] = ((): [Json, readonly string[]] => {
    if (block.type === 'thinking') {
      const thinking = pieces(string(block.thinking)).map(piece =>
        delta({ type: 'thinking_delta', thinking: piece }),
      );
      const signed = delta({ type: 'signature_delta', signature: block.signature });
      return [{ type: 'thinking', thinking: '', signature: '' }, [...thinking, signed]];
    }
    if (block.type === 'text') {
      return [
        { type: 'text', text: '' },
        pieces(string(block.text)).map(text => delta({ type: 'text_delta', text })),
      ];
    }
    const json = pieces(JSON.stringify(block.input));
    return [
      { ...block, input: {} },
      json.map(piece => delta({ type: 'input_json_delta', partial_json: piece })),
    ];
  })();
  return [
    event({ type: 'content_block_start', index, content_block: empty }),
    ...deltas,
    event({ type: 'content_block_stop', index }),
  ];
}

function event(data: Json): string {
  return sse(data, string(data.type));
}

function stopReason(answer: Answer): string {
  return answer.calls.length > 0 ? 'tool_use' : 'end_turn';
}

function usage(tokens: Usage): Json {
  return {
    input_tokens: Math.max(0, tokens.input - tokens.cached - tokens.cacheWrite),
    cache_creation_input_tokens: tokens.cacheWrite,
    cache_read_input_tokens: tokens.cached,
    output_tokens: tokens.output,
  };
}
