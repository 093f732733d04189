/** Claude Code's dialect: its hook input and its hook answers. */
import type { HookAnswer, HookInput } from './host.ts';

type Json = Readonly<Record<string, unknown>>;

export function readInput(text: string): HookInput | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const input = json as Json;
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
  };
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
    case 'block':
      return JSON.stringify({ decision: 'block', reason: answer.reason, systemMessage: answer.message });
    case 'context':
      return JSON.stringify({
        hookSpecificOutput: { hookEventName: event, additionalContext: answer.context },
        ...(answer.message !== undefined && { systemMessage: answer.message }),
      });
    default:
      return answer satisfies never;
  }
}
