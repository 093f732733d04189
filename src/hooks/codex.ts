/** Codex: Claude Code's dialect without an event for slash commands; a turn has a number, and its last words are always told. */
import { claude, readInput } from './claude.ts';
import { commandIn, type Dialect, parseObject, unescapedNote } from './host.ts';

export const codex: Dialect = {
  ...claude,
  host: 'codex',
  prefix: '',
  moments: { SessionStart: 'start', UserPromptSubmit: 'prompt', PostToolUse: 'tools', Stop: 'stop' },
  readInput(text) {
    const input = readInput(text);
    const turn = parseObject(text)?.turn_id;
    if (!input) return undefined;
    return { ...input, ...commandIn(input.prompt), promptId: typeof turn === 'string' ? turn : null };
  },
  writeAnswer(event, answer) {
    const isReason = answer.kind === 'block' && event === 'Stop';
    return claude.writeAnswer(event, isReason ? { ...answer, reason: unescapedNote(answer.reason) } : answer);
  },
  rootOf: input => input.cwd,
  finalWords: async ({ lastWords }) => (lastWords === null ? [] : [lastWords]),
  capOf: () => undefined,
};
