/** Events for whoever iterates: none makes the loop wait, and what was read is not kept. */
import type { RecordedEvent } from '../domain/run/event.ts';

export interface EventQueue extends AsyncIterable<RecordedEvent> {
  push(event: RecordedEvent): void;
  /** No more will come. */
  end(): void;
}

/** A link of a chain: whoever reads holds the one that comes next for him, so that what all have read is let go. */
interface Link {
  event?: RecordedEvent;
  next?: Link;
}

/** The first iterator sees all events from the first one on, however late it begins; a later one those from then on. */
export function createEventQueue(): EventQueue {
  let last: Link = {};
  let unread: Link | undefined = last;
  let ended = false;
  let waiting: (() => void)[] = [];
  const wake = () => {
    const all = waiting;
    waiting = [];
    for (const resume of all) resume();
  };
  const begin = (): Link => {
    const from = unread ?? last;
    unread = undefined;
    return from;
  };
  return {
    push(event) {
      const next = {};
      last.event = event;
      last.next = next;
      last = next;
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    // No generator: the engine would keep the link that one begins with, and so the whole chain.
    [Symbol.asyncIterator]() {
      let at = begin();
      let isLeft = false;
      return {
        async next() {
          while (!(at.event && at.next) && !ended && !isLeft)
            await new Promise<void>(resolve => waiting.push(resolve));
          const { event, next } = at;
          if (!event || !next || isLeft) return { done: true, value: undefined };
          at = next;
          return { done: false, value: event };
        },
        async return() {
          isLeft = true;
          at = {};
          return { done: true, value: undefined };
        },
      };
    },
  };
}
