/** Reads what an agent prints, as it comes, in bounded memory: JSON records by its adapter, or plain words. */
import { StringDecoder } from 'node:string_decoder';
import type { AgentEvent } from '../domain/agent-event.ts';
import type { CompletionRule } from '../domain/completion.ts';
import { createEchoFilter } from '../domain/echo.ts';
import { createLineSplitter, type LineSplitter } from '../platform/lines.ts';
import type { AgentAdapter, OutputMode } from './agent.ts';
import { shortenStrings, shortenText } from './long-lines.ts';

interface Reading {
  readonly adapter: AgentAdapter;
  readonly mode: OutputMode;
  readonly prompt: string;
  readonly rule: CompletionRule;
  /** The reply is in a file: what is on stdout is not the agent's own words. */
  readonly hasReplyFile: boolean;
}

export function createReader(reading: Reading, onEvent: (event: AgentEvent) => void): LineSplitter {
  const { mode, adapter } = reading;
  const streams = mode === 'stream' && adapter.name !== 'generic';
  return streams ? createStreamReader(adapter, onEvent) : createTextReader(reading, onEvent);
}

export function createStreamReader(
  adapter: AgentAdapter,
  onEvent: (event: AgentEvent) => void,
): LineSplitter {
  return createLineSplitter({
    line(text) {
      if (text !== '') for (const event of adapter.read(text)) onEvent(event);
    },
    shorten: shortenStrings,
  });
}

/** Plain output: all of it is the agent's own words, but for an echo of the prompt. */
function createTextReader(
  { prompt, rule, hasReplyFile }: Reading,
  onEvent: (event: AgentEvent) => void,
): LineSplitter {
  const speak = (text: string) => text !== '' && onEvent({ kind: 'text', text, delta: true });
  if (hasReplyFile) return { push() {}, end() {} };
  const isEcho = createEchoFilter(prompt, rule.kind);
  if (!isEcho) {
    const decoder = new StringDecoder('utf8');
    return { push: chunk => void speak(decoder.write(chunk)), end: () => void speak(decoder.end()) };
  }
  // Several lines make one event: an event for each would take longer to show.
  let said = '';
  const flush = () => {
    speak(said);
    said = '';
  };
  const lines = createLineSplitter({
    line(line) {
      const echoed = isEcho(line);
      if (!echoed) said += `${line}\n`;
      if (echoed || said.length > PASSAGE) flush();
      if (echoed) onEvent({ kind: 'progress', text: `prompt echoed: ${line}` });
    },
    shorten: shortenText,
  });
  return {
    push(chunk) {
      lines.push(chunk);
      flush();
    },
    end() {
      lines.end();
      flush();
    },
  };
}

/** Characters. */
const PASSAGE = 8 * 1024;
