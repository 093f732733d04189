/** Claude Code's dialect: its hook input and its hook answers. Other hosts have learnt it, each with an accent. */
import { type ContextUse, windowOf } from '../../domain/session/context-alert.ts';
import { countAt, type Json, objectAt, objectsAt, parseObject, stringAt } from '../../domain/text/json.ts';
import { commandIn, type Dialect, type HookAnswer, type HookInput, sumAt } from '../dialect.ts';
import { lastText, waitFor } from '../transcript.ts';

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
    unknownClue: 'No such tool available',
    unknownIn: record =>
      objectsAt(objectAt(record, 'message'), 'content')
        .filter(block =>
          stringAt(block, 'content')?.startsWith('<tool_use_error>Error: No such tool available'),
        )
        .map(block => stringAt(block, 'tool_use_id') ?? ''),
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
  const running = objectsAt(input, 'background_tasks').filter(isRunning);
  return {
    event: string('hook_event_name'),
    sessionId: string('session_id'),
    promptId: string('prompt_id') || null,
    cwd: string('cwd'),
    transcript: string('transcript_path') || null,
    lastWords: stringAt(input, 'last_assistant_message') ?? null,
    isInterrupted: false,
    pending: running.filter(({ type }) => type === 'subagent').length,
    shells: running.filter(({ type }) => type === 'shell').map(task => stringAt(task, 'command') ?? ''),
    wakeUps: objectsAt(input, 'session_crons').map(cron => stringAt(cron, 'prompt') ?? ''),
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

/** For hosts that have no event for a slash command: it stands in the prompt. */
export function readWithCommand(text: string, asTyped = (prompt: string) => prompt): HookInput | undefined {
  const input = readInput(text);
  return input && { ...input, ...commandIn(asTyped(input.prompt)) };
}

/** For hosts whose input always holds the agent's last words, and all of them. */
export async function givenWords({ lastWords }: HookInput): Promise<readonly string[] | undefined> {
  return lastWords === null ? undefined : [lastWords];
}

function isRunning({ status }: Json): boolean {
  return status === undefined || status === 'running';
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

/** Claude Code writes the transcript a moment after it has called the hook. */
const PATIENCE = 1_000;

/**
 * Every text block of the final message. The input holds only the last block, or nothing when thinking came after it; so
 * the transcript is read too, until it holds that message or the patience is over.
 */
export async function finalWords(input: HookInput): Promise<readonly string[] | undefined> {
  if (input.transcript === null) return await givenWords(input);
  const { transcript, lastWords } = input;
  const message = await waitFor(PATIENCE, () => {
    const last = lastMessage(transcript);
    return last && isFinal(last, lastWords) ? last : undefined;
  });
  return message?.texts ?? (await givenWords(input));
}

interface Message {
  readonly texts: readonly string[];
  readonly hasToolUse: boolean;
}

function isFinal({ texts, hasToolUse }: Message, lastWords: string | null): boolean {
  if (lastWords !== null) return texts.some(text => text.trim() === lastWords.trim());
  return !hasToolUse;
}

/** One message is several lines with the same id, a block on each. Sub-agents and the client's own words do not count. */
function lastMessage(path: string): Message | undefined {
  let id: unknown;
  const texts: string[] = [];
  let hasToolUse = false;
  for (const line of linesBackwards(lastText(path))) {
    // What the window or the host has cut is no record.
    const record = line.includes('"assistant"') ? parseObject(line) : undefined;
    if (!record || !isOwnMessage(record)) continue;
    const message = objectAt(record, 'message');
    id ??= message?.id;
    if (message?.id !== id) break;
    for (const { type, text } of objectsAt(message, 'content').toReversed()) {
      if (type === 'text' && typeof text === 'string') texts.unshift(text);
      if (type === 'tool_use') hasToolUse = true;
    }
  }
  return id === undefined ? undefined : { texts, hasToolUse };
}

/** Line by line from the end: as a rule the first few are all that is wanted. */
function* linesBackwards(text: string): Iterable<string> {
  for (let end = text.length; end >= 0; ) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
    yield text.slice(start, end);
    end = start - 1;
  }
}
