/**
 * Gemini CLI: events and answers of its own. What its input holds of the agent's words are all answers since the prompt, in
 * pieces: an old promise would be found again. So only the last record of the transcript counts. It is the one host
 * that can clear the context at a continuation.
 */
import { windowOf } from '../../domain/session/context-alert.ts';
import { type Json, objectAt, objectsAt, parseObject, stringAt, wordAt } from '../../domain/text/json.ts';
import { claudeDialect, readWithCommand, writeAnswer as writeLikeClaude } from '../claude/dialect.ts';
import { type Dialect, type HookAnswer, sumAt, unescapedNote } from '../dialect.ts';
import { recordsSince, waitFor } from '../transcript.ts';

const PATIENCE = 2_000;

export const geminiDialect: Dialect = {
  ...claudeDialect,
  host: 'gemini',
  prefix: '/',
  moments: { BeforeAgent: 'prompt', BeforeTool: 'before-tool', AfterTool: 'tools', AfterAgent: 'stop' },
  ownFiles: {
    settings: ['settings.json', 'extensions', 'trustedFolders.json'].map(name => `.gemini/${name}`),
    secrets: [],
  },
  readInput(text) {
    const input = readWithCommand(text, prompt => prompt.replace(FOR_THE_MODEL, ''));
    const said = stringAt(parseObject(text), 'prompt_response');
    return input && { ...input, isInterrupted: said !== undefined && NO_WORDS.test(said) };
  },
  writeAnswer,
  rootOf: (input, env) => env.GEMINI_PROJECT_DIR || input.cwd,
  // Esc comes as a stop like any other, with the words of earlier turns; then no record of the agent's ends this one.
  async finalWords({ transcript }, since) {
    if (transcript === null) return undefined;
    return (await waitFor(PATIENCE, () => lastMessage(recordsSince(transcript, since)))) ?? null;
  },
  calls: {
    clue: '"toolCalls"',
    // A message is written once without its calls, and again with them.
    idsIn(record) {
      const calls = record.type === 'gemini' ? objectsAt(record, 'toolCalls') : [];
      return calls.map(call => stringAt(call, 'id') ?? '');
    },
    unknownClue: '" not found',
    unknownIn: record =>
      objectsAt(record, 'toolCalls')
        .filter(
          call =>
            call.status === 'error' && /^Tool ".*" not found/.test(stringAt(call, 'resultDisplay') ?? ''),
        )
        .map(call => stringAt(call, 'id') ?? ''),
  },
  contextUse(record) {
    if (record.type !== 'gemini') return undefined;
    const used = sumAt(objectAt(record, 'tokens'), 'input', 'output', 'thoughts');
    return used > 0 ? { used, window: windowOf(wordAt(record, 'model') ?? 'gemini') } : undefined;
  },
  capOf: () => undefined,
};

/** What it says for an agent that was broken off before its first word. */
const NO_WORDS = /^\s*(?:\[no response text\]\s*)?$/;

/** The command file ends with a line for the model, in case that no hook has read it. */
const FOR_THE_MODEL = /\n\n\(Ralph: if [^)]*\)\s*$/;

function writeAnswer(event: string, answer: HookAnswer): string {
  if (answer.kind === 'context') {
    return writeLikeClaude(event, { ...answer, context: unescapedNote(answer.context) });
  }
  if (answer.kind === 'deny') return JSON.stringify({ decision: 'deny', reason: answer.reason });
  if (answer.kind !== 'block') return writeLikeClaude(event, answer);
  const { reason, message, afresh } = answer;
  const isFresh = afresh !== undefined && process.env.RALPH_CLEAR_CONTEXT === '1';
  return JSON.stringify({
    decision: 'deny',
    reason: isFresh ? afresh : reason,
    systemMessage: message,
    ...(isFresh && { hookSpecificOutput: { hookEventName: event, clearContext: true } }),
  });
}

/** undefined while the last word in the transcript is the user's, or a tool's: a message with calls is not the last one of a turn. */
function lastMessage(records: readonly Json[]): readonly string[] | undefined {
  const last = records.findLast(record => record.type === 'gemini' || record.type === 'user');
  if (last?.type !== 'gemini' || objectsAt(last, 'toolCalls').length > 0) return undefined;
  const parts = Array.isArray(last.content) ? last.content : [last.content];
  return parts.flatMap(part => {
    const text: unknown = typeof part === 'string' ? part : part?.text;
    return typeof text === 'string' ? [text] : [];
  });
}
