/** Records of Claude Code's stream, for fake agents that speak it. */
import type { FakeTurn, Handler } from './fake-agent.ts';

let ids = 0;

export const init = { type: 'system', subtype: 'init', session_id: 'fake', model: 'claude-opus-5-5' };

export function text(words: string, extra: Record<string, unknown> = {}) {
  return assistant([{ type: 'text', text: words }], extra);
}

export function toolUse(id: string, name: string, input: Record<string, unknown>) {
  return assistant([{ type: 'tool_use', id, name, input }]);
}

export function toolResult(id: string, content: string, isError = false) {
  return {
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }],
    },
    parent_tool_use_id: null,
  };
}

function assistant(content: readonly unknown[], extra: Record<string, unknown> = {}) {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = { id: `msg_${++ids}`, role: 'assistant', model: 'claude-opus-5-5', content, usage };
  return { type: 'assistant', message, parent_tool_use_id: null, ...extra };
}

export function result(extra: Record<string, unknown> = {}) {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 1,
    result: '',
    total_cost_usd: 0.01,
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 20,
    },
    modelUsage: {
      'claude-opus-5-5': {
        inputTokens: 100,
        outputTokens: 20,
        cacheReadInputTokens: 0,
        cacheCreationInputTokens: 0,
        costUSD: 0.01,
      },
    },
    ...extra,
  };
}

/** A whole turn that only speaks; a plain message in text mode. */
export function speaks(words: string, extra: Record<string, unknown> = {}): Handler {
  return async turn => {
    if (isTextMode(turn)) await turn.print(words);
    else for (const record of [init, text(words), result(extra)]) await turn.line(record);
    turn.exit();
  };
}

/** Writes a file with a tool call, then speaks. */
export function writesFile(
  file: string,
  content: string | (() => string),
  words: string,
  extra: Record<string, unknown> = {},
): Handler {
  return async turn => {
    await turn.line(init);
    await turn.line(toolUse('t', 'Write', { file_path: file }));
    await turn.write(file, typeof content === 'string' ? content : content());
    for (const record of [toolResult('t', 'written'), text(words), result(extra)]) await turn.line(record);
    turn.exit();
  };
}

export function isTextMode(turn: Pick<FakeTurn, 'argv'>): boolean {
  return turn.argv.includes('text');
}
