/** OpenCode: it has plugins instead of hooks, and this is what Ralph's own plugin says and hears. */
import { parseObject } from '../../domain/text/json.ts';
import { claudeDialect, givenWords, readWithCommand } from '../claude/dialect.ts';
import type { Dialect, HookAnswer } from '../dialect.ts';

export const opencodeDialect: Dialect = {
  ...claudeDialect,
  host: 'opencode',
  prefix: '/',
  moments: {
    'chat.message': 'prompt',
    'tool.execute.before': 'before-tool',
    'text.complete': 'peek',
    'step-finish': 'stop',
    'session.error': 'stop',
  },
  ownFiles: {
    settings: ['.opencode/plugin', '.opencode/plugins', '.config/opencode'],
    secrets: [],
  },
  readInput(text) {
    const input = readWithCommand(text);
    return input && { ...input, isInterrupted: parseObject(text)?.interrupted === true };
  },
  writeAnswer,
  rootOf: input => input.cwd,
  finalWords: givenWords,
  // Its sessions are in a database; the plugin sees every call.
  calls: null,
  contextUse: () => undefined,
  capOf: () => undefined,
};

function writeAnswer(_event: string, answer: HookAnswer): string {
  if (answer.kind === 'nothing') return '';
  if (answer.kind === 'deny') return JSON.stringify(answer);
  const { kind: _kind, ...rest } = answer;
  return JSON.stringify(rest);
}
