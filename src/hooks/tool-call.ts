/** What a tool call does, whatever the host calls the tool and its fields: a command, a file written, a file read. */
import type { ToolCall } from '../agents/dialect.ts';
import type { Json } from '../domain/text/json.ts';

export type ToolUse =
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'write' | 'read'; readonly path: string };

const SHELL = /bash|shell|exec|terminal|command|powershell|^run_|_run$/i;
const WRITES = /write|edit|create|replace|patch|notebook|delete|remove|move|rename|insert/i;
const READS = /read|view|cat|open_file/i;

/** Empty for a tool that is none of these. A command that is no text at all is an error: nobody could judge it. */
export function toolUses({ name, input }: ToolCall): readonly ToolUse[] {
  const patch = textAt(input, 'patch', 'patchText', 'input') ?? '';
  const patched = patch.startsWith('*** Begin Patch') ? patchedFiles(patch) : [];
  const command = input.command ?? input.cmd ?? input.script;
  const isPatch = typeof command === 'string' && command.startsWith('*** Begin Patch');
  if (isPatch) return patchedFiles(command);
  if (command !== undefined && (SHELL.test(name) || !hasPath(input)))
    return [{ kind: 'shell', command: commandText(command) }];
  const path = textAt(input, ...PATHS);
  if (path === undefined) return patched;
  if (WRITES.test(name)) return [...patched, { kind: 'write', path }];
  return READS.test(name) ? [...patched, { kind: 'read', path }] : patched;
}

const PATHS = ['file_path', 'filePath', 'path', 'notebook_path', 'absolute_path', 'target_file', 'filename'];

const hasPath = (input: Json) => textAt(input, ...PATHS) !== undefined;

function textAt(input: Json, ...keys: readonly string[]): string | undefined {
  const found = keys.map(key => input[key]).find(value => typeof value === 'string');
  return typeof found === 'string' ? found : undefined;
}

/** Some hosts give commands as words: `["bash", "-lc", "…"]`. */
function commandText(command: unknown): string {
  if (typeof command === 'string') return command;
  if (Array.isArray(command) && command.every(word => typeof word === 'string')) {
    return command.map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  }
  throw new Error('its command is no text');
}

function patchedFiles(patch: string): readonly ToolUse[] {
  const names = [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm)];
  return names.map(found => ({ kind: 'write', path: (found[1] ?? '').trim() }));
}
