/**
 * Copilot CLI: Claude Code's event names, answers of its own. A stop comes without a word of the agent, and before its
 * transcript is written. What a hook says to the user is not shown, so a warning goes with the reason.
 */
import { claude, readInput } from './claude.ts';
import { commandIn, type Dialect, type HookAnswer, type Json } from './host.ts';
import { lastRecords, patiently } from './transcript.ts';

const PATIENCE = 5_000;
const CAP = 8;

export const copilot: Dialect = {
  ...claude,
  host: 'copilot',
  prefix: '/ralph:',
  moments: { UserPromptSubmit: 'prompt', PreToolUse: 'before-tool', PostToolUse: 'tools', Stop: 'stop' },
  readInput(text) {
    const input = readInput(text);
    return input && { ...input, ...commandIn(asTyped(input.prompt)) };
  },
  writeAnswer,
  told: 'not',
  async finalWords({ transcript, lastWords, calledAt }) {
    const told = lastWords === null ? [] : [lastWords];
    if (transcript === null) return told;
    return (await patiently(PATIENCE, () => lastMessage(lastRecords(transcript), calledAt))) ?? told;
  },
  capOf: () => ({
    host: 'Copilot CLI',
    blocks: CAP,
    toolsReset: true,
    lift: 'Nothing lifts that; /ralph:ralph-loop goes on with a loop that it ended.',
  }),
};

/** In its terminal the command is a skill, and the prompt is that skill, with what the user typed at its end. */
const SKILL =
  /^The user explicitly invoked the "(\/ralph:[\w-]+)" skill\.[\s\S]*?(?:\nARGUMENTS: ([\s\S]*))?\n<\/skill-context>\s*$/;

function asTyped(prompt: string): string {
  const [, command, rest = ''] = SKILL.exec(prompt) ?? [];
  return command === undefined ? prompt : `${command} ${rest}`;
}

function writeAnswer(event: string, answer: HookAnswer): string {
  switch (answer.kind) {
    case 'nothing':
    case 'say':
      return '';
    case 'deny':
      return claude.writeAnswer(event, answer);
    case 'block': {
      const { reason, warning } = answer;
      return JSON.stringify({
        decision: 'block',
        reason: warning === undefined ? reason : `${reason}\n\n${warning}`,
      });
    }
    case 'context':
      if (event === 'PreToolUse') return claude.writeAnswer(event, answer);
      return JSON.stringify({ modifiedPrompt: answer.context });
    default:
      return answer satisfies never;
  }
}

/** undefined until the host has written down that it made this very call: what the agent said stands before that. */
function lastMessage(records: readonly Json[], calledAt: number | null): readonly string[] | undefined {
  const call = records.findLastIndex(record => isStop(record, calledAt));
  if (call < 0) return undefined;
  const message = records.slice(0, call).findLast(isOwnMessage);
  const content = message && data(message).content;
  return typeof content === 'string' ? [content] : [];
}

function isStop(record: Json, calledAt: number | null): boolean {
  const { hookType, input } = data(record);
  if (record.type !== 'hook.start' || hookType !== 'agentStop') return false;
  return calledAt === null || (input as Json | undefined)?.timestamp === calledAt;
}

/** A sub-agent's message names the call that started it. */
function isOwnMessage(record: Json): boolean {
  return record.type === 'assistant.message' && data(record).parentToolCallId === undefined;
}

function data(record: Json): Json {
  return typeof record.data === 'object' && record.data !== null ? (record.data as Json) : {};
}
