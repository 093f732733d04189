/** What one model API is to the server: where it lives, how to read a request, how to write an answer. */
import { type Json, object } from './json.ts';
import type { Usage } from './script.ts';
import type { OfferedTool, ToolCall } from './tools.ts';

export type ProtocolName = 'messages' | 'responses' | 'chat' | 'gemini';

/** A request in terms that all protocols share. */
export interface Asked {
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  /** Every text block of every user message, in order. */
  readonly userTexts: readonly string[];
  readonly tools: readonly OfferedTool[];
}

/** An answer in terms that all protocols share. */
export interface Answer {
  /** Unique in the server; protocols derive their ids from it. */
  readonly id: string;
  readonly model: string;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly (ToolCall & { readonly id: string })[];
  readonly usage: Usage;
}

export interface Protocol {
  readonly name: ProtocolName;
  /** True when a POST to this path is a request of this protocol. */
  serves(path: string): boolean;
  /** What is asked, or the sentence why the body is none of this protocol's. Must not throw. */
  read(body: Json, url: URL): Asked | string;
  /** The body of an answer that is not streamed. */
  whole(answer: Answer): Json;
  /** The stream's events, each as the text that goes over the wire. */
  events(answer: Answer, url: URL): readonly string[];
  error(status: number, message: string): Json;
}

/** One server-sent event. */
export function sse(data: Json, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Text in up to three pieces that never split a character, so that readers must put deltas together. */
export function pieces(text: string): readonly string[] {
  const letters = [...text];
  const size = Math.max(1, Math.ceil(letters.length / 3));
  return [0, size, 2 * size]
    .map(from => letters.slice(from, from + size).join(''))
    .filter(piece => piece !== '');
}

/** A call's arguments as a JSON object, also where a script gave free text to a tool that takes none. */
export function inputObject(call: ToolCall): Json {
  return typeof call.input === 'string' ? { input: call.input } : object(call.input);
}

export function inputText(call: ToolCall): string {
  return typeof call.input === 'string' ? call.input : JSON.stringify(call.input);
}
