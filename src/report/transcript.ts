/** What an agent said and did in one iteration, in order: its words joined, each tool with its outcome. */
import { pick } from '../domain/text/fields.ts';
import type { AgentEvent, TodoItem } from '../domain/turn/agent-event.ts';
import { eventPhrase, phrase } from './phrases.ts';

export type Passage =
  | { readonly kind: 'words' | 'thinking' | 'subagent'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly id: string;
      readonly name: string;
      readonly summary: string;
      /** null: it has not ended. */
      readonly ok: boolean | null;
      /** The beginning of what it printed. */
      readonly output: string;
      readonly lines: number;
      readonly exitCode: number | null;
      readonly subagent: boolean;
    }
  | { readonly kind: 'todo'; readonly items: readonly TodoItem[] }
  | { readonly kind: 'note' | 'trouble'; readonly text: string };

export type Transcript = ReturnType<typeof createTranscript>;

const MOST_PASSAGES = 1_000;

export function createTranscript() {
  const passages: Passage[] = [];
  let left = 0;
  let message: string | undefined;
  let flowing = false;

  const push = (passage: Passage) => {
    flowing = false;
    if (passages.length < MOST_PASSAGES) passages.push(passage);
    else left++;
  };
  const speak = (event: AgentEvent & { kind: 'text' }) => {
    const last = passages.at(-1);
    const continues = event.delta === true && flowing && event.message === message && last?.kind === 'words';
    if (continues) passages[passages.length - 1] = { ...last, text: last.text + event.text };
    else push({ kind: 'words', text: event.text });
    message = event.message;
    flowing = event.delta === true;
  };
  const endTool = (event: AgentEvent & { kind: 'tool-end' }) => {
    const at = passages.findLastIndex(passage => passage.kind === 'tool' && passage.id === event.id);
    const tool = passages[at];
    if (tool?.kind !== 'tool') return;
    const { ok, output, exitCode } = event;
    passages[at] = { ...tool, ok, output: output.preview, lines: output.lines, exitCode: exitCode ?? null };
  };
  return {
    add(event: AgentEvent): void {
      const passage = passageOf(event);
      if (passage) push(passage);
      else if (event.kind === 'text') speak(event);
      else if (event.kind === 'tool-end') endTool(event);
    },
    passages: (): readonly Passage[] => passages,
    /** Passages that were too many to keep. */
    left: () => left,
  };
}

/** undefined: it is no passage of its own. */
function passageOf(event: AgentEvent): Passage | undefined {
  switch (event.kind) {
    case 'aside':
      return { kind: event.from, text: event.text };
    case 'tool-start':
      return {
        ...{ kind: 'tool', ...pick(event, 'id', 'name', 'summary'), subagent: event.subagent === true },
        ...{ ok: null, output: '', lines: 0, exitCode: null },
      };
    case 'todo':
      return { kind: 'todo', items: event.items.map(({ text, status }) => ({ text: String(text), status })) };
    case 'trouble':
      return { kind: 'trouble', text: eventPhrase(event) };
    case 'progress':
      return { kind: 'note', text: phrase(event.text) };
    case 'unknown':
      return { kind: 'note', text: `Unknown record: ${phrase(event.what)}` };
    case 'text':
    case 'tool-end':
    case 'session':
    case 'usage':
    case 'result':
      return undefined;
    default:
      return event satisfies never;
  }
}
