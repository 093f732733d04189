/** Qwen Code: Claude Code's events, and a cap that counts every refused stop of a prompt, tools or not. */
import { claude } from './claude.ts';
import { type Dialect, unescapedNote } from './host.ts';

const DEFAULT_CAP = 8;

export const qwen: Dialect = {
  ...claude,
  host: 'qwen',
  prefix: '/',
  writeAnswer(event, answer) {
    if (answer.kind !== 'context') return claude.writeAnswer(event, answer);
    return claude.writeAnswer(event, { ...answer, context: unescapedNote(answer.context) });
  },
  finalWords: async ({ lastWords }) => (lastWords === null ? [] : [lastWords]),
  told: 'whole',
  capOf(env) {
    const set = Number(env.QWEN_CODE_STOP_HOOK_BLOCK_CAP);
    return {
      host: 'Qwen Code',
      blocks: Number.isSafeInteger(set) && set > 0 ? set : DEFAULT_CAP,
      toolsReset: false,
      lift: 'QWEN_CODE_STOP_HOOK_BLOCK_CAP=100 in the environment is the most it allows; /ralph-loop goes on with a loop that it ended.',
    };
  },
};
