/**
 * Copilot CLI: Claude Code's event names, answers of its own. A stop comes without a word of the agent, and before its
 * transcript is written. What a hook says to the user is not shown, so a warning goes with the reason.
 */
import { type Json, objectAt, stringAt } from '../../domain/text/json.ts';
import {
  claudeDialect,
  givenWords,
  readWithCommand,
  writeAnswer as writeLikeClaude,
} from '../claude/dialect.ts';
import type { Dialect, HookAnswer } from '../dialect.ts';
import { lastRecords, waitFor } from '../transcript.ts';

const PATIENCE = 5_000;
const CAP = 8;

export const copilotDialect: Dialect = {
  ...claudeDialect,
  host: 'copilot',
  prefix: '/ralph:',
  moments: { UserPromptSubmit: 'prompt', PreToolUse: 'before-tool', Stop: 'stop' },
  ownFiles: {
    settings: ['.copilot/config.json', '.copilot/settings.json', '.copilot/hooks', '.github/hooks'],
    secrets: [],
  },
  isCaller(_, { CLAUDE_PLUGIN_ROOT: root, COPILOT_PLUGIN_ROOT }) {
    return root !== undefined && root !== '' && root === COPILOT_PLUGIN_ROOT;
  },
  readInput: text => readWithCommand(text, asTyped),
  writeAnswer,
  async finalWords(input) {
    const { transcript, calledAt } = input;
    if (transcript === null) return await givenWords(input);
    const look = () => lastMessage(lastRecords(transcript), calledAt);
    return (await waitFor(PATIENCE, look)) ?? (await givenWords(input));
  },
  calls: {
    clue: '"tool.execution_start"',
    idsIn(record) {
      const data = record.type === 'tool.execution_start' ? objectAt(record, 'data') : undefined;
      return data && !data.parentToolCallId ? [stringAt(data, 'toolCallId') ?? ''] : [];
    },
    unknownClue: "' does not exist.",
    unknownIn(record) {
      const data = record.type === 'tool.execution_complete' ? objectAt(record, 'data') : undefined;
      const why = stringAt(objectAt(data, 'error'), 'message') ?? '';
      return /^Tool '.*' does not exist\.$/.test(why) ? [stringAt(data, 'toolCallId') ?? ''] : [];
    },
  },
  // Only a stop's input names it.
  toolHookKnowsTranscript: false,
  contextUse: () => undefined,
  capOf: () => ({
    host: 'Copilot CLI',
    blocks: CAP,
    toolsReset: true,
    lift: 'This limit cannot be changed; resume a loop that it ended with /ralph:ralph-loop.',
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
      return writeLikeClaude(event, answer);
    case 'block': {
      const { reason, warning } = answer;
      return JSON.stringify({
        decision: 'block',
        reason: warning === undefined ? reason : `${reason}\n\n${warning}`,
      });
    }
    case 'context':
      if (event === 'PreToolUse') return writeLikeClaude(event, answer);
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
  const content = stringAt(objectAt(message, 'data'), 'content');
  return content === undefined ? [] : [content];
}

function isStop(record: Json, calledAt: number | null): boolean {
  const data = objectAt(record, 'data');
  if (record.type !== 'hook.start' || data?.hookType !== 'agentStop') return false;
  return calledAt === null || objectAt(data, 'input')?.timestamp === calledAt;
}

/** A sub-agent's message names the call that started it. */
function isOwnMessage(record: Json): boolean {
  return record.type === 'assistant.message' && objectAt(record, 'data')?.parentToolCallId === undefined;
}
