/** How a run acts on the messages in its inbox: cancel at once, pause between two turns, words for the agent in the next prompt. */

import { isRound } from '../domain/forge/forge-event.ts';
import { addHints } from '../domain/run/prompt.ts';
import { openQuestions } from '../domain/stories/questions.ts';
import { secondsSince } from '../platform/clock.ts';
import type { Received } from '../store/inbox.ts';
import type { RunStore } from '../store/run-store.ts';
import { type EngineWorld, warn } from './steps.ts';
import { pause } from './wait.ts';

/** What a job does so that the user's changes while paused are not taken for the agent's. */
export interface PauseCare {
  /** Before the user changes files. */
  begin(iteration: number): Promise<void>;
  end(): Promise<void>;
}

export interface Steering {
  /** Waits as long as the run is paused; answers the seconds. */
  pausePoint(iteration: number): Promise<number>;
  /** The prompt with what the user has to say. Recorded as delivered, and delivered once. */
  addHints(iteration: number, prompt: string): string;
  /** Records what the user has answered since. */
  takeAnswers(): void;
  care(care: PauseCare): void;
  /** Whether the user has said something to the agent that is in no prompt yet. */
  hasHints(): boolean;
  /** Whether its pull request asks for something. */
  hasRound(): boolean;
  /** The run is over: says what was not delivered. */
  reportUndelivered(): void;
  /** Looks for messages no longer. */
  close(): void;
}

export interface SteeringOptions extends Pick<EngineWorld, 'emit' | 'clock' | 'stop' | 'past'> {
  readonly store: Pick<RunStore, 'messages' | 'removeMessage'>;
}

/** Milliseconds between two looks into the inbox. */
export const LOOK_EVERY = 200;

export function createSteering({ store, emit, clock, stop, past }: SteeringOptions): Steering {
  const { stopping } = stop;
  const cares: PauseCare[] = [];
  const seen = new Set<string>();
  const look = () => {
    for (const message of store.messages()) {
      if (message.kind === 'cancel') {
        store.removeMessage(message.id);
        stop.request('cancelled', message.gently ? 'after-this-step' : 'now');
      } else if (!seen.has(message.id)) {
        seen.add(message.id);
        const text = arrivalWords(message, past().time.isPaused);
        if (text !== undefined) emit({ type: 'notice', level: 'info', text });
      }
    }
  };
  const timer = setInterval(look, LOOK_EVERY);
  timer.unref();
  /** The last of pause and continue counts. */
  const takeSwitch = () => {
    const switches = store.messages().filter(({ kind }) => kind === 'pause' || kind === 'continue');
    for (const { id } of switches) store.removeMessage(id);
    return switches.at(-1)?.kind;
  };
  return {
    async pausePoint(iteration) {
      look(); // a cancel of the last moment must not cost a further turn
      if (takeSwitch() !== 'pause' || stopping.aborted) return 0;
      const began = clock.ticks();
      for (const care of cares) await care.begin(iteration);
      emit({ type: 'paused' });
      while (!stopping.aborted && takeSwitch() !== 'continue') await pause(LOOK_EVERY, stopping);
      if (!stopping.aborted) {
        for (const care of cares) await care.end();
        emit({ type: 'continued' });
      }
      return secondsSince(clock, began);
    },
    addHints(iteration, prompt) {
      const owed = past().open?.owed ?? [];
      const fresh = store.messages().flatMap(message => (message.kind === 'tell' ? [message] : []));
      const hints = [...owed, ...fresh.filter(({ id }) => !owed.some(each => each.id === id))];
      for (const { id, text } of hints) emit({ type: 'hint-delivered', iteration, hint: id, text });
      // A round counts until the run is proven: whoever has asked for it removes it.
      for (const message of fresh) if (!isRound(message)) store.removeMessage(message.id);
      return addHints(prompt, [...new Set(hints.map(hint => hint.text.trim()))]);
    },
    takeAnswers: () => takeAnswers(store, emit, past),
    care: care => void cares.push(care),
    close: () => clearInterval(timer),
    hasHints: () => store.messages().some(isHint),
    hasRound: () => store.messages().some(isRound),
    reportUndelivered() {
      if (takeSwitch() === 'pause') warn(emit, 'It did not pause: the run ended with this turn.');
      reportLeft(store.messages().filter(isHint).length, emit);
    },
  };
}

function reportLeft(left: number, emit: SteeringOptions['emit']): void {
  if (left === 0) return;
  const messages = left === 1 ? '1 message was' : `${left} messages were`;
  warn(emit, `${messages} not delivered: the run ended before the next iteration.`);
}

/** For one prompt. */
function isHint(message: Received): boolean {
  return message.kind === 'tell' && !isRound(message);
}

/** Whoever looks at the run sees what it was sent, and when it counts. undefined: something else says so. */
function arrivalWords(message: Received, isPaused: boolean): string | undefined {
  const { kind } = message;
  if (kind === 'tell' && isRound(message)) return undefined;
  if (kind === 'tell') return 'A hint has arrived: it is in the next prompt.';
  if (isPaused) return undefined;
  if (kind === 'pause') return 'It will pause after this turn.';
  return kind === 'continue' ? 'It will not pause after this turn.' : undefined;
}

function takeAnswers(
  store: SteeringOptions['store'],
  emit: SteeringOptions['emit'],
  past: SteeringOptions['past'],
): void {
  for (const message of store.messages()) {
    if (message.kind !== 'answer') continue;
    const { id, story, text: answer } = message;
    const asked = past().questions ?? [];
    const open = openQuestions(asked).find(each => each.story === story);
    if (open) emit({ type: 'question-answered', story, question: open.question, answer, message: id });
    // Whoever was killed after the line above has acted on it.
    else if (!asked.some(each => each.message === id))
      warn(emit, `An answer to ${story} was dropped: it has no open question.`);
    store.removeMessage(id);
  }
}
