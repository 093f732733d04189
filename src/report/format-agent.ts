/** What the agent says and does, for people. Tool starts and ends find each other by id, in whatever order they come. */
import type { AgentEvent, TodoItem, TodoStatus } from '../domain/turn/agent-event.ts';
import { beginning, clip, displayWidth, harmless, oneLine, wrap } from '../platform/text.ts';
import { counted } from './numbers.ts';
import { capital, eventPhrase, phrase, type Tool, toolLabel } from './phrases.ts';
import { hanging, type Mark, mark, markLines, paint, type Style, sign, textWidth } from './style.ts';

/** Lines that belong together. A blank line comes between two blocks of different groups. */
export interface Block {
  readonly group: string;
  readonly lines: readonly string[];
}

export const NOTHING: Block = { group: '', lines: [] };

/** Everything but `text`, which streams. */
export type AgentAction = Exclude<AgentEvent, { kind: 'text' }>;

/** Its list is shown as a list; the call itself adds nothing. */
const TODO_TOOL = 'TodoWrite';

type ToolEnd = AgentAction & { kind: 'tool-end' };

export function createAgentFormat(style: Style): (event: AgentAction) => Block {
  const open = new Map<string, Tool>();
  let latest: string | undefined;
  let session = '';

  const start = (event: AgentAction & { kind: 'tool-start' }): Block => {
    const tool: Tool = { name: event.name, summary: event.summary };
    remember(open, event.id, tool);
    latest = event.id;
    if (tool.name === TODO_TOOL) return NOTHING;
    return { group: 'tool', lines: indented(event.subagent, [startLine(style, tool)]) };
  };
  const end = (event: ToolEnd): Block => {
    const tool = open.get(event.id);
    open.delete(event.id);
    if (tool?.name === TODO_TOOL && event.ok) return NOTHING;
    const head = endLine(style, event, tool, latest === event.id);
    return {
      group: 'tool',
      lines: indented(event.subagent, [head, ...outputLines(style, event.output.preview)]),
    };
  };
  const greet = (event: AgentAction & { kind: 'session' }): Block => {
    const words = [event.sessionId && `Session ${event.sessionId}`, event.model].filter(Boolean).join(', ');
    if (words === session) return NOTHING;
    session = words;
    return { group: 'note', lines: markLines(style, 'note', phrase(words), 'dim') };
  };

  return event => {
    switch (event.kind) {
      case 'session':
        return greet(event);
      case 'aside':
        return event.from === 'subagent'
          ? { group: 'tool', lines: indented(true, asideLines(style, 'subagent', event.text)) }
          : { group: 'aside', lines: asideLines(style, 'thinking', event.text) };
      case 'tool-start':
        return start(event);
      case 'tool-end':
        return end(event);
      case 'todo':
        return { group: 'todo', lines: todoLines(style, event.items) };
      case 'trouble': {
        const mark = event.call ? 'warning' : event.retrying ? 'retry' : 'error';
        return { group: 'note', lines: markLines(style, mark, capital(eventPhrase(event))) };
      }
      case 'progress':
        return { group: 'note', lines: markLines(style, 'note', phrase(event.text), 'dim') };
      case 'usage':
      case 'result':
      case 'unknown':
        return NOTHING;
      default:
        return event satisfies never;
    }
  };
}

/** Some agents never end what they start. */
const MAX_OPEN = 256;

function remember(open: Map<string, Tool>, id: string, tool: Tool): void {
  open.set(id, tool);
  const [oldest] = open.keys();
  if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest);
}

function indented(subagent: true | undefined, lines: readonly string[]): readonly string[] {
  return subagent ? lines.map(line => `  ${line}`) : lines;
}

function startLine(style: Style, tool: Tool): string {
  const marker = sign(style, 'tool');
  const label = toolLabel(tool, roomAfter(style, marker));
  const name = label.indexOf('(') > 0 ? label.indexOf('(') : label.length;
  return `${marker} ${paint(style, 'bold', label.slice(0, name))}${label.slice(name)}`;
}

/** Where lines are not cut, a call is still named in one that can be read. */
const LONGEST_LABEL = 300;

/** Leaves two columns for the indentation of a sub-agent's tools. */
function roomAfter(style: Style, marker: string): number {
  return Math.min(LONGEST_LABEL, textWidth(style) - displayWidth(marker) - 3);
}

/** A result that does not follow its own start says which call it belongs to, where there is room for it. */
function endLine(style: Style, event: ToolEnd, tool: Tool | undefined, follows: boolean): string {
  const marker = sign(style, event.ok ? 'ok' : 'error');
  const word = event.ok ? 'Result' : 'Error';
  const room = roomAfter(style, marker);
  if (!tool) return `${marker} ${clip(`${word} ${sizeOf(event, room)}`, room)}`;
  const name = oneLine(tool.name, 20);
  const lead = `${word} ${mark(style, 'from')} `;
  const left = room - displayWidth(lead) - 1;
  const size = sizeOf(event, left - displayWidth(name));
  const label = toolLabel(tool, left - size.length);
  const readable = displayWidth(label) >= displayWidth(name) + READABLE || left - size.length >= WIDE;
  return `${marker} ${clip(`${lead}${follows || !readable ? name : label} ${size}`, room)}`;
}

/** Columns of a summary that are still readable. */
const READABLE = 12;
const WIDE = 30;

/** How it ended and how much it said; the characters go first where it gets narrow. */
function sizeOf({ output, exitCode, ok }: ToolEnd, columns: number): string {
  const exit = exitCode === undefined || ok ? [] : [`exit ${exitCode}`];
  if (output.chars === 0) return `(${[...exit, 'no output'].join(', ')})`;
  const lines = [...exit, counted(output.lines, 'line')].join(', ');
  const whole = `(${lines}, ${counted(output.chars, 'char')})`;
  return whole.length <= columns ? whole : `(${lines})`;
}

/** A look at some output, from its beginning or its end; blank lines are not worth their room. */
export function outputLines(style: Style, output: string): readonly string[] {
  const most = Math.max(0, style.maxOutputLines);
  const chosen = harmless(beginning(output, SCANNED))
    .split('\n')
    .filter(line => line.trim() !== '')
    .slice(0, most);
  const marker = mark(style, 'output');
  const indent = displayWidth(marker) + 4;
  let left = style.maxOutputChars;
  const shown: string[] = [];
  for (const line of chosen) {
    if (left <= 0) break;
    const words = clip(line.trimEnd(), Math.min(left, textWidth(style) - indent - 2));
    shown.push(`${shown.length === 0 ? `  ${marker}  ` : ' '.repeat(indent)}${paint(style, 'dim', words)}`);
    left -= words.length;
  }
  return shown;
}

const SCANNED = 4_000;

/** Thoughts are read in passing: a few lines of them, dim. */
function asideLines(style: Style, from: 'thinking' | 'subagent', text: string): readonly string[] {
  const words = harmless(beginning(text, SCANNED)).trim();
  if (words === '') return [];
  const marker = mark(style, from);
  const rows = wrap(words, textWidth(style) - displayWidth(marker) - 1).filter(row => row.trim() !== '');
  const most = Math.max(1, style.maxOutputLines);
  const shown = rows.slice(0, most);
  if (rows.length > most) shown.push(clip(`${shown.pop()}…`, textWidth(style) - displayWidth(marker) - 1));
  return hanging(style, marker, shown.join('\n'), 'dim');
}

const STATUS_MARK: Record<TodoStatus, Mark> = { done: 'done', active: 'active', pending: 'pending' };

const MAX_TODOS = 50;

function todoLines(style: Style, items: readonly TodoItem[]): readonly string[] {
  if (items.length === 0) return [];
  const done = items.filter(item => item.status === 'done').length;
  const percent = Math.floor((done / items.length) * 100);
  const more = items.length > MAX_TODOS ? [`  ${counted(items.length - MAX_TODOS, 'more item')}`] : [];
  return [
    `${mark(style, 'todo')} ${paint(style, 'bold', 'Todo List')}`,
    ...items.slice(0, MAX_TODOS).map(item => `  ${todoLine(style, item)}`),
    ...more,
    `  ${mark(style, 'progress')} Progress: ${done}/${items.length} (${percent}%)`,
  ];
}

function todoLine(style: Style, { text, status }: TodoItem): string {
  const marker = mark(style, STATUS_MARK[status]);
  const tail = status === 'active' ? ` ${mark(style, 'from')} ACTIVE` : '';
  const words = oneLine(text, textWidth(style) - displayWidth(marker) - displayWidth(tail) - 3);
  if (status === 'active') return `${marker} ${paint(style, 'bold', words)}${paint(style, 'cyan', tail)}`;
  return `${marker} ${status === 'done' ? paint(style, 'dim', words) : words}`;
}
