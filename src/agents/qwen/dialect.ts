/** Qwen Code: Claude Code's events, and a cap that counts every refused stop of a prompt, tools or not. */
import { windowOf } from '../../domain/session/context-alert.ts';
import { countAt, objectAt, objectsAt, stringAt } from '../../domain/text/json.ts';
import { claudeDialect, givenWords, writeAnswer } from '../claude/dialect.ts';
import { type Dialect, sumAt, unescapedNote } from '../dialect.ts';

const DEFAULT_CAP = 8;

export const qwenDialect: Dialect = {
  ...claudeDialect,
  host: 'qwen',
  prefix: '/',
  ownFiles: { settings: ['.qwen/settings.json', '.qwen/extensions'], secrets: [] },
  isCaller: (input, { QWEN_CODE_SESSION_ID: id }) => Boolean(id) && id === input.session_id,
  writeAnswer(event, answer) {
    if (answer.kind !== 'context') return writeAnswer(event, answer);
    return writeAnswer(event, { ...answer, context: unescapedNote(answer.context) });
  },
  finalWords: givenWords,
  calls: {
    clue: '"functionCall"',
    idsIn(record) {
      if (record.type !== 'assistant' || record.isSidechain === true) return [];
      return objectsAt(objectAt(record, 'message'), 'parts').flatMap(part => {
        const call = objectAt(part, 'functionCall');
        return call ? [stringAt(call, 'id') ?? ''] : [];
      });
    },
    unknownClue: '"tool_not_registered"',
    unknownIn(record) {
      const result = objectAt(record, 'toolCallResult');
      return result?.errorType === 'tool_not_registered' ? [stringAt(result, 'callId') ?? ''] : [];
    },
  },
  contextUse(record) {
    const used = sumAt(objectAt(record, 'usageMetadata'), 'promptTokenCount', 'candidatesTokenCount');
    const window = countAt(record, 'contextWindowSize') ?? windowOf(stringAt(record, 'model') ?? '');
    return used > 0 ? { used, window } : undefined;
  },
  capOf(env) {
    const set = Number(env.QWEN_CODE_STOP_HOOK_BLOCK_CAP);
    return {
      host: 'Qwen Code',
      blocks: Number.isSafeInteger(set) && set > 0 ? set : DEFAULT_CAP,
      toolsReset: false,
      lift: 'Set QWEN_CODE_STOP_HOOK_BLOCK_CAP=100 in the environment, the most it allows; resume a loop that it ended with /ralph-loop.',
    };
  },
};
