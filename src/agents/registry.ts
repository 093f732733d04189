/** Which adapter belongs to a command. */
import type { AgentAdapter } from './agent.ts';
import { amp } from './amp/adapter.ts';
import { claude } from './claude/adapter.ts';
import { codex } from './codex/adapter.ts';
import { copilot } from './copilot/adapter.ts';
import { gemini } from './gemini/adapter.ts';
import { generic } from './generic/adapter.ts';
import { opencode } from './opencode/adapter.ts';
import { qwen } from './qwen/adapter.ts';

export const ADAPTERS: readonly AgentAdapter[] = [
  claude,
  codex,
  opencode,
  gemini,
  amp,
  copilot,
  qwen,
  generic,
];

/** The commands that are looked for when none is named; the first one installed is used. */
export const PREFERRED: readonly string[] = ['claude', 'codex', 'opencode', 'gemini', 'amp'];

/** By the adapter's name if one is given, else by the command's; a command nobody knows is `generic`. */
export function findAdapter(command: string, adapterName?: string): AgentAdapter {
  const wanted = adapterName ?? commandName(command);
  return ADAPTERS.find(adapter => adapter.name === wanted) ?? generic;
}

/** `C:\bin\Claude.CMD` is `claude`. */
function commandName(command: string): string {
  const base = command.split(/[\\/]/).at(-1) ?? '';
  return base.toLowerCase().replace(/(?:\.(?:exe|cmd|bat|com|ps1|sh|[cm]?js|[cm]?ts))+$/, '');
}
