/**
 * Every agent that Ralph knows: the one list from which all others are derived. A part that an agent does not have is left
 * out. The lists are apart, so that the hook program, which must start fast, is built with the dialects and nothing else.
 */
import { type Json, parseObject } from '../domain/text/json.ts';
import { acp } from './acp/adapter.ts';
import type { AgentAdapter } from './agent.ts';
import { amp } from './amp/adapter.ts';
import { claude } from './claude/adapter.ts';
import { claudeDialect } from './claude/dialect.ts';
import { codex } from './codex/adapter.ts';
import { codexDialect } from './codex/dialect.ts';
import { copilot } from './copilot/adapter.ts';
import { copilotDialect } from './copilot/dialect.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini/adapter.ts';
import { geminiDialect } from './gemini/dialect.ts';
import { generic } from './generic/adapter.ts';
import { opencode } from './opencode/adapter.ts';
import { opencodeDialect } from './opencode/dialect.ts';
import { pi } from './pi/adapter.ts';
import { qwen } from './qwen/adapter.ts';
import { qwenDialect } from './qwen/dialect.ts';

export const ADAPTERS: readonly AgentAdapter[] = [
  claude,
  codex,
  opencode,
  gemini,
  amp,
  copilot,
  qwen,
  pi,
  acp,
  generic,
];

/** Those that many commands speak. */
export const PROTOCOLS: readonly string[] = /* @__PURE__ */ ADAPTERS.filter(
  ({ isProtocol }) => isProtocol,
).map(({ name }) => name);

/** How the hosts speak to hooks. */
export const DIALECTS: readonly Dialect[] = [
  claudeDialect,
  codexDialect,
  copilotDialect,
  qwenDialect,
  geminiDialect,
  opencodeDialect,
];

/** The commands that are looked for when none is named, in this order; the first one installed is used. */
export const PREFERRED: readonly string[] = /* @__PURE__ */ [claude, codex, opencode, gemini, amp].map(
  adapter => adapter.name,
);

/** By the adapter's name if one is given, else by the command's; a command nobody knows is `generic`. */
export function findAdapter(command: string, adapterName?: string): AgentAdapter {
  const name = commandName(command);
  const own = ADAPTERS.find(adapter => !adapter.isProtocol && adapter.name === name) ?? generic;
  if (adapterName === undefined) return own;
  const found = ADAPTERS.find(adapter => adapter.name === adapterName) ?? generic;
  if (!found.isProtocol) return found;
  // What a command must have of the world is the same whichever way it is talked to.
  const { needs, rootNeeds } = own;
  return { ...found, needs, ...(rootNeeds && { rootNeeds }) };
}

/** `acp:goose acp` is a command and the adapter for it. */
export function protocolOf(name: string): { readonly adapter: string; readonly command: string } | undefined {
  const adapter = PROTOCOLS.find(each => name.startsWith(`${each}:`));
  if (adapter === undefined) return undefined;
  return { adapter, command: name.slice(adapter.length + 1).trim() };
}

/** `C:\bin\Claude.CMD` is `claude`. */
function commandName(command: string): string {
  const base = command.split(/[\\/]/).at(-1) ?? '';
  return base.toLowerCase().replace(/(?:\.(?:exe|cmd|bat|com|ps1|sh|[cm]?js|[cm]?ts))+$/, '');
}

/** `auto`: several hosts run the plugin in Claude Code's format, and call it alike; each shows in what belongs to its call. */
export function findDialect(host: string, stdin: string, env: NodeJS.ProcessEnv): Dialect | undefined {
  if (host !== 'auto') return DIALECTS.find(dialect => dialect.host === host);
  const input: Json = parseObject(stdin) ?? {};
  return DIALECTS.find(dialect => dialect.isCaller?.(input, env)) ?? claudeDialect;
}

/** The files of all hosts that the guard keeps an agent from, and the commands by which they are started. */
export const GUARDED = {
  settings: DIALECTS.flatMap(dialect => dialect.ownFiles.settings),
  secrets: DIALECTS.flatMap(dialect => dialect.ownFiles.secrets),
  commands: DIALECTS.map(dialect => dialect.host),
};
