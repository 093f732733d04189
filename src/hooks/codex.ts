/** Codex: Claude Code's dialect without an event for slash commands; a turn has a number, and its last words are always told. */
import { claude, readInput } from './claude.ts';
import { commandIn, type Dialect, parseObject, unescapedNote } from './host.ts';

export const codex: Dialect = {
  ...claude,
  host: 'codex',
  prefix: '$',
  moments: {
    SessionStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'before-tool',
    PostToolUse: 'tools',
    Stop: 'stop',
  },
  readInput(text) {
    const input = readInput(text);
    const turn = parseObject(text)?.turn_id;
    if (!input) return undefined;
    return { ...input, ...commandIn(input.prompt), promptId: typeof turn === 'string' ? turn : null };
  },
  writeAnswer(event, answer) {
    if (answer.kind === 'nothing' || answer.kind === 'deny' || answer.message === undefined)
      return claude.writeAnswer(event, answer);
    const message = dollars(answer.message);
    if (answer.kind !== 'block') return claude.writeAnswer(event, { ...answer, message });
    const reason = event === 'Stop' ? unescapedNote(answer.reason) : dollars(answer.reason);
    return claude.writeAnswer(event, { ...answer, reason, message });
  },
  rootOf: input => input.cwd,
  finalWords: async ({ lastWords }) => (lastWords === null ? [] : [lastWords]),
  capOf: () => undefined,
  told: 'whole',
  promptField: 'turn_id',
};

/** Its terminal takes a slash for commands of its own only; a skill is called with a dollar sign. */
function dollars(message: string): string {
  return message.replace(/\/(ralph-loop|ulw-loop|cancel-ralph)\b/g, '$$$1');
}
