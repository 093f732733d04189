/**
 * The guard before a tool runs. The one hook that fails closed: what it cannot judge, it refuses. Its rules and its parser of
 * shell are in a file of their own, so that hooks that do not guard need not load them.
 */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { type HookAnswer, type HookInput, NOTHING, type ToolCall } from '../agents/dialect.ts';
import { GUARDED } from '../agents/registry.ts';
import type { GuardOrders } from '../domain/session/hook-orders.ts';
import { GUARD_REFUSED } from '../domain/turn/refusals.ts';
import type { Finding, GuardWorld } from '../guard/guard.ts';
import { tryTo } from '../platform/files.ts';
import { loadBeside } from './load-heavy.ts';

export interface GuardVerdict {
  readonly answer: HookAnswer;
  /** What was refused, and what was let pass with a warning, a sentence each. */
  readonly refused: readonly string[];
  readonly warned: readonly string[];
}

export function guard(orders: GuardOrders, root: string, input: HookInput): GuardVerdict {
  try {
    return judge(orders, root, input);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refusal([`this call could not be judged (${why}). Try it in another way.`]);
  }
}

export function refusal(refused: readonly string[]): GuardVerdict {
  return {
    answer: { kind: 'deny', reason: `${GUARD_REFUSED}: ${refused.join(' ')}` },
    refused,
    warned: [],
  };
}

function judge(orders: GuardOrders, root: string, { tool, cwd: there }: HookInput): GuardVerdict {
  const uses = toolUses(tool);
  if (uses.length === 0) return { answer: NOTHING, refused: [], warned: [] };
  const { judgeCommand, judgeRead, judgeWrite, sentenceOf } = loadBeside('ralph-guard');
  const cwd = resolve(there || root, folderIn(tool) ?? '');
  const world = { ...worldOf(orders, root, there), cwd };
  const findings = uses.flatMap((use): readonly Finding[] => {
    if (use.kind === 'shell') return judgeCommand(use.command, world);
    return use.kind === 'write' ? judgeWrite(use.path, world) : judgeRead(use.path, world);
  });
  const refused = findings.filter(({ tier }) => tier === 'block').map(sentenceOf);
  const warned = findings.filter(({ tier }) => tier === 'warn').map(sentenceOf);
  if (refused.length > 0) return { ...refusal(refused.slice(0, MOST_NAMED)), warned };
  if (warned.length === 0) return { answer: NOTHING, refused, warned };
  const context = `Ralph's guard let this pass, with a warning: ${warned.slice(0, MOST_NAMED).join(' ')}`;
  return { answer: { kind: 'context', context }, refused, warned };
}

const MOST_NAMED = 2;

function worldOf({ allow, deny, protect }: GuardOrders, given: string, cwd: string): GuardWorld {
  const root = rootOf(given, cwd);
  const { env } = process;
  const home = env.HOME || homedir();
  return { root, cwd: cwd || root, home, env, protect, allow, deny, agents: GUARDED, readScript };
}

/** The host may name its folder by its real name, the run by another. */
function rootOf(root: string, cwd: string): string {
  const names = [root, tryTo(() => realpathSync(root)) ?? root];
  return names.find(name => cwd === name || cwd.startsWith(`${name}/`)) ?? root;
}

const LONGEST_SCRIPT = 256 * 1024;

/** A script that is on the disk and is one for a shell. */
function readScript(path: string, cwd: string | undefined): string | undefined {
  const file = resolve(cwd ?? '.', path);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size > LONGEST_SCRIPT) return undefined;
  const text = readFileSync(file, 'utf8');
  const [, interpreter] = /^#!\s*(\S.*)/.exec(text) ?? [];
  if (text.includes('\0') || (interpreter !== undefined && !/\b(?:ba|z|da|k|a)?sh\b/.test(interpreter)))
    return undefined;
  return text;
}

type ToolUse =
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'write' | 'read'; readonly path: string };

const SHELL = /bash|shell|exec|terminal|command|powershell|^run_|_run$/i;
const WRITES = /write|edit|create|replace|patch|notebook|delete|remove|move|rename|insert/i;
const READS = /read|view|cat|open_file|grep|search/i;

/** Empty for a tool that is none of these. A command that is no text at all is an error: nobody could judge it. */
function toolUses({ name, input }: ToolCall): readonly ToolUse[] {
  const patches = [input.patch, input.patchText, input.input].filter(isPatch);
  const patched = patches.flatMap(patchedFiles);
  const command = input.command ?? input.cmd ?? input.script;
  if (isPatch(command)) return patchedFiles(command);
  const paths = pathsIn(input);
  if (command !== undefined && (SHELL.test(name) || paths.length === 0))
    return [{ kind: 'shell', command: commandText(command) }];
  const kind = WRITES.test(name) ? 'write' : READS.test(name) ? 'read' : undefined;
  return [...patched, ...(kind === undefined ? [] : paths.map((path): ToolUse => ({ kind, path })))];
}

/** What hosts and their tools call a file: `file_path`, `notebook_path`, `target_file`, `paths`, `destination`. */
const NAMES_FILE = /(?:path|file|filename)s?$|^(?:source|destination|uri|include)$/i;

/** The values of all fields with such a name, however deep. */
function pathsIn(value: unknown, field = ''): readonly string[] {
  if (typeof value === 'string') return NAMES_FILE.test(field) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(each => pathsIn(each, field));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => pathsIn(each, name));
}

const NAMES_FOLDER = /^(?:work(?:ing)?_?)?dir(?:ectory|_path)?$|^cwd$/i;

/** The folder that its command is to run in, if it names one. */
function folderIn({ input }: ToolCall): string | undefined {
  const found = Object.entries(input).find(
    ([field, value]) => NAMES_FOLDER.test(field) && typeof value === 'string',
  );
  return found && String(found[1]);
}

/** Some hosts give commands as words: `["bash", "-lc", "…"]`. */
function commandText(command: unknown): string {
  if (typeof command === 'string') return command;
  if (Array.isArray(command) && command.every(word => typeof word === 'string')) {
    return command.map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  }
  throw new Error('its command is no text');
}

const isPatch = (text: unknown): text is string =>
  typeof text === 'string' && /^\s*\*\*\* Begin Patch/.test(text);

function patchedFiles(patch: string): readonly ToolUse[] {
  const names = [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm)];
  return names.map(found => ({ kind: 'write', path: (found[1] ?? '').trim() }));
}
