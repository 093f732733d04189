/** The OpenAI Chat Completions API. */
import { array, isObject, type Json, object, string } from './json.ts';
import { type Answer, inputText, type Protocol, pieces, sse } from './protocol.ts';
import type { Usage } from './script.ts';
import type { OfferedTool } from './tools.ts';

export const chat: Protocol = {
  name: 'chat',
  serves: path => path.endsWith('/chat/completions'),

  read(body) {
    if (!Array.isArray(body.messages)) return 'a Chat Completions request needs a list "messages"';
    const said = body.messages.map(object);
    const of = (...roles: readonly string[]) =>
      said.filter(message => roles.includes(string(message.role))).flatMap(message => texts(message.content));
    return {
      model: string(body.model),
      stream: body.stream === true,
      system: of('system', 'developer').join('\n'),
      userTexts: of('user'),
      tools: array(body.tools).map(object).map(offered),
    };
  },

  whole(answer) {
    const message = {
      role: 'assistant',
      content: answer.text || null,
      ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}),
      ...(answer.calls.length > 0 ? { tool_calls: answer.calls.map(toolCall) } : {}),
    };
    const choice = { index: 0, message, finish_reason: finishReason(answer), logprobs: null };
    return { ...envelope(answer, 'chat.completion'), choices: [choice], usage: usage(answer.usage) };
  },

  events(answer) {
    const chunk = (delta: Json, finish: string | null = null) =>
      sse({
        ...envelope(answer, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, finish_reason: finish }],
      });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(answer.reasoning).map(piece => chunk({ reasoning_content: piece })),
      ...pieces(answer.text).map(piece => chunk({ content: piece })),
      ...answer.calls
        .map(toolCall)
        .flatMap((call, index) => [
          chunk({ tool_calls: [{ ...call, index, function: { ...call.function, arguments: '' } }] }),
          ...pieces(call.function.arguments).map(piece =>
            chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
          ),
        ]),
      chunk({}, finishReason(answer)),
      sse({ ...envelope(answer, 'chat.completion.chunk'), choices: [], usage: usage(answer.usage) }),
      'data: [DONE]\n\n',
    ];
  },

  error: openAiError,
};

/** Both OpenAI protocols say it this way. */
export function openAiError(status: number, message: string): Json {
  const kind = status === 429 ? 'rate_limit_exceeded' : status === 401 ? 'invalid_api_key' : null;
  const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  return { error: { message, type, param: null, code: kind } };
}

function texts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content];
  return array(content)
    .filter(isObject)
    .filter(part => part.type === 'text')
    .map(part => string(part.text));
}

function offered(tool: Json): OfferedTool {
  const custom = tool.type === 'custom';
  const about = object(custom ? tool.custom : tool.function);
  return { name: string(about.name), kind: custom ? 'custom' : 'function', schema: object(about.parameters) };
}

function envelope(answer: Answer, kind: string): Json {
  return { id: `chatcmpl-${answer.id}`, object: kind, created: 1, model: answer.model };
}

function toolCall(call: Answer['calls'][number]) {
  return {
    id: `call_${call.id}`,
    type: 'function',
    function: { name: call.name, arguments: inputText(call) },
  };
}

function finishReason(answer: Answer): string {
  return answer.calls.length > 0 ? 'tool_calls' : 'stop';
}

function usage(tokens: Usage): Json {
  return {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cached },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
}
