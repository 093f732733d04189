/** Gemini's generateContent and streamGenerateContent. */
import { array, isObject, type Json, object, string } from './json.ts';
import { type Answer, inputObject, type Protocol, pieces } from './protocol.ts';
import type { Usage } from './script.ts';

const PATH = /\/models\/([^/:]+):(stream)?generateContent$/i;

export const gemini: Protocol = {
  name: 'gemini',
  serves: path => PATH.test(path),

  read(body, url) {
    if (!Array.isArray(body.contents)) return 'a generateContent request needs a list "contents"';
    const [, model = '', stream] = PATH.exec(url.pathname) ?? [];
    const declared = array(body.tools).flatMap(tool => array(object(tool).functionDeclarations));
    return {
      model: decodeURIComponent(model),
      stream: stream !== undefined,
      system: texts(body.systemInstruction).join('\n'),
      userTexts: body.contents.filter(content => object(content).role !== 'model').flatMap(texts),
      tools: declared.map(object).map(tool => ({
        name: string(tool.name),
        kind: 'function',
        schema: object(tool.parametersJsonSchema ?? tool.parameters),
      })),
    };
  },

  whole(answer) {
    return chunk(answer, [...said(answer, text => [text]), ...calls(answer)], true);
  },

  events(answer, url) {
    const parts = said(answer, pieces).map(part => chunk(answer, [part], false));
    const all = [...parts, chunk(answer, calls(answer), true)].map(data => JSON.stringify(data));
    if (url.searchParams.get('alt') === 'sse') return all.map(data => `data: ${data}\r\n\r\n`);
    return all.map((data, n) => `${n === 0 ? '[' : ',\r\n'}${data}${n === all.length - 1 ? ']' : ''}`);
  },

  error(status, message) {
    return { error: { code: status, message, status: STATUS_NAMES[status] ?? 'INTERNAL' } };
  },
};

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

function texts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content];
  return array(object(content).parts)
    .filter(isObject)
    .filter(part => typeof part.text === 'string')
    .map(part => string(part.text));
}

function said(answer: Answer, split: (text: string) => readonly string[]): readonly Json[] {
  return [
    ...(answer.reasoning ? split(answer.reasoning).map(text => ({ text, thought: true })) : []),
    ...(answer.text ? split(answer.text).map(text => ({ text })) : []),
  ];
}

function calls(answer: Answer): readonly Json[] {
  return answer.calls.map(call => ({
    functionCall: { id: call.id, name: call.name, args: inputObject(call) },
  }));
}

function chunk(answer: Answer, parts: readonly Json[], last: boolean): Json {
  const candidate = { index: 0, content: { role: 'model', parts } };
  return {
    candidates: [last ? { ...candidate, finishReason: 'STOP' } : candidate],
    modelVersion: answer.model,
    responseId: answer.id,
    ...(last ? { usageMetadata: usage(answer.usage) } : {}),
  };
}

function usage(tokens: Usage): Json {
  return {
    promptTokenCount: tokens.input,
    cachedContentTokenCount: tokens.cached,
    candidatesTokenCount: Math.max(0, tokens.output - tokens.reasoning),
    thoughtsTokenCount: tokens.reasoning,
    totalTokenCount: tokens.input + tokens.output,
  };
}
