/**
 * Gemini CLI: events and answers of its own. What it tells of the agent's words holds all answers since the prompt, in
 * pieces: an old promise would be found again. So only the last record of the transcript counts. It is the one host
 * that can clear the context at a continuation.
 */
import { claude, readInput } from './claude.ts';
import { commandIn, type Dialect, type HookAnswer, type Json, unescapedNote } from './host.ts';
import { lastRecords, patiently } from './transcript.ts';

const PATIENCE = 2_000;

export const gemini: Dialect = {
  ...claude,
  host: 'gemini',
  prefix: '/',
  moments: { BeforeAgent: 'prompt', BeforeTool: 'before-tool', AfterTool: 'tools', AfterAgent: 'stop' },
  readInput(text) {
    const input = readInput(text);
    return input && { ...input, ...commandIn(input.prompt) };
  },
  writeAnswer,
  rootOf: (input, env) => env.GEMINI_PROJECT_DIR || input.cwd,
  async finalWords({ transcript }) {
    if (transcript === null) return [];
    return (await patiently(PATIENCE, () => lastMessage(lastRecords(transcript)))) ?? [];
  },
  capOf: () => undefined,
  told: 'not',
};

function writeAnswer(event: string, answer: HookAnswer): string {
  if (answer.kind === 'context') {
    return claude.writeAnswer(event, { ...answer, context: unescapedNote(answer.context) });
  }
  if (answer.kind === 'deny') return JSON.stringify({ decision: 'deny', reason: answer.reason });
  if (answer.kind !== 'block') return claude.writeAnswer(event, answer);
  const { reason, message, afresh } = answer;
  const isFresh = afresh !== undefined && process.env.RALPH_CLEAR_CONTEXT === '1';
  return JSON.stringify({
    decision: 'deny',
    reason: isFresh ? afresh : reason,
    systemMessage: message,
    ...(isFresh && { hookSpecificOutput: { hookEventName: event, clearContext: true } }),
  });
}

/** undefined while the last word in the transcript is the user's, or a tool's result, which is kept as such. */
function lastMessage(records: readonly Json[]): readonly string[] | undefined {
  const last = records.findLast(record => record.type === 'gemini' || record.type === 'user');
  if (last?.type !== 'gemini') return undefined;
  const parts = Array.isArray(last.content) ? last.content : [last.content];
  return parts.flatMap(part => {
    const text: unknown = typeof part === 'string' ? part : part?.text;
    return typeof text === 'string' ? [text] : [];
  });
}
