/** OpenCode: it has plugins instead of hooks, and this is what Ralph's own plugin says and hears. */
import { claude, readInput } from './claude.ts';
import { commandIn, type Dialect, type HookAnswer } from './host.ts';

export const opencode: Dialect = {
  ...claude,
  host: 'opencode',
  prefix: '/',
  moments: {
    'chat.message': 'prompt',
    'tool.execute.before': 'before-tool',
    'tool.execute.after': 'tools',
    'text.complete': 'peek',
    'step-finish': 'stop',
  },
  readInput(text) {
    const input = readInput(text);
    return input && { ...input, ...commandIn(input.prompt) };
  },
  writeAnswer,
  rootOf: input => input.cwd,
  finalWords: async ({ lastWords }) => (lastWords === null ? [] : [lastWords]),
  capOf: () => undefined,
  told: 'not',
};

function writeAnswer(_event: string, answer: HookAnswer): string {
  if (answer.kind === 'nothing') return '';
  if (answer.kind === 'deny') return JSON.stringify(answer);
  const { kind: _kind, ...rest } = answer;
  return JSON.stringify(rest);
}
