/** Every host whose hooks can hold a loop. */
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { type Dialect, parseObject } from './host.ts';
import { opencode } from './opencode.ts';
import { qwen } from './qwen.ts';

const DIALECTS: readonly Dialect[] = [claude, codex, copilot, qwen, gemini, opencode];

/** `auto`: the plugin in Claude Code's format runs in four hosts, which call it alike; each shows in what it tells. */
export function dialectFor(host: string, stdin: string, env: NodeJS.ProcessEnv): Dialect | undefined {
  const name = host === 'auto' ? hostOf(stdin, env) : host;
  return DIALECTS.find(dialect => dialect.host === name);
}

/** By what belongs to this very call; the environment of an outer agent may be inherited. */
function hostOf(stdin: string, env: NodeJS.ProcessEnv): string {
  const input = parseObject(stdin) ?? {};
  if (env.QWEN_CODE_SESSION_ID && env.QWEN_CODE_SESSION_ID === input.session_id) return 'qwen';
  const root = env.CLAUDE_PLUGIN_ROOT;
  if (root && env.COPILOT_PLUGIN_ROOT === root) return 'copilot';
  if (root && env.PLUGIN_ROOT === root && typeof input.turn_id === 'string') return 'codex';
  return 'claude';
}
