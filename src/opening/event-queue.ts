/** Events for whoever iterates: none is lost, none makes the loop wait. They are kept until they are read. */
import type { RecordedEvent } from '../domain/event.ts';

export interface EventQueue extends AsyncIterable<RecordedEvent> {
  push(event: RecordedEvent): void;
  /** No more will come. */
  end(): void;
}

/** Every iterator sees all events from the first one on, however late it begins. */
export function createEventQueue(): EventQueue {
  const events: RecordedEvent[] = [];
  let ended = false;
  let waiting: (() => void)[] = [];
  const wake = () => {
    const all = waiting;
    waiting = [];
    for (const resume of all) resume();
  };
  return {
    push(event) {
      events.push(event);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (let next = 0; ; ) {
        const event = events[next];
        if (event !== undefined) {
          next++;
          yield event;
        } else if (ended) return;
        else await new Promise<void>(resolve => waiting.push(resolve));
      }
    },
  };
}
