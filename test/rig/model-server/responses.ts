/** The OpenAI Responses API. */
import { openAiError } from './chat.ts';
import { array, isObject, type Json, object, string } from './json.ts';
import { type Answer, inputText, type Protocol, pieces, sse } from './protocol.ts';
import type { Usage } from './script.ts';
import type { OfferedTool } from './tools.ts';

export const responses: Protocol = {
  name: 'responses',
  serves: path => path.endsWith('/responses'),

  read(body) {
    if (typeof body.input !== 'string' && !Array.isArray(body.input))
      return 'a Responses request needs "input"';
    const items =
      typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input.map(object);
    const of = (...roles: readonly string[]) =>
      items.filter(item => roles.includes(string(item.role))).flatMap(item => texts(item.content));
    // Codex's code mode lists the tools as an item of the conversation.
    const late = items.flatMap(item => (item.type === 'additional_tools' ? array(item.tools) : []));
    return {
      model: string(body.model),
      stream: body.stream === true,
      system: [string(body.instructions), ...of('system', 'developer')]
        .filter(text => text !== '')
        .join('\n'),
      userTexts: of('user'),
      tools: [...array(body.tools), ...late].map(object).flatMap(offered),
    };
  },

  whole(answer) {
    return response(answer, 'completed', items(answer));
  },

  events(answer) {
    const open = response(answer, 'in_progress', []);
    const all: readonly Json[] = [
      { type: 'response.created', response: open },
      { type: 'response.in_progress', response: open },
      ...items(answer).flatMap(itemEvents),
      { type: 'response.completed', response: response(answer, 'completed', items(answer)) },
    ];
    return all.map((data, n) => sse({ ...data, sequence_number: n }, string(data.type)));
  },

  error: openAiError,
};

function texts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content];
  return array(content)
    .filter(isObject)
    .filter(part => part.type === 'input_text' || part.type === 'text')
    .map(part => string(part.text));
}

function offered(tool: Json): readonly OfferedTool[] {
  if (tool.type === 'namespace') {
    const namespace = string(tool.name);
    return array(tool.tools)
      .map(object)
      .flatMap(offered)
      .map(inner => ({ ...inner, namespace }));
  }
  if (string(tool.name) === '') return [];
  return [
    {
      name: string(tool.name),
      kind: tool.type === 'custom' ? 'custom' : 'function',
      schema: object(tool.parameters),
    },
  ];
}

function response(answer: Answer, status: string, output: readonly Json[]): Json {
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: 1,
    status,
    model: answer.model,
    output,
    parallel_tool_calls: false,
    tool_choice: 'auto',
    tools: [],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    usage: status === 'completed' ? usage(answer.usage) : null,
  };
}

function items(answer: Answer): readonly Json[] {
  return [
    ...(answer.reasoning
      ? [
          {
            id: `rs_${answer.id}`,
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: answer.reasoning }],
          },
        ]
      : []),
    ...(answer.text ? [message(answer)] : []),
    ...answer.calls.map(call => {
      const common = {
        call_id: `call_${call.id}`,
        name: call.name,
        ...(call.namespace && { namespace: call.namespace }),
        status: 'completed',
      };
      return call.kind === 'custom'
        ? { id: `ctc_${call.id}`, type: 'custom_tool_call', ...common, input: inputText(call) }
        : { id: `fc_${call.id}`, type: 'function_call', ...common, arguments: inputText(call) };
    }),
  ];
}

function message(answer: Answer): Json {
  const content = [{ type: 'output_text', text: answer.text, annotations: [] }];
  return { id: `msg_${answer.id}`, type: 'message', role: 'assistant', status: 'completed', content };
}

function itemEvents(item: Json, index: number): readonly Json[] {
  const at = { item_id: item.id, output_index: index };
  const added = (fields: Json) => ({
    type: 'response.output_item.added',
    output_index: index,
    item: { ...item, status: 'in_progress', ...fields },
  });
  const done = { type: 'response.output_item.done', output_index: index, item };
  switch (item.type) {
    case 'reasoning':
      return [
        added({ summary: [] }),
        ...reasoningEvents(string(object(array(item.summary)[0]).text), at),
        done,
      ];
    case 'message':
      return [added({ content: [] }), ...textEvents(string(object(array(item.content)[0]).text), at), done];
    case 'custom_tool_call':
      return [
        added({ input: '' }),
        ...inputEvents('custom_tool_call_input', 'input', string(item.input), at),
        done,
      ];
    default:
      return [
        added({ arguments: '' }),
        ...inputEvents('function_call_arguments', 'arguments', string(item.arguments), at),
        done,
      ];
  }
}

function reasoningEvents(text: string, at: Json): readonly Json[] {
  const part = { ...at, summary_index: 0 };
  return [
    { type: 'response.reasoning_summary_part.added', ...part, part: { type: 'summary_text', text: '' } },
    ...pieces(text).map(delta => ({ type: 'response.reasoning_summary_text.delta', ...part, delta })),
    { type: 'response.reasoning_summary_text.done', ...part, text },
    { type: 'response.reasoning_summary_part.done', ...part, part: { type: 'summary_text', text } },
  ];
}

function textEvents(text: string, at: Json): readonly Json[] {
  const part = { ...at, content_index: 0 };
  const whole = { type: 'output_text', text, annotations: [] };
  return [
    { type: 'response.content_part.added', ...part, part: { ...whole, text: '' } },
    ...pieces(text).map(delta => ({ type: 'response.output_text.delta', ...part, delta })),
    { type: 'response.output_text.done', ...part, text },
    { type: 'response.content_part.done', ...part, part: whole },
  ];
}

function inputEvents(name: string, field: string, text: string, at: Json): readonly Json[] {
  return [
    ...pieces(text).map(delta => ({ type: `response.${name}.delta`, ...at, delta })),
    { type: `response.${name}.done`, ...at, [field]: text },
  ];
}

function usage(tokens: Usage): Json {
  return {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: tokens.cached },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.output,
  };
}
