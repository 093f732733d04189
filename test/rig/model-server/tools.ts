/** Portable tool calls: picks the tool name and the argument shape from the tools that the client offered. */
import { array, isObject, type Json, object, string } from './json.ts';
import type { ToolUse } from './script.ts';

/** `custom` tools take free text, `function` tools a JSON object that fits `schema`. */
export interface OfferedTool {
  readonly name: string;
  readonly kind: 'function' | 'custom';
  readonly schema: Json;
  /** The Responses API can put tools under a common name; a call must then give it, too. */
  readonly namespace?: string;
}

export interface ToolCall {
  readonly name: string;
  readonly kind: 'function' | 'custom';
  readonly input: Json | string;
  readonly namespace?: string;
}

const SHELLS = [
  'bash',
  'shell',
  'shell_command',
  'exec_command',
  'run_shell_command',
  'execute',
  'execute_command',
  'run_terminal_cmd',
  'terminal',
];
const WRITERS = ['write', 'write_file', 'create_file', 'create', 'write_to_file'];
const COMMAND_KEYS = ['command', 'cmd', 'script'];
const PATH_KEYS = ['file_path', 'filePath', 'path', 'absolute_path', 'filename', 'target_file'];
const CONTENT_KEYS = ['content', 'contents', 'file_text', 'text'];

/** The concrete call, or the sentence why this client cannot be asked for it. */
export function concrete(use: ToolUse, offered: readonly OfferedTool[]): ToolCall | string {
  if (!('do' in use)) return exactCall(use, offered);
  const call =
    use.do === 'shell' ? shellCall(use.command, offered) : writeCall(use.path, use.content, offered);
  if (call !== undefined) return call;
  const names = offered.map(tool => tool.name).join(', ') || 'none';
  return `the client offers no tool for "do: ${use.do}"; it offers: ${names}`;
}

function exactCall(
  { name, input }: Extract<ToolUse, { readonly name: string }>,
  offered: readonly OfferedTool[],
): ToolCall {
  const namespace = offered.find(tool => tool.name === name)?.namespace;
  const kind = typeof input === 'string' ? 'custom' : 'function';
  return { name, kind, input, ...(namespace !== undefined && { namespace }) };
}

function shellCall(command: string, offered: readonly OfferedTool[]): ToolCall | undefined {
  for (const tool of named(SHELLS, offered)) {
    const key = firstKey(tool, COMMAND_KEYS);
    if (key === undefined) continue;
    const takesWords = object(properties(tool)[key]).type === 'array';
    return functionCall(tool, { [key]: takesWords ? ['bash', '-lc', command] : command });
  }
  return codeModeCall(`text(await tools.exec_command(${JSON.stringify({ cmd: command })}))`, offered);
}

function writeCall(path: string, content: string, offered: readonly OfferedTool[]): ToolCall | undefined {
  for (const tool of named(WRITERS, offered)) {
    const pathKey = firstKey(tool, PATH_KEYS);
    const contentKey = firstKey(tool, CONTENT_KEYS);
    if (pathKey === undefined || contentKey === undefined) continue;
    return functionCall(tool, { [pathKey]: path, [contentKey]: content });
  }
  for (const tool of named(['apply_patch'], offered)) {
    const patch = addFilePatch(path, content);
    if (tool.kind === 'custom') return { name: tool.name, kind: 'custom', input: patch };
    return functionCall(tool, { [firstKey(tool, ['input', 'patch', 'patchText']) ?? 'input']: patch });
  }
  const coded = codeModeCall(
    `text(await tools.apply_patch(${JSON.stringify(addFilePatch(path, content))}))`,
    offered,
  );
  return coded ?? shellCall(writeCommand(path, content), offered);
}

/** Codex's code mode offers one tool, `exec`, that takes JavaScript with the real tools in its scope. */
function codeModeCall(code: string, offered: readonly OfferedTool[]): ToolCall | undefined {
  const exec = offered.find(tool => tool.name === 'exec' && tool.kind === 'custom');
  return exec && { name: exec.name, kind: 'custom', input: code };
}

/** A patch always ends a file's last line, so `content` should end in a newline. */
function addFilePatch(path: string, content: string): string {
  const lines = content.replace(/\n$/, '').split('\n');
  return [
    '*** Begin Patch',
    `*** Add File: ${path}`,
    ...lines.map(line => `+${line}`),
    '*** End Patch',
    '',
  ].join('\n');
}

function writeCommand(path: string, content: string): string {
  const quoted = `'${path.replaceAll("'", `'\\''`)}'`;
  return `printf %s '${Buffer.from(content).toString('base64')}' | base64 -d > ${quoted}`;
}

function* named(names: readonly string[], offered: readonly OfferedTool[]): Generator<OfferedTool> {
  for (const name of names) {
    for (const tool of offered) if (tool.name.toLowerCase() === name) yield tool;
  }
}

function properties(tool: OfferedTool): Json {
  return object(tool.schema.properties);
}

function firstKey(tool: OfferedTool, keys: readonly string[]): string | undefined {
  return keys.find(key => Object.hasOwn(properties(tool), key));
}

/** Fills what the schema requires beyond the arguments that matter, such as a description of the command. */
function functionCall(tool: OfferedTool, known: Json): ToolCall {
  const filled = array(tool.schema.required)
    .map(string)
    .map(key => [key, filler(object(properties(tool)[key]))]);
  return { name: tool.name, kind: 'function', input: { ...Object.fromEntries(filled), ...known } };
}

function filler(schema: Json): unknown {
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const type = String(array(schema.type)[0] ?? schema.type).toLowerCase();
  if (type === 'boolean') return false;
  if (type === 'number' || type === 'integer') return schema.minimum ?? 1;
  if (type === 'array') return [];
  if (type === 'object' || isObject(schema.properties)) return {};
  return 'scripted';
}
