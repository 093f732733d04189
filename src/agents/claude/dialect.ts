/** Claude Code's dialect: its hook input and its hook answers. Other hosts have learnt it, each with an accent. */
import { type ContextUse, windowOf } from '../../domain/context-alert.ts';
import { countAt, type Json, objectAt, objectsAt, parseObject, stringAt } from '../../domain/json.ts';
import { type Dialect, type HookAnswer, type HookInput, sumAt } from '../dialect.ts';
import { finalWords } from './transcript.ts';

const DEFAULT_CAP = 8;

export const claudeDialect: Dialect = {
  host: 'claude',
  prefix: '/ralph:',
  moments: {
    SessionStart: 'start',
    UserPromptExpansion: 'command',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'before-tool',
    PostToolBatch: 'tools',
    Stop: 'stop',
  },
  ownFiles: {
    settings: [
      ...['settings.json', 'settings.local.json', 'hooks', 'plugins'].map(name => `.claude/${name}`),
      ...['.claude.json', '.mcp.json'],
    ],
    secrets: ['.claude/.credentials.json'],
  },
  readInput,
  writeAnswer,
  // The current folder moves when the agent changes it.
  rootOf: (input, env) => env.CLAUDE_PROJECT_DIR || input.cwd,
  finalWords,
  calls: {
    clue: '"tool_use"',
    idsIn(record) {
      if (!isOwnMessage(record)) return [];
      const blocks = objectsAt(objectAt(record, 'message'), 'content');
      return blocks.filter(({ type }) => type === 'tool_use').map(block => stringAt(block, 'id') ?? '');
    },
  },
  toolHookKnowsTranscript: true,
  contextUse,
  capOf(env) {
    const set = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
    const blocks = set !== undefined && /^\d+$/.test(set) ? Number(set) : DEFAULT_CAP;
    if (blocks === 0) return undefined;
    return {
      host: 'Claude Code',
      blocks,
      toolsReset: true,
      lift: 'Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment to remove this limit.',
    };
  },
};

export function readInput(text: string): HookInput | undefined {
  const input = parseObject(text);
  if (!input) return undefined;
  const string = (key: string) => stringAt(input, key) ?? '';
  return {
    event: string('hook_event_name'),
    sessionId: string('session_id'),
    promptId: string('prompt_id') || null,
    cwd: string('cwd'),
    transcript: string('transcript_path') || null,
    lastWords: stringAt(input, 'last_assistant_message') ?? null,
    pending: objectsAt(input, 'background_tasks').filter(isPending).length,
    inSubagent: string('agent_id') !== '',
    prompt: string('prompt'),
    source: string('source'),
    commandName: string('command_name'),
    commandArguments: string('command_args'),
    countedCalls: Math.floor(countAt(input, 'counted_calls') ?? 0),
    tool: { name: string('tool_name'), input: objectAt(input, 'tool_input') ?? {} },
    calledAt: Date.parse(string('timestamp')) || null,
  };
}

/** A sub-agent comes back with a turn of its own; a shell, such as a server, may never. */
function isPending({ type, status }: Json): boolean {
  return type === 'subagent' && (status === undefined || status === 'running');
}

/** Sub-agents and the client's own words do not count. */
function isOwnMessage(record: Json): boolean {
  const isMain = record.type === 'assistant' && record.isSidechain !== true;
  return isMain && objectAt(record, 'message')?.model !== '<synthetic>';
}

/** The usage of the last message of the main conversation. */
function contextUse(record: Json): ContextUse | undefined {
  if (!isOwnMessage(record)) return undefined;
  const message = objectAt(record, 'message');
  const used = sumAt(
    objectAt(message, 'usage'),
    'input_tokens',
    'cache_creation_input_tokens',
    'cache_read_input_tokens',
    'output_tokens',
  );
  return used > 0 ? { used, window: windowOf(stringAt(message, 'model') ?? '') } : undefined;
}

/** stdout must hold this JSON and nothing else, or the host ignores it. */
export function writeAnswer(event: string, answer: HookAnswer): string {
  switch (answer.kind) {
    case 'nothing':
      return '';
    case 'say':
      return JSON.stringify({ systemMessage: answer.message });
    case 'deny':
      return JSON.stringify({
        hookSpecificOutput: {
          hookEventName: event,
          permissionDecision: 'deny',
          permissionDecisionReason: answer.reason,
        },
      });
    case 'block': {
      const { reason, message, warning } = answer;
      const systemMessage = warning === undefined ? message : `${message}\n${warning}`;
      return JSON.stringify({ decision: 'block', reason, systemMessage });
    }
    case 'context':
      return JSON.stringify({
        hookSpecificOutput: { hookEventName: event, additionalContext: answer.context },
        ...(answer.message !== undefined && { systemMessage: answer.message }),
      });
    default:
      return answer satisfies never;
  }
}
