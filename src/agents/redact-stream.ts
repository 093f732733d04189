/** What an agent says enters Ralph here: without the secrets in it, wherever the stream cuts them. */

import { createStreamRedactor, type Redact, redactDeep } from '../domain/text/secrets.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';

export function createDoor(redact: Redact, onEvent: (event: AgentEvent) => void) {
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
      if (event.kind !== 'text' || !event.delta) return onEvent(redactDeep(event, redact));
      message = event.message;
      speak(words.push(event.text));
    },
  };
}
