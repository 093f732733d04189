/** Codex: Claude Code's dialect without an event for slash commands. Its input holds the agent's last words always. */
import { windowOf } from '../../domain/session/context-alert.ts';
import { countAt, objectAt, parseObject, stringAt } from '../../domain/text/json.ts';
import { claudeDialect, givenWords, readWithCommand, writeAnswer } from '../claude/dialect.ts';
import { type Dialect, sumAt, unescapedNote } from '../dialect.ts';

export const codexDialect: Dialect = {
  ...claudeDialect,
  host: 'codex',
  prefix: '$',
  moments: {
    SessionStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'before-tool',
    PostToolUse: 'tools',
    Stop: 'stop',
  },
  ownFiles: {
    settings: ['config.toml', 'hooks.json', 'hooks', 'rules', 'plugins'].map(name => `.codex/${name}`),
    secrets: ['.codex/auth.json'],
  },
  isCaller(input, { CLAUDE_PLUGIN_ROOT: root, PLUGIN_ROOT }) {
    return root !== undefined && root !== '' && root === PLUGIN_ROOT && typeof input.turn_id === 'string';
  },
  readInput(text) {
    const input = readWithCommand(text);
    return input && { ...input, promptId: stringAt(parseObject(text), 'turn_id') ?? null };
  },
  writeAnswer(event, answer) {
    if (answer.kind === 'nothing' || answer.kind === 'deny' || answer.message === undefined)
      return writeAnswer(event, answer);
    const message = dollars(answer.message);
    if (answer.kind !== 'block') return writeAnswer(event, { ...answer, message });
    const reason = event === 'Stop' ? unescapedNote(answer.reason) : dollars(answer.reason);
    return writeAnswer(event, { ...answer, reason, message });
  },
  rootOf: input => input.cwd,
  finalWords: givenWords,
  calls: {
    // A function, a custom tool, a local shell, a web search.
    clue: '_call"',
    idsIn(record) {
      const item = record.type === 'response_item' ? objectAt(record, 'payload') : undefined;
      if (!stringAt(item, 'type')?.endsWith('_call')) return [];
      return [stringAt(item, 'call_id') ?? stringAt(item, 'id') ?? ''];
    },
    unknownClue: 'unsupported call: ',
    unknownIn(record) {
      const item = objectAt(record, 'payload');
      const isUnknown = stringAt(item, 'output')?.startsWith('unsupported call: ');
      return isUnknown ? [stringAt(item, 'call_id') ?? ''] : [];
    },
  },
  /** It reports the window, too. */
  contextUse(record) {
    const payload = objectAt(record, 'payload');
    if (payload?.type !== 'token_count') return undefined;
    const info = objectAt(payload, 'info');
    const used = sumAt(objectAt(info, 'last_token_usage'), 'input_tokens', 'output_tokens');
    const window = countAt(info, 'model_context_window') || windowOf('gpt-5');
    return used > 0 ? { used, window } : undefined;
  },
  capOf: () => undefined,
};

/** Its terminal takes a slash for commands of its own only; a skill is called with a dollar sign. */
function dollars(message: string): string {
  return message.replace(/\/(ralph-loop|ulw-loop|cancel-ralph|hand-over)\b/g, '$$$1');
}
