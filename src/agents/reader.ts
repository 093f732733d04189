/**
 * Reads what an agent prints, as it comes, in bounded memory: JSON records by its adapter, or plain words. It enters Ralph here without the
 * secrets in it, wherever the stream cuts them.
 */
import { StringDecoder } from 'node:string_decoder';
import { createStreamRedactor, type Redact, redactDeep } from '../domain/text/secrets.ts';
import { visible } from '../domain/text/visible.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import { SPOKEN_TAGS } from '../domain/turn/claim.ts';
import { createEchoFilter, type Passage } from '../domain/turn/echo.ts';
import { createLineSplitter, type LineSplitter } from '../platform/lines.ts';
import { type AgentAdapter, type Conversation, NO_PROMPT, type OutputMode } from './agent.ts';
import { isCut } from './events.ts';
import { shortenStrings } from './long-lines.ts';

interface Reading {
  readonly adapter: AgentAdapter;
  readonly mode: OutputMode;
  readonly prompt: string;
  /** The reply is in a file: what is on stdout is not the agent's own words. */
  readonly hasReplyFile: boolean;
  readonly conversation?: Conversation | undefined;
  /** What the conversation says back, after every line. */
  onSay?(words: readonly string[]): void;
}

/** Whether what it prints is records, whatever the mode: a conversation always is. */
export function printsRecords(adapter: AgentAdapter, mode: OutputMode): boolean {
  return adapter.converse !== undefined || (mode === 'stream' && adapter.name !== 'generic');
}

export function createReader(reading: Reading, onEvent: (event: AgentEvent) => void): LineSplitter {
  const { mode, adapter, conversation, onSay } = reading;
  if (!printsRecords(adapter, mode)) return createTextReader(reading, onEvent);
  return createStreamReader(adapter, onEvent, conversation, onSay);
}

export function createStreamReader(
  adapter: AgentAdapter,
  onEvent: (event: AgentEvent) => void,
  conversation = adapter.converse?.(NO_PROMPT),
  onSay?: (words: readonly string[]) => void,
): LineSplitter {
  const hear = (text: string) => {
    if (!conversation) return adapter.read(text);
    const { events, say } = conversation.hear(text);
    onSay?.(say);
    return events;
  };
  return createLineSplitter({
    line(text) {
      if (text !== '') for (const event of hear(text)) onEvent(event);
    },
    shorten: shortenStrings,
  });
}

/** Plain output: all of it is the agent's own words as a reader sees them, but for an echo of the prompt. */
function createTextReader(
  { prompt, hasReplyFile }: Reading,
  onEvent: (event: AgentEvent) => void,
): LineSplitter {
  if (hasReplyFile) return { push() {}, end() {} };
  const speak = (text: string) => text !== '' && onEvent({ kind: 'text', text, delta: true });
  const echoes = createEchoFilter(prompt, SPOKEN_TAGS);
  const pass = ({ text, isEcho }: Passage) =>
    isEcho ? onEvent({ kind: 'progress', text: `prompt echoed: ${text}` }) : speak(text);
  const decoder = new StringDecoder('utf8');
  let held = '';
  const read = (bytes: string, isOver: boolean) => {
    const text = held + bytes;
    const tail = Math.max(0, text.length - LONGEST_HALF);
    const end = isOver ? text.length : tail + text.slice(tail).search(HALF_ESCAPE);
    held = text.slice(end);
    const seen = visible(text.slice(0, end).replace(/\r+\n?/g, '\n'));
    if (!echoes) speak(seen);
    else for (const passage of echoes.push(seen)) pass(passage);
  };
  return {
    push: chunk => read(decoder.write(chunk), false),
    end() {
      read(decoder.end(), true);
      for (const passage of echoes?.end() ?? []) pass(passage);
    },
  };
}

/** An escape sequence, or a line end, that the next piece of the output completes; nothing at the very end. */
const HALF_ESCAPE = /(?:\x1b(?:\[[0-?]{0,64}[ -/]{0,8}|[\]PX^_][^\x07\x1b\n]{0,4000}|[ -/]{0,8})?|\r)?$/;
const LONGEST_HALF = 4_100;

export function createRedaction(redact: Redact, onEvent: (event: AgentEvent) => void) {
  const words = createStreamRedactor(redact);
  let message: string | undefined;
  const speak = (text: string) => {
    if (text !== '') onEvent({ kind: 'text', text, delta: true, ...(message !== undefined && { message }) });
  };
  const end = () => speak(words.end());
  return {
    /** The stream has ended: what was held back is passed on. */
    end,
    enter(event: AgentEvent) {
      const continues = event.kind === 'text' && event.delta && event.message === message;
      if (!continues) end();
      if (event.kind !== 'text' || !event.delta)
        return onEvent(redactDeep(wholeWords(event, redact), redact));
      message = event.message;
      speak(words.push(event.text));
    },
  };
}

/** What an adapter has cut may end with half of a secret, which nobody would know: it goes, with the word that it is in. */
function wholeWords(event: AgentEvent, { openTail }: Redact): AgentEvent {
  if (event.kind === 'tool-end') {
    const { preview, chars } = event.output;
    if (preview.length >= chars) return event;
    return { ...event, output: { ...event.output, preview: preview.slice(0, openTail(preview)) } };
  }
  const whole = (text: string) => (isCut(text) ? `${text.slice(0, openTail(text.slice(0, -1)))}…` : text);
  if (event.kind === 'tool-start') return { ...event, summary: whole(event.summary) };
  if (event.kind === 'progress') return { ...event, text: whole(event.text) };
  if (event.kind === 'unknown') return { ...event, what: whole(event.what) };
  if (event.kind !== 'trouble') return event;
  return { ...event, trouble: { ...event.trouble, message: whole(event.trouble.message) } };
}
