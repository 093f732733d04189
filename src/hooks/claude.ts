/** Claude Code's dialect: its hook input and its hook answers. Other hosts have learnt it, each with an accent. */
import { type Dialect, type HookAnswer, type HookInput, type Json, parseObject } from './host.ts';
import { finalWords } from './transcript.ts';

const DEFAULT_CAP = 8;

export const claude: Dialect = {
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
  readInput,
  writeAnswer,
  // The current folder moves when the agent changes it.
  rootOf: (input, env) => env.CLAUDE_PROJECT_DIR || input.cwd,
  finalWords,
  told: 'last',
  promptField: 'prompt_id',
  capOf(env) {
    const set = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
    const blocks = set !== undefined && /^\d+$/.test(set) ? Number(set) : DEFAULT_CAP;
    if (blocks === 0) return undefined;
    return {
      host: 'Claude Code',
      blocks,
      toolsReset: true,
      lift: 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment lifts that.',
    };
  },
};

export function readInput(text: string): HookInput | undefined {
  const input = parseObject(text);
  if (!input) return undefined;
  const string = (key: string) => (typeof input[key] === 'string' ? (input[key] as string) : '');
  return {
    event: string('hook_event_name'),
    sessionId: string('session_id'),
    promptId: string('prompt_id') || null,
    cwd: string('cwd'),
    transcript: string('transcript_path') || null,
    lastWords: typeof input.last_assistant_message === 'string' ? input.last_assistant_message : null,
    pending: list(input.background_tasks).filter(isPending).length,
    inSubagent: string('agent_id') !== '',
    prompt: string('prompt'),
    source: string('source'),
    commandName: string('command_name'),
    commandArguments: string('command_args'),
    toolCalls: Array.isArray(input.tool_calls) ? input.tool_calls.length : 1,
    tool: { name: string('tool_name'), input: objectOf(input.tool_input) },
    calledAt: Date.parse(string('timestamp')) || null,
  };
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A sub-agent comes back with a turn of its own; a shell, such as a server, may never. */
function isPending(task: unknown): boolean {
  if (typeof task !== 'object' || task === null) return false;
  const { type, status } = task as Json;
  return type === 'subagent' && (status === undefined || status === 'running');
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
