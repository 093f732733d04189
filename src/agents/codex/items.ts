/** The items of codex: what it says, thinks and does. */
import type { AgentEvent } from '../../domain/agent-event.ts';
import { type Json, numberAt, objectAt, objectsAt, stringAt, wordAt } from '../../domain/json.ts';
import { oneLine, toolEnd, toolStart } from '../tools.ts';

type ItemRecord = 'item.started' | 'item.updated' | 'item.completed';

export function itemEvents(record: ItemRecord, item: Json | undefined): readonly AgentEvent[] {
  const type = stringAt(item, 'type') ?? '';
  switch (type) {
    case 'agent_message':
      return record === 'item.completed' ? spoken(item) : [];
    case 'reasoning':
      return record === 'item.completed' ? thought(item) : [];
    case 'todo_list':
      return [todoEvent(item)];
    case 'error': // a warning, such as an unknown model; a real failure is a record of its own
      return [{ kind: 'progress', text: oneLine(stringAt(item, 'message') ?? 'warning') }];
    case 'command_execution':
    case 'file_change':
    case 'mcp_tool_call':
    case 'web_search':
    case 'collab_tool_call':
      return item ? toolEvents(record, type, item) : [];
    default:
      return [{ kind: 'unknown', what: oneLine(`item ${type}`) }];
  }
}

function spoken(item: Json | undefined): readonly AgentEvent[] {
  const text = stringAt(item, 'text') ?? '';
  return text === '' ? [] : [{ kind: 'text', text }];
}

function thought(item: Json | undefined): readonly AgentEvent[] {
  const text = stringAt(item, 'text') ?? '';
  return text === '' ? [] : [{ kind: 'aside', from: 'thinking', text }];
}

function todoEvent(item: Json | undefined): AgentEvent {
  const items = objectsAt(item, 'items').map(todo => ({
    text: stringAt(todo, 'text') ?? '',
    status: todo.completed === true ? ('done' as const) : ('pending' as const),
  }));
  return { kind: 'todo', items };
}

type ToolType = 'command_execution' | 'file_change' | 'mcp_tool_call' | 'web_search' | 'collab_tool_call';

function toolEvents(record: ItemRecord, type: ToolType, item: Json): readonly AgentEvent[] {
  const id = stringAt(item, 'id') ?? '';
  if (record === 'item.started') return toolStart({ id, ...startOf(type, item) });
  if (record === 'item.updated') return [];
  const status = stringAt(item, 'status') ?? 'completed';
  const exitCode = numberAt(item, 'exit_code');
  return [toolEnd({ id, ok: status === 'completed', text: outputOf(type, item), exitCode })];
}

function startOf(type: ToolType, item: Json): { readonly name: string; readonly input: unknown } {
  switch (type) {
    case 'command_execution':
      return { name: 'shell', input: unwrapShell(stringAt(item, 'command') ?? '') };
    case 'file_change':
      return { name: 'apply_patch', input: changesOf(item) };
    case 'mcp_tool_call':
      return {
        name: [wordAt(item, 'server'), wordAt(item, 'tool')].filter(Boolean).join('.'),
        input: item.arguments,
      };
    case 'web_search':
      return { name: 'web_search', input: stringAt(item, 'query') ?? '' };
    case 'collab_tool_call':
      return { name: wordAt(item, 'tool') ?? 'collab', input: stringAt(item, 'prompt') ?? '' };
    default:
      return type satisfies never;
  }
}

function changesOf(item: Json): string {
  const changes = objectsAt(item, 'changes');
  return changes
    .map(change => `${stringAt(change, 'kind') ?? ''} ${stringAt(change, 'path') ?? ''}`)
    .join(', ');
}

function outputOf(type: ToolType, item: Json): string {
  if (type === 'command_execution') return stringAt(item, 'aggregated_output') ?? '';
  if (type !== 'mcp_tool_call') return '';
  const texts = objectsAt(objectAt(item, 'result'), 'content').map(block => stringAt(block, 'text') ?? '');
  return stringAt(objectAt(item, 'error'), 'message') ?? texts.join('\n');
}

/** Takes `/bin/bash -lc '…'` off a command: everybody knows that it runs in a shell. Only the beginning is kept. */
export function unwrapShell(whole: string): string {
  const command = whole.slice(0, SHOWN_CHARS); // a command may hold a file of megabytes
  const script = /^\S*\b(?:bash|zsh|sh|dash)\s+-l?c\s+([\s\S]+)$/.exec(command)?.[1];
  return script === undefined ? command : unquote(script.trim());
}

const SHOWN_CHARS = 4_000;

/** One shell word without its quotes. */
function unquote(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, single, double, escaped) => {
    if (single !== undefined) return single;
    return double === undefined ? escaped : double.replace(/\\([$`"\\])/g, '$1');
  });
}
