/** The smallest client of each protocol: the server's own tests ask through it and read both kinds of answer. */
import { array, type Json, object, string } from './json.ts';
import type { ProtocolName } from './protocol.ts';

export interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  /** All input tokens, those from the cache, and the output tokens. */
  readonly tokens: readonly [input: number, cached: number, output: number];
}

interface Client {
  path(stream: boolean): string;
  body(user: string, stream: boolean, tools: readonly Json[]): Json;
  tool(name: string, schema: Json): Json;
  whole(answer: Json): Heard;
  stream(events: readonly Json[]): Heard;
}

export const CLIENTS: Readonly<Record<ProtocolName, Client>> = {
  messages: {
    path: () => '/v1/messages?beta=true',
    body: (user, stream, tools) => ({
      model: 'some-model',
      stream,
      tools,
      system: [{ type: 'text', text: 'Be good.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: user }] }],
    }),
    tool: (name, input_schema) => ({ name, input_schema }),
    whole(answer) {
      const blocks = array(answer.content).map(object);
      const usage = object(answer.usage);
      return {
        text: join(blocks, 'text'),
        reasoning: join(blocks, 'thinking'),
        calls: blocks
          .filter(block => block.type === 'tool_use')
          .map(({ name, input }) => ({ name: string(name), input })),
        tokens: [
          Number(usage.input_tokens) + Number(usage.cache_read_input_tokens),
          Number(usage.cache_read_input_tokens),
          Number(usage.output_tokens),
        ],
      };
    },
    stream(events) {
      const started = events
        .filter(event => event.type === 'content_block_start')
        .map(event => object(event.content_block));
      const content = started.map((block, index) => {
        const deltas = events.filter(event => event.index === index).map(event => object(event.delta));
        const input = join(deltas, 'partial_json');
        return {
          ...block,
          text: join(deltas, 'text'),
          thinking: join(deltas, 'thinking'),
          input: input && JSON.parse(input),
        };
      });
      return this.whole({ content, usage: events.find(event => event.type === 'message_delta')?.usage });
    },
  },
  responses: {
    path: () => '/v1/responses',
    body: (user, stream, tools) => ({
      model: 'some-model',
      stream,
      tools,
      instructions: 'Be good.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: user }] }],
    }),
    tool: (name, parameters) => ({ type: 'function', name, parameters }),
    whole(answer) {
      const items = array(answer.output).map(object);
      const usage = object(answer.usage);
      const parts = (field: string) => items.flatMap(item => array(item[field])).map(object);
      return {
        text: join(parts('content'), 'text'),
        reasoning: join(parts('summary'), 'text'),
        calls: items
          .filter(item => item.call_id !== undefined)
          .map(item => ({
            name: string(item.name),
            input: item.input ?? JSON.parse(string(item.arguments)),
          })),
        tokens: [
          Number(usage.input_tokens),
          Number(object(usage.input_tokens_details).cached_tokens),
          Number(usage.output_tokens),
        ],
      };
    },
    stream(events) {
      const heard = this.whole(object(events.find(event => event.type === 'response.completed')?.response));
      const text = join(
        events.filter(event => event.type === 'response.output_text.delta'),
        'delta',
      );
      return { ...heard, text };
    },
  },
  chat: {
    path: () => '/v1/chat/completions',
    body: (user, stream, tools) => ({
      model: 'some-model',
      stream,
      tools,
      messages: [
        { role: 'system', content: 'Be good.' },
        { role: 'user', content: user },
      ],
    }),
    tool: (name, parameters) => ({ type: 'function', function: { name, parameters } }),
    whole(answer) {
      const message = object(object(array(answer.choices)[0]).message);
      const usage = object(answer.usage);
      return {
        text: string(message.content),
        reasoning: string(message.reasoning_content),
        calls: array(message.tool_calls)
          .map(call => object(object(call).function))
          .map(call => ({ name: string(call.name), input: JSON.parse(string(call.arguments)) })),
        tokens: [
          Number(usage.prompt_tokens),
          Number(object(usage.prompt_tokens_details).cached_tokens),
          Number(usage.completion_tokens),
        ],
      };
    },
    stream(events) {
      const deltas = events.map(event => object(object(array(event.choices)[0]).delta));
      const calls = deltas.flatMap(delta => array(delta.tool_calls)).map(object);
      const tool_calls = calls
        .filter(call => call.id !== undefined)
        .map(({ index, function: named }) => {
          const parts = calls.filter(call => call.index === index).map(call => object(call.function));
          return { function: { ...object(named), arguments: join(parts, 'arguments') } };
        });
      const message = {
        content: join(deltas, 'content'),
        reasoning_content: join(deltas, 'reasoning_content'),
        tool_calls,
      };
      return this.whole({
        choices: [{ message }],
        usage: events.find(event => event.usage !== undefined)?.usage,
      });
    },
  },
  gemini: {
    path: stream =>
      `/v1beta/models/some-model:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (user, _stream, tools) => ({
      systemInstruction: { parts: [{ text: 'Be good.' }] },
      contents: [{ role: 'user', parts: [{ text: user }] }],
      tools: tools.length > 0 ? [{ functionDeclarations: tools }] : [],
    }),
    tool: (name, parametersJsonSchema) => ({ name, parametersJsonSchema }),
    whole(answer) {
      const parts = array(object(object(array(answer.candidates)[0]).content).parts).map(object);
      const usage = object(answer.usageMetadata);
      return {
        text: join(
          parts.filter(part => part.thought !== true),
          'text',
        ),
        reasoning: join(
          parts.filter(part => part.thought === true),
          'text',
        ),
        calls: parts
          .filter(part => part.functionCall !== undefined)
          .map(part => object(part.functionCall))
          .map(call => ({ name: string(call.name), input: call.args })),
        tokens: [
          Number(usage.promptTokenCount),
          Number(usage.cachedContentTokenCount),
          Number(usage.candidatesTokenCount) + Number(usage.thoughtsTokenCount),
        ],
      };
    },
    stream(events) {
      const parts = events.flatMap(event => array(object(object(array(event.candidates)[0]).content).parts));
      return this.whole({
        candidates: [{ content: { parts } }],
        usageMetadata: events.at(-1)?.usageMetadata,
      });
    },
  },
};

export function ask(
  url: string,
  protocol: ProtocolName,
  stream: boolean,
  user = 'Go.',
  tools = [BASH],
): Promise<Response> {
  const client = CLIENTS[protocol];
  const offered = tools.map(({ name, schema }) => client.tool(name, schema));
  return fetch(url + client.path(stream), {
    method: 'POST',
    body: JSON.stringify(client.body(user, stream, offered)),
  });
}

/** The answer, whichever way it came. */
export async function hear(response: Response, protocol: ProtocolName): Promise<Heard> {
  const body = await response.text();
  if (!response.headers.get('content-type')?.includes('event-stream'))
    return CLIENTS[protocol].whole(object(JSON.parse(body)));
  return CLIENTS[protocol].stream(sseEvents(body));
}

export function sseEvents(body: string): readonly Json[] {
  return body
    .split(/\r?\n/)
    .filter(line => line.startsWith('data: {'))
    .map(line => object(JSON.parse(line.slice('data: '.length))));
}

export const BASH: { readonly name: string; readonly schema: Json } = {
  name: 'bash',
  schema: {
    properties: { command: { type: 'string' }, description: { type: 'string' } },
    required: ['command', 'description'],
  },
};

function join(parts: readonly Json[], field: string): string {
  return parts.map(part => string(part[field])).join('');
}
